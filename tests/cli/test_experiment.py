from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from drover.cli import main
from drover.errors import DroverError
from drover_lab import catalogue
from drover_lab.table import Experiment, Row
from tests.cli.golden import agrees
from tests.drover_lab import toy
from tests.drover_lab.toy import TOY


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two experiments that take no time, whose rows are the same."""
    second = replace(TOY, name="X-fig2", title="The same again", claims=TOY.claims[:1])
    monkeypatch.setattr(catalogue, "EXPERIMENTS", {"X-fig1": TOY, "X-fig2": second})
    monkeypatch.setattr(catalogue, "TEXTS", {"X": "A text"})


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "list"]) == 0
    assert agrees("experiment.list.txt", capsys.readouterr().out)
    assert main(["experiment", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["experiments"]
    assert [each["name"] for each in found] == ["X-fig1", "X-fig2"]
    assert found[0]["claims"][1] == {"claim": "smaller", "text": "Three times is less."}


def test_a_claim_that_does_not_hold_is_not_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "run", "X-fig1", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    shown = re.sub(r"in \d+\.\d s", "in 0.0 s", out).replace(str(tmp_path), "OUT")
    assert agrees("experiment.run.txt", shown)
    assert err == "X-fig1: 31 of 31 rows\n"


def test_an_interrupted_run_on_spark_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Row] = []

    def measure(row: Row) -> Row:
        if len(seen) == 3:
            raise DroverError("Spark is gone. Start it again.")
        seen.append(row)
        return toy.measure(row)

    def one(experiment: Experiment) -> None:
        monkeypatch.setattr(catalogue, "EXPERIMENTS", {"X-fig1": experiment})

    command = ["experiment", "run", "X-fig1", "--quick", "--out", str(tmp_path)]
    one(replace(TOY, engine=True, measure=measure))
    assert main(command) != 0
    one(replace(TOY, engine=True, measure=lambda row: {**toy.measure(row), "drawn": -1.0}))
    assert main([*command, "--resume"]) == 0
    drawn = pl.read_parquet(tmp_path / "X-fig1.parquet")["drawn"]
    assert (drawn < 0).to_list() == [False, False, False, True]
    assert not (tmp_path / "X-fig1.jsonl").exists(), "the next run starts from the beginning"
    assert main(command) == 0
    assert (pl.read_parquet(tmp_path / "X-fig1.parquet")["drawn"] < 0).all()


def test_only_a_run_on_spark_can_be_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "run", "X-fig1", "--resume"]) != 0
    assert "--resume is given, but X-fig1 does not run on Spark" in capsys.readouterr().err


def test_the_last_line_is_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "run", "X-fig1", "--quick", "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["name"], found["rows"], found["quick"], found["holds"]) == ("X-fig1", 4, True, 1)
    assert found["claims"][0] == {
        "claim": "larger",
        "text": "Three times is more.",
        "measured": "3 > 1",
        "holds": True,
        "judged": True,
    }
    assert all(isinstance(claim["holds"], bool) for claim in found["claims"])
    assert all(Path(file).is_file() for file in found["files"])


def test_seeds_and_jobs(tmp_path: Path) -> None:
    for name, options in {"a": ["--jobs", "2"], "b": []}.items():
        out = str(tmp_path / name)
        assert main(["experiment", "run", "X-fig2", "--seeds", "2", "--out", out, *options]) == 0
    one, other = (pl.read_parquet(tmp_path / name / "X-fig2.parquet") for name in "ab")
    assert len(one) == 14
    assert_frame_equal(one, other)


@pytest.mark.slow
def test_pages_are_written_and_rows_shared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["--rows", str(tmp_path / "rows")]
    assert main(["experiment", "pages", "--quick", "--out", str(tmp_path), *rows]) == 0
    out, err = capsys.readouterr()
    assert out == f"2 pages in {tmp_path}; 2 of 4 claims hold\n"
    assert err == "X-fig1: 4 of 4 rows\n"
    assert "do not quote them" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "X-fig2.svg").is_file()
    before = (tmp_path / "X-fig1.md").read_bytes(), (tmp_path / "X-fig1.svg").read_bytes()
    assert main(["experiment", "pages", "--quick", "--reuse", "--out", str(tmp_path), *rows]) == 0
    assert capsys.readouterr().err == "", "rows that are there are not computed again"
    assert ((tmp_path / "X-fig1.md").read_bytes(), (tmp_path / "X-fig1.svg").read_bytes()) == before
    assert main(["experiment", "pages", "X-fig1", "--quick", "--out", str(tmp_path), *rows]) == 0
    assert capsys.readouterr().err == "X-fig1: 4 of 4 rows\n"
    assert main(["experiment", "pages", "X-fig2", "--reuse", "--out", str(tmp_path / "one"), *rows]) == 0
    assert capsys.readouterr().err == "X-fig2: 31 of 31 rows\n", (
        "rows of the quick version are not those of the full one"
    )
    assert not (tmp_path / "one" / "X-fig1.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(
            ["run", "X-fig3"],
            1,
            "'X-fig3', but there is no experiment of that name. Did you mean X-fig",
            id="an unknown name",
        ),
        pytest.param(["run", "x-FIG2"], 1, "Did you mean X-fig2?", id="another case"),
        pytest.param(["run", "zzz"], 1, "See `drover experiment list` for all 2.", id="a name like none"),
        pytest.param(["pages", "X-fig2", "fig1"], 1, "Did you mean X-fig1?", id="an unknown page"),
        pytest.param(["run", "X-fig1", "--jobs", "0"], 2, "0 is not in the range 1<=x<=1024", id="no process"),
        pytest.param(["run", "X-fig1", "--seeds", "-1"], 2, "-1 is not in the range", id="no seed"),
        pytest.param(["run", "X-fig1", "--out", "/dev/null/x"], 1, "Name another one", id="no folder"),
        pytest.param(["run"], 2, "Missing argument 'NAME'", id="no name"),
    ],
)
def test_bad_input_is_reported_without_a_traceback(
    arguments: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in " ".join(err.split())
    assert "Traceback" not in err


def test_without_the_lab_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "drover_lab", None)  # as if it were not installed
    assert main(["experiment", "list"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Error: drover experiment needs the package drover_lab. Install it: pip install 'drover[lab]'\n"
    assert main(["experiment", "--help"]) == 0


@pytest.mark.parametrize("command", ["list", "run", "pages"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: drover experiment {command}")
    assert "\\b" not in out
    assert command != "run" or "a result, not an error: the exit code is 0" in " ".join(out.split())
