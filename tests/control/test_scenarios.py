"""What a person would try: a shift, noise, bursts, nodes that go and come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from drover.control.critical import critical_path
from drover.control.loop import OUTDATED
from drover.control.record import PeriodOutcome
from drover.control.view import view_of
from drover.placement.plan import apply, moves
from drover.placement.policy import propose
from tests.control.runs import AUTO, Rates, Run, moves_in, shifted, start

SHIFT = 30  # the last period before it


def balanced(run: Run) -> bool:
    """Within the policy's epsilon, or so that the policy, shown the loads without noise, would spare little.

    The judge does not chase the last 5 %, nor can units be split.
    """
    if run.spread <= 0.1:
        return True
    load = np.array([[float(load)] * 2 for load in run.profile.loads(run.rates).values()])
    problem = replace(view_of(run.context).problem, series=load)
    best = propose(problem, run.settings.then, default_rng(0))
    reached = critical_path(load, best, problem.capacity).mean()
    return bool(run.loads.max() * 0.9 <= reached)


def test_a_trial_that_a_change_has_overtaken_ends_at_once() -> None:
    run = start(plan="whole", load=0.3, seed=0)
    rates = shifted(SHIFT, 3, 3.0)
    run.go(SHIFT, rates)
    first, second = run.go(2, rates)
    assert (first.kind, second.kind) == (PeriodOutcome.TRIAL, PeriodOutcome.TRIAL)
    assert OUTDATED in {refusal.reason for refusal in second.refusals}
    assert run.state.trial is not None
    assert run.state.trial.period == SHIFT + 2


def bursts(period: int, base: Rates) -> Rates:
    """Sources 0 and 1 take turns, six periods each, at a quarter and at twice their rates."""
    high = period // 6 % 2
    return {name: rate * (1 if k > 1 else 2.0 if k == high else 0.25) for k, (name, rate) in enumerate(base.items())}


def test_bursts_out_of_phase_are_no_lasting_change_once_seen() -> None:
    run = start(load=0.4)
    run.go(30, bursts)
    known = run.state.last_change
    later = run.go(60, bursts)
    assert run.state.last_change == known
    assert moves_in(later) == 0


def test_chains_whose_bursts_are_out_of_phase_are_cut() -> None:
    """Figure 1 of [Xing05]: two chains, two nodes; whole chains take turns being overloaded."""
    run = start(nodes=2, count=2, plan="whole", load=0.5)
    before = run.go(10, bursts)[-1]
    run.go(20, bursts)
    chosen = [{run.deployment.plan.node_of[f"s{k}-{step}"] for step in range(10)} for k in range(2)]
    assert chosen == [{0, 1}, {0, 1}]
    assert before.kind is not PeriodOutcome.WATCHED


def test_a_drained_node_is_emptied_at_once_and_stays_empty() -> None:
    run = start(load=0.4)
    run.go(15)
    run.deployment = replace(run.deployment, closed=frozenset({2}))
    record = run.go(1)[0]
    assert record.kind is PeriodOutcome.MOVED
    assert record.reason.endswith("units need a node: node 2 is closed")
    assert 2 not in run.deployment.plan.node_of.values()
    assert run.spread == max(run.loads)  # of the empty node
    run.go(40, shifted(30, 0, 3.0))
    assert 2 not in run.deployment.plan.node_of.values()


def test_only_units_of_a_lost_node_move_when_it_is_lost() -> None:
    run = start(nodes=4, load=0.4)
    run.go(15)
    before = run.deployment.plan
    run.deployment = replace(run.deployment, closed=frozenset({1, 3}))
    run.go(1)
    moved = moves(before, run.deployment.plan)
    assert {move.unit for move in moved} == {unit for unit, node in before.node_of.items() if node in {1, 3}}
    assert {move.target for move in moved} == {0, 2}


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_a_new_node_gets_units(load: float) -> None:
    run = start(nodes=3, load=load)
    run.go(25)
    run.deployment = replace(run.deployment, plan=run.deployment.plan.scale(4))
    run.go(25)
    assert run.loads[3] > 0.5 * run.loads.mean()
    assert balanced(run)


def test_units_go_home_when_the_node_that_they_are_pinned_to_is_back() -> None:
    run = start(settings=replace(AUTO, pins={"s0-0": 1, "s1-1": 3}), load=0.4)
    run.go(1)
    assert (run.deployment.plan.node_of["s0-0"], run.deployment.plan.node_of["s1-1"]) == (1, 3)
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    run.go(1)
    assert run.deployment.plan.node_of["s0-0"] != 1
    run.deployment = replace(run.deployment, closed=frozenset())
    record = run.go(1)[0]
    assert run.deployment.plan.node_of["s0-0"] == 1
    assert record.reason == "1 units need a node: they are not where they are pinned"


def test_slower_nodes_get_less() -> None:
    run = start(settings=replace(AUTO, capacity=(1.0, 1.0, 0.5, 0.25)), load=0.6, plan="hash")
    run.go(25)
    assert balanced(run)
    busy = (run.loads * run.capacity).tolist()
    assert busy[3] < busy[2] < busy[1]


def test_operators_leave_room_for_queries() -> None:
    run = start(nodes=2, load=0.4)
    for _ in range(30):
        run.measure()
        run.state = run.state.add_speeds((1.0, 1.0), (0.5, 0.0))
        run.decide()
    full, free = run.loads
    assert full == pytest.approx(free / 2, abs=0.1)  # half of node 0 is taken
    assert run.records[-1].loads[0] == pytest.approx(run.records[-1].loads[1], abs=0.1)


def test_nothing_is_decided_while_every_node_is_closed() -> None:
    run = start(nodes=2)
    run.go(5)
    run.deployment = replace(run.deployment, closed=frozenset({0, 1}))
    assert run.go(1)[0].kind is PeriodOutcome.WATCHED


def test_a_unit_without_room_anywhere_stays_and_the_record_says_why() -> None:
    run = start(nodes=2, settings=replace(AUTO, memory=20_000.0))
    run.go(3)
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    record = run.go(1)[0]
    assert record.kind is PeriodOutcome.REFUSED
    assert {refusal.reason for refusal in record.refusals} == {
        "no node that it may be on has room for its 1,000 bytes of state"
    }


def test_moving_much_state_for_little_is_refused() -> None:
    run = start(plan="whole", load=0.5, size=10**11)
    run.go(15, shifted(0, 0, 3.0))
    assert run.moved == 0
    assert any("wins back only" in record.reason for record in run.records)


def test_apply_gives_the_plan_that_a_record_shows() -> None:
    run = start(plan="whole", load=0.5)
    before = run.deployment.plan
    run.go(20, shifted(0, 0, 3.0))
    made = [
        record.proposal for record in run.records if record.kind is PeriodOutcome.MOVED and record.proposal is not None
    ]
    for proposal in made:
        before = apply(before, proposal.moves)
    assert made
    assert before == run.deployment.plan
