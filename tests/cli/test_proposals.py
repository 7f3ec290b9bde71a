from __future__ import annotations

from typing import Any

import pytest

from drover.cli.proposals import SHOWN, describe_move, describe_run_state, lines, units_by_node

MOVE: dict[str, Any] = {"unit": "c", "source": 1, "target": 0, "bytes": 3000.0}
FOUND: dict[str, Any] = {
    "id": "p3",
    "moves": [MOVE],
    "nodes": 2,
    "before": [0.2, 0.6],
    "after": [0.4, 0.4],
    "reason": "because",
    "cost": 0.005,
    "base": 1,
    "period": 3,
    "goals": ["a goal"],
    "measured": 0.5,
}
ANSWER: dict[str, Any] = {
    "network": "n",
    "running": True,
    "live": True,
    "mode": "propose",
    "period": 4,
    "kind": "proposed",
    "proposal": FOUND,
    "waits": True,
    "approved": None,
    "refused": None,
    "refusals": [],
    "reason": "because",
    "node_of": {"a": 0, "c": 1},
}


@pytest.mark.parametrize(
    ("running", "live", "words"),
    [
        pytest.param(True, True, "running", id="running"),
        pytest.param(True, False, "running without an endpoint, so this is from its checkpoint", id="no endpoint"),
        pytest.param(False, False, "stopped", id="stopped"),
        pytest.param(None, False, "as last written (drover cannot tell whether it is running", id="unknown"),
    ],
)
def test_the_state_of_a_run(running: bool | None, live: bool, words: str) -> None:
    assert describe_run_state({"running": running, "live": live}).startswith(words)


def test_moves_in_words() -> None:
    assert describe_move(MOVE) == "c: node 1 -> node 0, 3,000 bytes"
    assert describe_move({**MOVE, "source": None, "unit": "c\x1b"}) == "c\\x1b: new -> node 0, 3,000 bytes"


def test_units_of_nodes_are_cut() -> None:
    assert units_by_node({"a": 0, "b": 0, "c": 2}, 3) == ["a, b", "", "c"]
    (long,) = units_by_node({f"unit{k}": 0 for k in range(30)}, 1)
    assert len(long) == SHOWN
    assert long.endswith("...")


def test_a_proposal_is_shown_with_loads_moves_and_reasons() -> None:
    assert list(lines(ANSWER, "here")) == [
        "n, running, mode propose, period 4: proposal p3 (1 move, 3,000 bytes) waits to be applied",
        "",
        "node  before  after  units after",
        "0      20.0%  40.0%  a, c",
        "1      60.0%  40.0%  -",
        "",
        "c: node 1 -> node 0, 3,000 bytes",
        "",
        "why: because",
        "cost: 0.005 s, once; from plan 1, made in period 3",
        "goal: a goal",
        "measured: 50% of the costs; the others are assumed",
        "",
        "to apply it: drover apply p3 --from here",
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"waits": False, "kind": "on trial"}, "is on trial", id="on trial"),
        pytest.param({"waits": False}, "was made on request and has not been on trial", id="on request"),
        pytest.param({"proposal": None}, "nothing to apply, since because", id="none"),
    ],
)
def test_how_a_proposal_came_about(changes: dict[str, Any], says: str) -> None:
    assert next(lines({**ANSWER, **changes}, "here")).endswith(says)


def test_a_refused_proposal_and_refused_moves_are_shown() -> None:
    refusals = [{"move": MOVE, "reason": "it rests"}] * (SHOWN + 2)
    shown = list(lines({**ANSWER, "proposal": None, "refused": FOUND, "refusals": refusals, "approved": "p2"}, "here"))
    assert shown[1] == "p2 is approved and will be applied when the run starts; applying another one replaces it"
    assert "why: because" in shown
    assert shown.count("not moved: c: node 1 -> node 0, 3,000 bytes: it rests") == SHOWN
    assert shown[-1] == "... and 2 more units that are not moved"


def test_shapes_of_joins_are_shown() -> None:
    shape = {"join": "j", "before": [1, 1], "after": [2, 3]}
    assert "join j: spread 2 x 3 instead of 1 x 1" in lines({**ANSWER, "proposal": {**FOUND, "shapes": [shape]}}, "x")
