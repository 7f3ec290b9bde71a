"""Every way in which a period can end; trials are in test_trials, random networks and loads in test_rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from numpy.random import Generator

from drover.control import loop
from drover.control.context import ControlContext, Deployment
from drover.control.loop import step
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, Reshape
from drover.control.settings import Mode
from drover.control.state import ControlState
from drover.control.tree_step import decide_on_tree
from drover.control.view import View
from drover.errors import ProblemError
from drover.load.arrays import Ints
from drover.network.grid import Grid
from drover.placement.problem import PlacementProblem
from tests.control.decisions import HALF, end, measured, on_trial, policy_of, uneven_run
from tests.control.runs import AUTO, Run
from tests.control.trees import first, on, two_sides
from tests.control.trees import measured as tree_state


@pytest.fixture
def run() -> Run:
    return uneven_run()


def test_without_a_period_there_is_nothing_to_decide(run: Run) -> None:
    state, record = step(run.context)
    assert state == ControlState()
    assert record == PeriodRecord(0, PeriodOutcome.WATCHED, "nothing was measured yet", (), 1)


@pytest.mark.parametrize(
    ("mode", "closed", "reason"),
    [
        pytest.param(Mode.OBSERVE, frozenset(), "nothing is decided in mode observe", id="observe"),
        pytest.param(Mode.AUTO, frozenset({0, 1}), "every node is closed, and units stay", id="all closed"),
        pytest.param(
            Mode.OBSERVE, frozenset({0, 1}), "every node is closed, and units stay", id="observe, and all closed"
        ),
        pytest.param(Mode.OBSERVE, frozenset({0}), "nothing is decided in mode observe", id="observe a closed node"),
    ],
)
def test_nothing_is_decided(run: Run, mode: Mode, closed: frozenset[int], reason: str) -> None:
    measured(run, 20)
    deployment = replace(run.deployment, closed=closed)
    _, record = step(ControlContext(run.state, deployment, replace(AUTO, mode=mode)))
    assert end(record) == (PeriodOutcome.WATCHED, reason)


def test_the_first_plan_waits_for_the_warm_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of())
    state, record = step(measured(run, 9))
    assert end(record) == (PeriodOutcome.WATCHED, "warming up, 1 more periods")
    assert not state.placed
    state, record = step(measured(run, 1))
    assert end(record) == (PeriodOutcome.STEADY, "combined moves nothing")
    assert state.placed
    _, record = step(ControlContext(replace(state, window=run.state.window), run.deployment, AUTO))
    assert end(record) == (PeriodOutcome.STEADY, "cor-se-imp moves nothing"), "a later plan has another policy"


def test_the_policy_is_asked_with_the_seed_of_the_period(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[str, float]] = []

    def propose(problem: PlacementProblem, policy: str, rng: Generator, _alone: Collection[str]) -> Ints:
        drawn.append((policy, float(rng.random())))
        return problem.current

    monkeypatch.setattr(loop, "propose_fused", propose)
    context = measured(run, 10)
    step(context)
    step(context)
    step(context.with_settings(seed=1))
    step(measured(run, 1))
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_a_policy_without_a_plan_is_recorded(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def propose(_problem: PlacementProblem, _policy: str, _rng: Generator, _alone: Collection[str]) -> Ints:
        raise ProblemError("the rules exclude each other")

    monkeypatch.setattr(loop, "propose_fused", propose)
    state, record = step(measured(run, 10))
    assert end(record) == (
        PeriodOutcome.REFUSED,
        "the policy combined finds no plan: the rules exclude each other",
    )
    assert not state.placed


def test_moves_that_improve_nothing_are_refused_one_by_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of("s1-0", "s1-1"))
    context = measured(run, 10).with_state(placed=True)
    state, record = step(context)
    assert end(record) == (PeriodOutcome.STEADY, "none of 2 moves is worth it")
    assert [refusal.move.unit for refusal in record.refusals] == ["s1-0", "s1-1"]
    assert (state.trial, state.waiting) == (None, None)


def test_a_resting_unit_is_not_asked_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of("s0-0"))
    _, record = step(measured(run, 10).with_state(placed=True, moved={"s0-0": 9}))
    assert [refusal.reason for refusal in record.refusals] == ["it moved recently and rests for 9 more periods"]


def test_units_of_a_closed_node_are_placed_at_once(run: Run) -> None:
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    trial = Proposal("p0", 0, 1, 2, (), "", 0.1, 0.0, (), ())
    state, record = step(measured(run, 3).with_state(trial=trial))
    assert end(record) == (PeriodOutcome.MOVED, "10 units need a node: node 1 is closed")
    assert record.proposal is not None
    assert record.proposal.forced
    assert record.proposal.gain == 0.0
    assert record.proposal.goals, "every unit has a node afterwards, so the plans can be compared"
    assert {move.target for move in record.proposal.moves} == {0}
    assert state.trial is None
    assert state.waiting is None


def test_units_without_room_are_refused(run: Run) -> None:
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    waiting = Proposal("p0", 0, 1, 2, (), "", 0.1, 0.0, (), ())
    state, record = step(measured(run, 3).with_settings(memory=10_000.0).with_state(waiting=waiting))
    assert end(record) == (PeriodOutcome.REFUSED, "10 units need a node, and no node has room for them")
    assert len(record.refusals) == 10
    assert state.waiting is None


def test_some_units_find_room(run: Run) -> None:
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    _, record = step(measured(run, 3).with_settings(memory=14_000.0))
    assert end(record) == (PeriodOutcome.MOVED, "4 units need a node: node 1 is closed")
    assert len(record.refusals) == 6
    assert record.proposal is not None
    assert record.proposal.goals == ()


def test_new_units_are_placed_without_a_comparison(run: Run) -> None:
    places = {unit: node for unit, node in run.deployment.plan.node_of.items() if unit != "s1-9"}
    context = measured(run, 3)
    deployment = replace(run.deployment, plan=replace(run.deployment.plan, node_of=places))
    _, record = step(replace(context, deployment=deployment))
    assert end(record) == (PeriodOutcome.MOVED, "1 units need a node: they are new")
    assert record.proposal is not None
    assert [(move.unit, move.source) for move in record.proposal.moves] == [("s1-9", None)]
    assert record.proposal.goals == (), "there is no plan to compare with"


def test_a_waiting_proposal_for_the_same_units_keeps_its_id(run: Run) -> None:
    run.deployment = replace(run.deployment, closed=frozenset({1}))
    run.settings = replace(AUTO, mode=Mode.PROPOSE, memory=14_000.0)
    state, first = step(measured(run, 3))
    assert first.kind is PeriodOutcome.PROPOSED
    run.state = state
    state, record = step(measured(run, 1))
    assert end(record) == (PeriodOutcome.PROPOSED, "p3 waits to be applied")
    assert record.proposal == state.waiting == first.proposal
    assert len(record.refusals) == 6
    assert first.proposal is not None
    other = replace(first.proposal, moves=first.proposal.moves[:2])
    for changed in (replace(first.proposal, forced=False), other, replace(other, forced=False)):
        state, record = step(run.context.with_state(waiting=changed))
        assert record.proposal is not None
        assert record.proposal.id == "p4", "it is replaced"
    later = replace(run.deployment, plan=replace(run.deployment.plan, number=2))
    _, record = step(replace(run.context, deployment=later))
    assert record.proposal is not None
    assert record.proposal.base == 2


def test_a_first_plan_may_move_everything_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "propose_fused", policy_of(*HALF))
    context = measured(run, 10).with_settings(most_moves=1)
    assert step(context)[1].kind is PeriodOutcome.TRIAL
    assert step(context.with_state(placed=True))[1].kind is PeriodOutcome.STEADY


def test_a_reshape_is_accepted_and_ends_a_trial(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    context, proposal = on_trial(run, monkeypatch)
    shape = Reshape("j", Grid(1, 1), Grid(2, 1))
    wanted = replace(proposal, moves=(), shapes=(shape,), reason="it is spread")
    seen: list[tuple[int, int]] = []

    def propose_reshape(given: ControlContext, view: View) -> Proposal:
        seen.append((given.state.period, view.problem.n))
        return wanted

    monkeypatch.setattr(loop, "propose_reshape", propose_reshape)
    state, record = step(context)
    assert seen == [(10, 2)]
    assert end(record) == (PeriodOutcome.MOVED, "it is spread")
    assert (record.proposal, record.refusals, state.trial) == (wanted, (), None)
    assert state.moved == {"j": 10}


def test_on_a_tree_neighbours_decide() -> None:
    network = two_sides()
    tree = on(network)
    context = ControlContext(
        tree_state(network, {"a-1": 50, "a-2": 20}), Deployment(network, first(tree), hierarchy=tree), AUTO
    )
    state, record = step(context)
    assert (state, replace(record, health="")) == decide_on_tree(context, tree)
    assert step(context)[1].kind is PeriodOutcome.MOVED
