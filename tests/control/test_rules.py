"""Whatever happens, what the loop does keeps every rule; on random networks, plans, settings and loads."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.control import record as records
from drover.control import state as states
from drover.control.context import ControlContext, Deployment
from drover.control.critical import critical_path
from drover.control.loop import OUTDATED, step
from drover.control.moves import pin_resting
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal
from drover.control.settings import Control
from drover.control.state import ControlState
from drover.control.view import detect_change, view_of
from drover.placement.plan import Move, Plan, apply, units_of
from drover.placement.policy import propose
from drover.placement.problem import NOWHERE
from drover_lab.generate import TreeParameters, trees
from tests.control.runs import Rates, Run

SEEDS = st.integers(0, 2**32 - 1)
PERIODS = 12


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A network of trees, a plan drawn at random, and settings under which much happens."""
    rng = default_rng(draw(SEEDS))
    network = trees(rng, TreeParameters(streams=draw(st.integers(1, 3)), size=draw(st.integers(1, 6))))
    units = units_of(network)
    nodes = draw(st.integers(1, 4))
    plan = Plan(1, nodes, {unit: int(rng.integers(nodes)) for unit in units})
    size = 1000
    control = Control(
        mode=draw(st.sampled_from(["auto", "auto", "propose"])),  # type: ignore[arg-type]  # a word is taken, too
        window=draw(st.integers(2, 6)),
        warm_up=draw(st.integers(2, 4)),
        trial=draw(st.integers(0, 2)),
        cool_down=draw(st.integers(0, 5)),
        most_moves=draw(st.integers(0, 4)),
        least_gain=draw(st.sampled_from([0.0, 0.05])),
        certainty=draw(st.sampled_from([0.0, 2.0])),
        memory=draw(st.sampled_from([np.inf, size * (len(units) / nodes + 2)])),
        capacity=tuple(rng.uniform(0.5, 1.5, nodes)) if draw(st.booleans()) else (),
        pins={unit: int(rng.integers(nodes + 1)) for unit in units if rng.random() < 0.2},
    )
    load = draw(st.sampled_from([0.3, 0.9, 1.3]))
    return Run(Deployment(network, plan), control, load, draw(st.sampled_from([0.0, 0.2])), draw(SEEDS), size)


def stormy(period: int, base: Rates) -> Rates:
    """Every source anything between nothing and three times its rate."""
    drawn = default_rng(period).choice([0.0, 0.5, 1.0, 3.0], len(base)).tolist()
    return {name: rate * factor for (name, rate), factor in zip(base.items(), drawn, strict=True)}


def disturb(run: Run) -> None:
    """Close or open a node now and then; never all of them."""
    nodes = run.deployment.plan.nodes
    if run.rng.random() < 0.3:
        closed = run.deployment.closed ^ {int(run.rng.integers(nodes))}
        run.deployment = replace(run.deployment, closed=closed if len(closed) < nodes else frozenset())


@given(run=runs())
@settings(max_examples=120)
def test_every_decision_keeps_every_rule(run: Run) -> None:
    first = ""
    for _ in range(PERIODS):
        disturb(run)
        run.measure(stormy)
        before = detect_change(run.context)
        after, record = step(run.context)
        assert (after, record) == step(run.context)
        check_words(record)
        check_json(after, record)
        if record.proposal is not None and not before.placed:
            first = record.proposal.id
        if record.kind is PeriodOutcome.MOVED:
            assert run.settings.mode == "auto"
            assert record.proposal is not None
            check_moves(run, before, record.proposal, record.proposal.id == first)
        run.state = after
        run.carry_out(record)


def check_words(record: PeriodRecord) -> None:
    """People can read it: a sentence, no names of Python's, no arrays."""
    said = [record.reason, *(refusal.reason for refusal in record.refusals)]
    assert all(text and "None" not in text and "nan" not in text and "array" not in text for text in said)
    assert (
        record.kind not in {PeriodOutcome.MOVED, PeriodOutcome.PROPOSED, PeriodOutcome.TRIAL}
        or record.proposal is not None
    )


