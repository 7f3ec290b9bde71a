"""`drover spread`: a join in another shape, by command; the run is a control loop without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from drover.cli import main
from drover.network.grid import Epoch, Grid
from tests.cli.golden import agrees, said
from tests.spark.control_runs import ControlRun, spreadable


@pytest.fixture
def pen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlRun]:
    """A run with a join `j` that may be spread, on a checkpoint that is called `here` in the current directory."""
    monkeypatch.chdir(tmp_path)
    with spreadable(Path("here").absolute()) as made:
        yield made


def test_a_session_reads_well(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden file again."""
    shown: list[str] = []

    def do(*words: str) -> None:
        shown.append(f"$ drover {' '.join(words)}\n{said(capsys, *words)}")

    pen.feed(3)
    do("spread", "j", "2x2", "--from", "here")
    do("spread", "j", "2x2", "--from", "here")
    do("spread", "j", "2", "x", "3", "--from", "here", "--json")
    pen.feed(1)
    do("spread", "j", "1", "--from", "here")
    do("spread", "j", "auto", "--from", "here")
    do("history", "here", "--last", "5")
    do("explain", "j", "--from", "here")
    do("status", "here")
    assert agrees("spread.session.txt", "\n".join(shown))


def test_a_request_before_any_measurement_is_carried_out(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(said(capsys, "spread", "j", "3 x 1", "--from", "here", "--json"))
    assert (answer["grid"], answer["spread"], answer["nodes"]) == ([3, 1], "3 x 1", [1, 2, 3])
    made = pen.controller.status.plan.instances["j"]
    assert (made.epochs, made.asked) == ((Epoch(0, Grid(1, 1)), Epoch(1, Grid(3, 1))), Grid(3, 1))
    assert pen.controller.records == []


def test_new_instances_avoid_nodes_that_are_being_drained(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    pen.feed(3)
    said(capsys, "drain", "2", "--from", "here")
    answer = json.loads(said(capsys, "spread", "j", "4", "--from", "here", "--json"))
    assert answer["nodes"] == [1, 3, 0, 1]
    assert "2 x 2 instead of 1 x 1" in pen.controller.records[-1].reason


def test_the_number_of_pending_changes_is_limited(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    pen.feed(3)
    for shape in ("2", "3", "4"):
        said(capsys, "spread", "j", shape, "--from", "here")
    assert main(["spread", "j", "5", "--from", "here"]) == 1
    assert "4 epochs are live" in capsys.readouterr().err
    assert "4 of them" not in said(capsys, "status", "here")


@pytest.mark.parametrize(
    ("join", "shape", "code", "says"),
    [
        pytest.param("j", ["0"], 1, "spread is '0', but a join is spread over a grid of 1 to 1000", id="none"),
        pytest.param("j", ["2x"], 1, "spread is '2x', but", id="half a grid"),
        pytest.param("j", ["2x3x4"], 1, "spread is '2x3x4', but", id="three sides"),
        pytest.param("j", ["1000000000"], 1, "spread is '1000000000', but", id="too many"),
        pytest.param("j", ["40x40"], 1, "Write auto, a number of instances such as 4, or rows x", id="too large"),
        pytest.param("j", ["\x1b[31m"], 1, "spread is", id="no shape at all"),
        pytest.param("j", ["--", "-1"], 1, "spread is '-1', but", id="below nothing"),
        pytest.param("j", [], 2, "Missing argument 'SHAPE...'", id="no shape"),
        pytest.param("a", ["2"], 1, "'a' is not a join that can be spread. Known: j.", id="no join"),
        pytest.param("jj", ["2"], 1, "Did you mean j? Known: j. To spread another join, write", id="no such join"),
    ],
)
def test_bad_requests_are_refused(
    pen: ControlRun, join: str, shape: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pen.feed(1)
    assert main(["spread", "--from", "here", join, *shape]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in " ".join(err.split())
    assert "\x1b" not in err
    assert pen.controller.status.plan.number == 1


def test_a_stopped_run_is_not_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with spreadable(Path("here").absolute()) as pen:
        pen.feed(3)
        said(capsys, "spread", "j", "2", "--from", "here")
    assert main(["spread", "j", "2", "--from", "here"]) == 1
    assert "the run is stopped" in capsys.readouterr().err
    assert "spread by hand (2)" in said(capsys, "history", "here")
