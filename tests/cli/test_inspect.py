from __future__ import annotations

import json
from typing import Any

import pytest

from drover.cli import inspect as module
from drover.cli import main

RUN: dict[str, Any] = {"network": "n", "running": True, "live": True, "mode": "auto", "period": 4}
PLAN = {"number": 2, "nodes": 2, "node_of": {"a": 0}}
STATUS: dict[str, Any] = {
    **RUN,
    "plan": PLAN,
    "last": None,
    "failure": None,
    "waiting": None,
    "approved": None,
    "drained": [],
    "parked": [],
    "running_long": [],
}
RUNNING = {"batch": 7, "hop": 0, "node": 1, "kind": "operator", "name": "slow", "since": 5.0, "seconds": 61.2}
PARKED = {
    "operator": "scored",
    "reason": "ValueError: no (at scores.py:7 in score)",
    "holds": True,
    "frozen": 5,
    "since": 3,
    "at": 1.5,
    "rows": 1200,
    "bytes": 34000,
}
MOVED: dict[str, Any] = {
    "period": 3,
    "plan": 1,
    "kind": "moved",
    "reason": "because",
    "loads": [0.5, 0.25],
    "figures": {"batch_seconds": 0.5},
    "proposal": {"moves": [{"unit": u, "source": 0, "target": 1, "bytes": 10.0} for u in "abcd"]},
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The next answer of the run, which the test fills in; what was asked is there afterwards."""
    box: dict[str, Any] = {}

    def ask(checkpoint: str, what: str, **fields: object) -> object:
        box["asked"] = (checkpoint, what, fields)
        return box["answer"]

    monkeypatch.setattr(module, "ask", ask)
    return box


def test_a_run_without_measurements(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["answer"] = STATUS
    assert main(["status", "here"]) == 0
    assert asked["asked"] == ("here", "status", {})
    assert capsys.readouterr().out.splitlines() == [
        "n: running, mode auto, period 4; plan 2 on 2 nodes",
        "",
        "node  load  units",
        "0        -  a",
        "1        -  -",
        "",
        "nothing was measured yet",
    ]


def test_the_first_line_says_whether_the_run_keeps_up(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    late = {
        **MOVED,
        "health": "falling behind: batches take 3 s",
        "obstacle": "add nodes; 6 would do",
        "kept": "p1 came",
    }
    asked["answer"] = {**STATUS, "last": late, "capacity": [0.17, 0.17]}
    assert main(["status", "here"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "falling behind: batches take 3 s (add nodes; 6 would do)"
    assert "loads are shares of what a node can spend: 0.17 busy seconds per second" in out
    asked["answer"] = {"network": "n", "running": True, "live": True, "records": [MOVED, late]}
    assert main(["history", "here"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "falling behind: batches take 3 s (add nodes; 6 would do)"
    assert out[-1].endswith("; add nodes; 6 would do; p1 came")


def test_a_status_says_which_engine_runs_and_why(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["answer"] = {**STATUS, "engine": {"name": "resident", "why": "it fits"}}
    assert main(["status", "here"]) == 0
    assert "engine resident, because it fits" in capsys.readouterr().out.splitlines()


def test_a_status_with_every_field(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    proposal = {"id": "p3", "moves": [1, 2]}
    asked["answer"] = {
        **STATUS,
        "last": MOVED,
        "failure": "KeyError: 'x'",
        "waiting": proposal,
        "approved": proposal,
        "drained": [1],
        "running_long": [RUNNING],
        "parked": [PARKED, {**PARKED, "operator": "old", "holds": False, "since": None, "at": None}],
    }
    assert main(["status", "here"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1:9] == [
        "the control loop has failed and makes no more decisions: KeyError: 'x'",
        "node 1 has been running operator slow for 61 s in batch 7",
        (
            "scored is parked since batch 3, 1970-01-01 00:00:01 UTC: ValueError: no (at scores.py:7 in score). "
            "It holds 1,200 rows, 34,000 bytes."
        ),
        "  to run it again: drover resume scored --from here",
        "old is parked: ValueError: no (at scores.py:7 in score). Its input is lost meanwhile.",
        "  to run it again: drover resume old --from here",
        "proposal p3 (2 moves) waits: drover plan --from here",
        "proposal p3 (2 moves) is approved and will be applied when the run starts: drover plan --from here",
    ]
    assert out[-3:] == ["1     25.0%  -, drained", "", "last decision, in period 3: moved, because"]


def test_history_is_a_table_of_decisions(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    bare = {
        "period": 1,
        "plan": 1,
        "kind": "watched",
        "reason": "nothing",
        "loads": [],
        "figures": {},
        "proposal": None,
    }
    asked["answer"] = {**RUN, "records": [bare, MOVED]}
    assert main(["history", "here", "--last", "7"]) == 0
    assert asked["asked"] == ("here", "history", {"last": 7})
    moves = "; ".join(f"{unit}: node 0 -> node 1, 10 bytes" for unit in "abc")
    assert capsys.readouterr().out.splitlines() == [
        "n, running: 2 decisions, 4 moves made",
        "",
        "period  plan  fullest   batch  what",
        "1          1        -       -  watched: nothing",
        f"3          1    50.0%  0.50 s  moved: because; {moves}; and 1 more",
    ]


def test_a_run_without_decisions(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["answer"] = {**RUN, "records": []}
    assert main(["history", "here"]) == 0
    assert capsys.readouterr().out == "n, running: nothing was decided yet\n"


def test_an_explanation_lists_nodes_and_decisions(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["answer"] = {
        "text": "a is on node 0.",
        "node": 0,
        "state_bytes": 1234.0,
        "elsewhere": [0.5, 0.25],
        "decisions": [f"decision {k}" for k in range(12)],
    }
    assert main(["explain", "a", "--from", "here"]) == 0
    assert asked["asked"] == ("here", "explain", {"unit": "a"})
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["a is on node 0.", "It holds 1,234 bytes of state."]
    assert out[4].startswith("0")
    assert out[4].endswith("it is here")
    assert out[-2:] == ["decision 9", "... and 2 earlier ones"]


def test_programs_get_the_answer_as_json(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    asked["answer"] = STATUS
    assert main(["status", "here", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == STATUS
