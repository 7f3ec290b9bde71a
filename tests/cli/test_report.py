from __future__ import annotations

import json
from pathlib import Path

import pytest

from drover.cli import main
from tests.web.sample_run import checkpoint


def test_the_path_is_printed_and_the_page_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.html"
    assert main(["report", str(checkpoint(tmp_path)), "--out", str(out)]) == 0
    assert capsys.readouterr() == (f"{out}\n", "")
    assert out.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "run"]


def test_without_out_the_page_is_written_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(checkpoint(tmp_path)), "--last", "3"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'report.html'}\n"
    assert "In 3 periods of 6 s" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_programs_get_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.html"
    assert main(["report", str(checkpoint(tmp_path)), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["report"] == str(out)
    assert (found["network"], found["periods"], found["plan"], found["moves"], found["refused"]) == (
        "traffic",
        12,
        3,
        1,
        1,
    )
    assert found["headroom"]["weakest_source"] == "east"
    assert found["missing"] == []


def test_missing_parts_are_named_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = checkpoint(tmp_path)
    (root / "network.yaml").unlink()
    assert main(["report", str(root), "--out", str(tmp_path / "r.html")]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'r.html'}\n"
    assert err.startswith("not shown, or only in part: network file: not in the checkpoint\n")


@pytest.mark.parametrize("name", ["", "nothing"])
def test_a_folder_without_a_checkpoint_is_refused_with_a_message(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    assert main(["report", str(tmp_path / name), "--out", str(out)]) == 1
    err = capsys.readouterr().err
    assert "must be the checkpoint directory of a run" in err
    assert "Traceback" not in err
    assert not out.exists()


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(checkpoint(tmp_path)), "--out", str(tmp_path)]) == 1
    assert "only a regular file can be replaced" in capsys.readouterr().err
