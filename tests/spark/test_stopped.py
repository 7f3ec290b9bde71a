"""Requests to a stopped run: answered from its checkpoint, and approvals that the next run carries out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from drover.control.history import CHUNK
from drover.control.settings import Control, Mode
from drover.errors import DroverError
from drover.flow.planlog import PlanLogEntry, read_plan, write_plan
from drover.flow.state.lock import holder
from drover.flow.state.storage import open_root
from drover.placement.plan import Plan
from drover.spark import controller
from drover.spark.caller import ask
from drover.spark.changes import note_network
from tests.spark.control_runs import START, ControlRun, four_filters, stopped

OBSERVING = Control(mode=Mode.OBSERVE, warm_up=3, window=4, capacity=(1.0, 0.9), pins={"c": 1})


def wanted(shown: dict[str, object]) -> dict[str, int]:
    proposal = shown["proposal"]
    assert isinstance(proposal, dict)
    return dict(START.node_of) | {move["unit"]: move["target"] for move in proposal["moves"]}


def test_answers_are_the_same_as_while_it_ran(tmp_path: Path) -> None:
    with ControlRun(tmp_path, OBSERVING) as run:
        run.feed(4)
        live = {name: ask(run.path, name) for name in ("status", "history", "proposal")}
        live["explain"] = ask(run.path, "explain", unit="a")
    for name, said in live.items():
        assert (said.pop("running"), said.pop("live")) == (True, True)
        found = ask(run.path, name, **({"unit": "a"} if name == "explain" else {}))
        assert (found.pop("running"), found.pop("live")) == (False, False)
        assert found == said


@pytest.mark.parametrize("settings", [pytest.param(OBSERVING, id="worked out"), pytest.param(None, id="waiting")])
def test_an_approved_proposal_is_applied_at_the_next_start(tmp_path: Path, settings: Control | None) -> None:
    run = stopped(tmp_path, settings=settings or ControlRun(tmp_path).settings)
    shown = ask(run.path, "proposal")
    assert shown["waits"] is (settings is None)
    before = {path: path.read_bytes() for path in (tmp_path / "plans").iterdir()}
    answer = ask(run.path, "apply", id=shown["proposal"]["id"])
    assert answer["approved"] == shown["proposal"]["id"]
    assert {path: path.read_bytes() for path in (tmp_path / "plans").iterdir()} == before  # the data loop's own
    assert ask(run.path, "status")["approved"]["id"] == answer["approved"]
    with run:
        assert run.places == wanted(shown)
        assert [record.kind for record in run.controller.records][-1] == "moved"
        assert ask(run.path, "status")["approved"] is None
        run.feed(1)
    with run:  # and once only
        assert sum(record.kind == "moved" for record in run.controller.records) == 1


def test_an_approval_survives_a_run_that_ends_at_once(tmp_path: Path) -> None:
    run = stopped(tmp_path)
    shown = ask(run.path, "proposal")
    ask(run.path, "apply", id=shown["proposal"]["id"])
    with run:  # ends before its first batch
        assert run.places == wanted(shown)
    with run:
        assert run.places == wanted(shown)
        run.write_down()  # ends in its first period
    with run:
        assert run.places == wanted(shown)
        assert run.controller.status.plan.number == 2
        run.feed(1)
    assert ask(run.path, "status")["approved"] is None
    assert "refused" not in [record["kind"] for record in ask(run.path, "history")["records"]]


def test_an_approved_proposal_is_refused_if_the_plan_has_changed(tmp_path: Path) -> None:
    run = stopped(tmp_path)
    ask(run.path, "apply", id=ask(run.path, "proposal")["proposal"]["id"])
    other = Plan(5, 2, {**START.node_of, "d": 0})
    write_plan(*open_root(run.path), PlanLogEntry(0, other))
    with run:
        assert run.places == other.node_of
        last = run.controller.records[-1]
        assert last.kind == "refused"
        assert "plan 1 ran then, and plan 5 does now" in last.reason
        run.feed(1)
        assert run.controller.status.failure is None


def test_an_unknown_or_outdated_proposal_is_refused(tmp_path: Path) -> None:
    run = stopped(tmp_path, settings=OBSERVING)
    shown = ask(run.path, "proposal")["proposal"]["id"]
    with pytest.raises(DroverError, match=f"there is no proposal 'p9'. .*Known: {shown}"):
        ask(run.path, "apply", id="p9")
    write_plan(*open_root(run.path), PlanLogEntry(0, Plan(2, 2, {**START.node_of, "d": 0})))
    with pytest.raises(DroverError, match=f"there is no proposal '{shown}'"):
        ask(run.path, "apply", id=shown)


def test_a_drained_node_stays_so(tmp_path: Path) -> None:
    run = stopped(tmp_path, settings=Control(mode=Mode.AUTO, warm_up=9))
    assert ask(run.path, "drain", node=0)["units"] == ["a", "b"]
    assert ask(run.path, "status")["drained"] == [0]
    with run:
        run.feed(1)
        assert set(run.places.values()) == {1}


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        pytest.param("mode", {"mode": "auto"}, "Set its mode when you start it", id="mode"),
        pytest.param("move", {"unit": "a", "node": 1}, "so nothing moves. Start it first", id="move"),
    ],
)
def test_requests_that_need_a_running_network_are_refused(
    tmp_path: Path, name: str, fields: dict[str, object], says: str
) -> None:
    run = stopped(tmp_path)
    with pytest.raises(DroverError, match=says):
        ask(run.path, name, **fields)


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DroverError, match="is not the checkpoint of a run"):
        ask(str(tmp_path / "nowhere"), "status")
    with pytest.raises(DroverError, match="is not the checkpoint of a run"):
        ask(str(tmp_path / "nowhere"), "drain", node=0)
    assert not (tmp_path / "nowhere").exists()
    note_network(*open_root(str(tmp_path)), four_filters())
    with pytest.raises(DroverError, match="has not begun a batch"):
        ask(str(tmp_path), "status")


def test_a_run_without_an_endpoint_can_be_read_but_not_changed(tmp_path: Path) -> None:
    with ControlRun(tmp_path, listens=False) as run:
        run.feed(2)
        found = ask(run.path, "status")
        assert (found["running"], found["live"], found["period"]) == (True, False, 2)
        with pytest.raises(DroverError, match="has no endpoint for requests"):
            ask(run.path, "drain", node=0)


KILLED = """
import os, sys
from pathlib import Path
from tests.spark.control_runs import ControlRun
run = ControlRun(Path(sys.argv[1])).__enter__()
run.feed(2)
os._exit(9)
"""


def test_what_a_killed_run_has_left_is_passed_over(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 9
    assert json.loads((tmp_path / "control" / "endpoint.json").read_text())["pid"] > 0
    found = ask(str(tmp_path), "status")
    assert (found["running"], found["period"]) == (False, 2)


def test_the_file_of_an_earlier_run_does_not_count_for_a_later_one(tmp_path: Path) -> None:
    with ControlRun(tmp_path) as run:
        run.feed(1)
        path = tmp_path / "control" / "endpoint.json"
        said = json.loads(path.read_text())
        path.write_text(json.dumps({**said, "pid": said["pid"] + 1}))
        assert ask(run.path, "status")["live"] is False
        path.write_text("{")
        assert ask(run.path, "status")["live"] is False


def test_reading_does_not_lock_the_checkpoint(tmp_path: Path) -> None:
    fs, root = open_root(str(tmp_path))
    assert holder(fs, root) is None
    with ControlRun(tmp_path):
        held_by = holder(fs, root)
        assert held_by is not None
        assert held_by.pid == os.getpid()
    assert holder(fs, root) is None
    found = read_plan(fs, root, 0)
    assert found is not None
    assert found.plan == START


def test_what_is_not_in_memory_any_more_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller, "KEPT", CHUNK)  # fewer would not do: a file is written from what is in memory
    with ControlRun(tmp_path, OBSERVING) as run:
        run.feed(CHUNK + 10)
        assert len(run.controller.records) == CHUNK
        for last in (1, CHUNK, CHUNK + 1, 9 * CHUNK):
            periods = [record["period"] for record in ask(run.path, "history", last=last)["records"]]
            assert periods == list(range(1, CHUNK + 11))[-last:]
