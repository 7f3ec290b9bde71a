"""The commands that ask and tell a run; the run is a control loop without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drover.cli import COMMANDS, main
from drover.control.settings import Control, Mode
from tests.cli.golden import agrees, said
from tests.spark.control_runs import START, ControlRun, stopped

TRAFFIC = str(Path(__file__).parents[2] / "examples" / "traffic.yaml")


@pytest.fixture
def pen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlRun]:
    """A run in mode propose, on a checkpoint that is called `flock` in the current directory."""
    monkeypatch.chdir(tmp_path)
    with ControlRun(Path("flock").absolute()) as made:
        yield made


def data(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:  # Any: JSON
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return found


def test_a_session_reads_well(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Run with DROVER_UPDATE=1 to write the golden file again."""
    described: list[str] = []

    def do(*words: str) -> None:
        described.append(f"$ drover {' '.join(words)}\n{said(capsys, *words)}")

    do("status", "flock")
    do("history", "flock")
    pen.feed(4)
    do("status", "flock")
    do("plan", "--from", "flock")
    do("apply", "p3", "--from", "flock")
    do("move", "d", "0", "--from", "flock")
    pen.feed(1)
    do("plan", "--from", "flock")
    do("explain", "d", "--from", "flock")
    do("drain", "1", "--from", "flock")
    do("mode", "auto", "--from", "flock")
    pen.feed(2)
    do("status", "flock")
    do("history", "flock", "--last", "3")
    do("drain", "1", "--from", "flock", "--undo")
    assert agrees("flock.session.txt", "\n".join(described))


def test_exactly_the_shown_proposal_is_applied(pen: ControlRun, capsys: pytest.CaptureFixture[str]) -> None:
    pen.feed(4)
    shown = data(capsys, "plan", "--from", "flock")["proposal"]
    done = data(capsys, "apply", shown["id"], "--from", "flock")
    assert done["record"]["proposal"]["moves"] == shown["moves"]
    assert pen.places == {**START.node_of} | {move["unit"]: move["target"] for move in shown["moves"]}
    assert data(capsys, "status", "flock")["plan"]["node_of"] == pen.places


def test_a_stopped_run_reads_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    stopped(Path("flock").absolute(), settings=Control(mode=Mode.OBSERVE, warm_up=3, window=4))
    shown = data(capsys, "plan", "--from", "flock")["proposal"]["id"]
    described = [
        f"$ drover {' '.join(words)}\n{said(capsys, *words)}"
        for words in (
            ("status", "flock"),
            ("plan", "--from", "flock"),
            ("apply", shown, "--from", "flock"),
            ("status", "flock"),
            ("drain", "1", "--from", "flock"),
            ("plan", "--from", "flock"),
        )
    ]
    assert agrees("flock.stopped.txt", "\n".join(described))


def test_a_refused_plan_is_shown_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    greedy = Control(mode=Mode.PROPOSE, warm_up=3, window=4, trial=0, least_gain=0.99)
    with ControlRun(tmp_path, greedy) as pen:
        pen.feed(3)
        out = said(capsys, "plan", "--from", str(tmp_path))
    assert "nothing to apply, since it would lower the load of the slowest node by 38.5%, less than 99%" in out
    assert "b: node 0 -> node 1, 3,000 bytes" in out
    assert "drover apply" not in out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        pytest.param(["status", "nowhere"], 1, "is not the checkpoint of a run", id="no checkpoint"),
        pytest.param(["status", "s3://"], 1, "Correct the URI", id="a URI that is none"),
        pytest.param(["status"], 2, "Missing argument 'CHECKPOINT'", id="no checkpoint is named"),
        pytest.param(["explain", "e", "--from", "flock"], 1, "there is no unit 'e'", id="an unknown unit"),
        pytest.param(["apply", "p9", "--from", "flock"], 1, "there is no proposal 'p9'", id="an unknown proposal"),
        pytest.param(["apply", "p9"], 2, "Missing option '--from'", id="no run is named"),
        pytest.param(["drain", "7", "--from", "flock"], 1, "the nodes are 0 to 1", id="an unknown node"),
        pytest.param(["drain", "x", "--from", "flock"], 2, "not a valid integer", id="no number"),
        pytest.param(["mode", "car", "--from", "flock"], 2, "is not one of", id="an unknown mode"),
        pytest.param(["move", "a", "5", "--from", "flock"], 1, "is on node 5", id="a move to nowhere"),
        pytest.param(["move", "z", "1", "--from", "flock"], 1, "there is no unit 'z'", id="a move of nothing"),
        pytest.param(["history", "flock", "--last", "0"], 2, "not in the range", id="no history"),
        pytest.param(
            ["plan"], 2, "Missing NETWORK. To see what a run proposes, give --from CHECKPOINT", id="a plan of nothing"
        ),
        pytest.param(["plan", "--from", "flock", "--nodes", "3"], 2, "--nodes needs a NETWORK", id="a foreign option"),
        pytest.param(["plan", TRAFFIC, "--from", "flock"], 2, "leave NETWORK out", id="a network besides a run"),
    ],
)
def test_bad_input_is_reported_without_a_traceback(
    pen: ControlRun, words: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pen.feed(1)
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert says in " ".join(err.split())
    assert "Traceback" not in err


def test_a_name_cannot_send_control_characters_to_the_terminal(
    pen: ControlRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "a\x1b[31m", "--from", pen.path]) == 1
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Usage: drover" in said(capsys, command, "--help")