def check_json(state: ControlState, record: PeriodRecord) -> None:
    assert states.state_of(json.loads(json.dumps(states.to_json(state)))) == state
    assert records.record_of(json.loads(json.dumps(records.to_json(record)))) == record


def check_moves(run: Run, before: ControlState, proposal: Proposal, first: bool) -> None:
    """Check moves about to be made, by arithmetic of its own; `first` if they are of the plan from scratch."""
    deployment = run.deployment
    control = run.settings
    plan = apply(deployment.plan, proposal.moves)
    for move in proposal.moves:
        assert move.source != move.target
        assert move.target not in deployment.closed
        pin = control.pins.get(move.unit, NOWHERE)
        assert pin in {move.target, NOWHERE} or pin >= plan.nodes or pin in deployment.closed
    # A node that is above the limit already may exchange units, but must not get more.
    held, had = (
        [run.size * list(each.node_of.values()).count(node) for node in range(plan.nodes)]
        for each in (plan, deployment.plan)
    )
    assert all(held[move.target] <= max(control.memory, had[move.target]) for move in proposal.moves)
    if proposal.forced:
        return
    assert not {move.unit for move in proposal.moves} & set(before.resting(control.cool_down))
    assert len(proposal.moves) <= control.most_moves or first
    check_critical_path(run, before, proposal, plan)


def check_critical_path(run: Run, before: ControlState, proposal: Proposal, plan: Plan) -> None:
    """The slowest node is not loaded more in the periods that decided, and no node is filled above its capacity."""
    fresh = [each for each in before.window.periods if each.number >= max(proposal.period + 1, before.last_change)]
    problem = view_of(ControlContext(before, run.deployment, run.settings)).problem
    series = problem.series[:, -len(fresh) :]  # all of them if it never was on trial
    now, then = (critical_path(series, problem.places(one), problem.capacity) for one in (run.deployment.plan, plan))
    assert then.mean() <= now.mean() * (1 + 1e-9)
    assert max(proposal.after) <= max(1, *proposal.before) * (1 + 2e-3)


@given(run=runs())
@settings(max_examples=60)
def test_every_move_of_the_policy_is_made_or_refused_with_a_reason(run: Run) -> None:
    for _ in range(PERIODS):
        run.measure(stormy)
        before = detect_change(run.context)
        record = run.decide()
        asked = run.state.placed and before.waiting is None and before.trial is None
        forced = record.proposal is not None and record.proposal.forced
        if not asked or forced or record.reason.startswith(("warming up", "the policy")):
            continue
        problem = view_of(
            ControlContext(before, replace(run.deployment, plan=_plan_before(run, record)), run.settings)
        ).problem
        policy = run.settings.then if before.placed else run.settings.first
        if not before.placed:
            problem = pin_resting(problem, before.moved)  # what moved in the warm-up has its place in the first plan
        wanted = propose(problem, policy, default_rng((run.settings.seed, record.period)))
        moves = {
            Move(problem.units[j], int(problem.current[j]), int(wanted[j]), float(problem.state[j]))
            for j in np.flatnonzero(wanted != problem.current)
        }
        shown = set(record.proposal.moves) if record.proposal is not None else set()
        refused = {refusal.move for refusal in record.refusals if refusal.reason != OUTDATED}
        assert shown | refused == moves
        assert not shown & refused
        assert all(refusal.reason for refusal in record.refusals)


def _plan_before(run: Run, record: PeriodRecord) -> Plan:
    """The plan that a record was decided on."""
    if record.kind is not PeriodOutcome.MOVED or record.proposal is None:
        return run.deployment.plan
    back = {move.unit: move.source for move in record.proposal.moves if move.source is not None}
    return Plan(record.plan, run.deployment.plan.nodes, {**run.deployment.plan.node_of, **back})


@given(run=runs())
@settings(max_examples=30)
def test_a_restart_in_every_period_changes_no_decision(run: Run) -> None:
    again = replace(run, restarts=True)
    assert run.go(PERIODS, stormy) == again.go(PERIODS, stormy)
