"""Proposals that wait: applied exactly as shown, or refused in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drover.control.loop import approve
from drover.control.record import PeriodOutcome, Proposal
from drover.control.settings import Mode
from drover.errors import DroverError
from drover.placement.plan import apply
from tests.control.runs import AUTO, Run, shifted, start

PROPOSE = replace(AUTO, mode=Mode.PROPOSE)
UNEVEN = shifted(0, 0, 3.0)


@pytest.fixture
def run() -> Run:
    """One that has a proposal waiting."""
    made = start(plan="whole", load=0.4, settings=PROPOSE)
    made.go(14, UNEVEN)
    assert made.state.waiting is not None
    return made


def waiting(run: Run) -> Proposal:
    assert run.state.waiting is not None
    return run.state.waiting


def test_nothing_moves_until_somebody_says_so(run: Run) -> None:
    shown = waiting(run)
    run.go(10, UNEVEN)
    assert run.moved == 0
    assert waiting(run) == shown
    assert run.records[-1].reason == f"{shown.id} waits to be applied"


def test_exactly_the_shown_moves_are_made(run: Run) -> None:
    shown = waiting(run)
    run.go(3, UNEVEN)
    state, record = approve(run.context, shown.id)
    assert record.kind is PeriodOutcome.MOVED
    assert record.proposal == shown
    assert apply(run.deployment.plan, record.proposal.moves).node_of == {
        **run.deployment.plan.node_of,
        **{move.unit: move.target for move in shown.moves},
    }
    assert state.waiting is None
    assert set(state.resting(10)) == {move.unit for move in shown.moves}


def refusal(run: Run, name: str | None = None) -> str:
    with pytest.raises(DroverError) as caught:
        approve(run.context, name or waiting(run).id)
    return str(caught.value)


def test_another_name_is_refused(run: Run) -> None:
    assert refusal(run, "p3").startswith(f"there is no proposal 'p3': {waiting(run).id} waits. To see the newest")


def test_a_unit_that_somebody_moved_is_seen(run: Run) -> None:
    move = waiting(run).moves[0]
    run.deployment = replace(run.deployment, plan=run.deployment.plan.move(move.unit, 3 if move.source != 3 else 2))
    assert f"the deployment has changed: unit {move.unit} was on node {move.source} then" in refusal(run)


def test_another_number_of_nodes_is_seen(run: Run) -> None:
    run.deployment = replace(run.deployment, plan=run.deployment.plan.scale(5))
    assert "the deployment has changed: it was made for 4 nodes, and there are 5 now" in refusal(run)


def test_another_plan_is_seen_even_if_none_of_its_units_moved(run: Run) -> None:
    run.deployment = replace(run.deployment, plan=replace(run.deployment.plan, number=9))
    assert "the deployment has changed: plan 1 ran then, and plan 9 does now" in refusal(run)


def test_a_node_that_was_closed_since_is_seen(run: Run) -> None:
    target = waiting(run).moves[0].target
    run.deployment = replace(run.deployment, closed=frozenset({target}))
    assert f"the deployment has changed: node {target} is closed now" in refusal(run)


def test_a_pin_that_was_set_since_is_seen(run: Run) -> None:
    move = waiting(run).moves[0]
    assert move.source is not None
    run.settings = replace(run.settings, pins={move.unit: move.source})
    assert f"it is pinned to node {move.source}" in refusal(run)


def test_memory_that_has_become_short_is_seen(run: Run) -> None:
    run.settings = replace(run.settings, memory=5000.0)
    assert "bytes of state, above 5,000" in refusal(run)


def test_a_proposal_whose_reason_is_gone_is_withdrawn(run: Run) -> None:
    shown = waiting(run)
    records = run.go(12)  # as if the shift had never been
    withdrawn = [record for record in records if record.reason.startswith(f"{shown.id} is withdrawn: ")]
    assert len(withdrawn) == 1
    assert withdrawn[0].kind is PeriodOutcome.REFUSED


def test_it_is_carried_out_when_the_mode_becomes_auto(run: Run) -> None:
    shown = waiting(run)
    run.settings = AUTO
    record = run.go(1, UNEVEN)[0]
    assert record.kind is PeriodOutcome.MOVED
    assert record.proposal == shown


def test_a_drained_node_has_one_proposal_that_keeps_its_name() -> None:
    run = start(load=0.4, settings=PROPOSE)
    run.go(15)
    run.deployment = replace(run.deployment, closed=frozenset({2}))
    run.go(1)
    shown = waiting(run)
    run.go(5)
    assert waiting(run) == shown
    _, record = approve(run.context, shown.id)
    run.carry_out(record)
    assert 2 not in run.deployment.plan.node_of.values()


def test_a_drained_node_that_is_used_again_needs_no_proposal() -> None:
    run = start(load=0.4, settings=PROPOSE)
    run.go(15)
    run.deployment = replace(run.deployment, closed=frozenset({2}))
    run.go(1)
    run.deployment = replace(run.deployment, closed=frozenset())
    assert run.go(1)[0].reason.endswith("is withdrawn: no unit needs a node any more")
    assert run.state.waiting is None


def test_without_a_waiting_proposal_there_is_nothing_to_approve() -> None:
    run = start(nodes=2, count=2)
    run.go(1)
    with pytest.raises(DroverError, match="there is no proposal 'p1': none waits"):
        approve(run.context, "p1")
