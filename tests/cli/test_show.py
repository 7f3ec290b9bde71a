from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from drover.cli import main
from tests.cli.golden import GOLDEN, agrees

EVERY_KIND = str(GOLDEN / "every_kind.yaml")


@pytest.mark.parametrize(
    ("options", "golden"),
    [([], "every_kind.show.txt"), (["--schemas"], "every_kind.schemas.txt"), (["--json"], "every_kind.show.json")],
)
def test_output_for_people(options: list[str], golden: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden files again."""
    assert main(["show", EVERY_KIND, *options]) == 0
    assert agrees(golden, capsys.readouterr().out)


def test_the_data_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", EVERY_KIND, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["streams"]["counts"]["time"] == "window_time"


def test_colours_go_to_terminals_only(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["show", EVERY_KIND]) == 0
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.delenv("FORCE_COLOR")
    assert main(["show", EVERY_KIND]) == 0
    assert "\x1b[" not in capsys.readouterr().out


def test_the_drawing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "n.svg"
    assert main(["show", EVERY_KIND, "--svg", str(out)]) == 0
    assert capsys.readouterr().err == f"drawing written to {out}\n"
    assert ET.parse(out).getroot().tag.endswith("svg")


def test_a_drawing_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", EVERY_KIND, "--svg", str(tmp_path)]) == 1
    assert "only a regular file can be replaced" in capsys.readouterr().err


def test_faults_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(GOLDEN / "ten_faults.yaml")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) >= 10
    assert "Traceback" not in err
