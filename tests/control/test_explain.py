from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.explain import UNTOUCHED, explain
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove
from drover.errors import DroverError
from drover.placement.plan import Move
from tests.control.runs import AUTO, shifted, start


def test_a_unit_is_explained_by_what_was_decided_and_what_it_would_be_elsewhere() -> None:
    run = start(plan="whole", load=0.4)
    run.go(20, shifted(0, 0, 3.0))
    moved = next(iter(run.state.moved))
    found = explain(moved, run.context, run.records)
    assert found.node == run.deployment.plan.node_of[moved]
    assert found.decisions[0].startswith(f"in period {run.state.moved[moved]} moved ({moved}: node 0 -> node")
    assert found.text.startswith(f"{moved} is on node {found.node} and takes ")
    assert len(found.elsewhere) == 4
    still = next(unit for unit in run.deployment.plan.node_of if unit not in run.state.moved)
    assert "no decision was made" in explain(still, run.context, []).text


def test_an_unknown_unit_is_refused_with_the_nearest_name() -> None:
    run = start()
    with pytest.raises(DroverError, match=r"there is no unit 's0-00'\. Did you mean s\d-0\?"):
        explain("s0-00", run.context, [])
    assert "Nothing was measured yet" in explain("s0-0", run.context, []).text


def test_a_pinned_unit_says_so() -> None:
    run = start(plan="whole", load=0.4, settings=replace(AUTO, pins={"s0-0": 0}))
    run.go(3)
    assert "It is pinned to node 0." in explain("s0-0", run.context, []).text


def test_another_node_that_would_be_better_is_named() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4)
    run.go(3, shifted(0, 0, 3.0))
    found = explain("s0-0", run.context, [])
    assert found.node == 0
    assert found.elsewhere[1] < found.elsewhere[0]
    assert f"On node 1 the slowest node would be loaded to {found.elsewhere[1]:.2f}" in found.text
    assert UNTOUCHED in found.text
    assert found.load > 0
    assert found.state_bytes == run.size


def test_decisions_are_listed_newest_first_with_their_reasons() -> None:
    run = start(nodes=2, count=2, plan="whole")
    run.go(1)
    move = Move("s0-0", 0, 1, 1000.0)
    other = Move("s1-0", 1, 0, 1000.0)
    made = Proposal("p1", 1, 1, 2, (move, other), "both", 0.1, 0.0, (), (), reasons=(("s0-0", "its own"),))
    records = [
        PeriodRecord(1, PeriodOutcome.PROPOSED, "both", (), 1, made),
        PeriodRecord(2, PeriodOutcome.MOVED, "both", (), 1, replace(made, reasons=())),
        PeriodRecord(3, PeriodOutcome.STEADY, "nothing", (), 2, None, (RefusedMove(move, "it rests"),)),
    ]
    assert explain("s0-0", run.context, records).decisions == (
        "in period 3 it stayed, it rests",
        f"in period 2 moved ({move}), both",
        f"in period 1 proposed ({move}), its own",
    )
