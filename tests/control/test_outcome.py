from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.context import ControlContext
from drover.control.critical import CriticalPathGain
from drover.control.moves import ChosenMoves
from drover.control.outcome import (
    accept,
    judge_proposal,
    make_proposal,
    objection_to,
    places_of,
    propose_moves,
    record_outcome,
    why_outdated,
)
from drover.control.record import PeriodOutcome, Proposal, RefusedMove, Reshape
from drover.control.settings import Control, Mode
from drover.control.view import View, view_of
from drover.network.grid import Grid
from drover.placement.plan import Move
from tests.control.runs import Run, start


@pytest.fixture(scope="module")
def run() -> Run:
    """Two chains of ten units on two nodes, each chain on its own, measured for three periods."""
    made = start(nodes=2, count=2, plan="whole", load=0.5, noise=0.0)
    made.go(3)
    return made


@pytest.fixture(scope="module")
def view(run: Run) -> View:
    return view_of(run.context)


MOVE = Move("s0-0", 0, 1, 1000.0)


def proposed(run: Run, view: View, **details: object) -> Proposal:
    return make_proposal(run.context, view, [MOVE], "because", (0.4, 0.6), **details)


def test_a_record_has_period_loads_and_plan(run: Run, view: View) -> None:
    state, record = record_outcome(run.context, view, PeriodOutcome.STEADY, "nothing")
    assert state is run.state
    assert (record.period, record.kind, record.reason, record.plan) == (3, PeriodOutcome.STEADY, "nothing", 1)
    assert record.loads == view.loads(view.problem.current)
    assert record.proposal is None
    assert record.refusals == ()


def test_a_proposal_starts_from_the_current_plan(run: Run, view: View) -> None:
    found = proposed(run, view)
    assert (found.id, found.period, found.base, found.nodes) == ("p3", 3, 1, 2)
    assert found.moves == (MOVE,)
    assert found.cost == pytest.approx(run.state.move_cost.of([MOVE]))
    assert found.before == view.loads(view.problem.current)
    assert (found.after, found.gain, found.measured, found.goals) == ((0.4, 0.6), 0.0, 1.0, ())
    assert proposed(run, view, id="m1", gain=0.3, evens=True) == replace(found, id="m1", gain=0.3, evens=True)


def test_chosen_moves_become_a_proposal(run: Run, view: View) -> None:
    places = view.problem.current.copy()
    places[view.problem.units.index("s0-0")] = 1
    choice = ChosenMoves(places, (MOVE,), ())
    found = propose_moves(run.context, view, choice, 0.2, "because", forced=True)
    assert found.gain == 0.2
    assert found.forced
    assert found.after == view.loads(places)
    assert places_of(view, found).tolist() == places.tolist()


def test_the_judge_adds_its_verdict_on_every_known_goal(run: Run, view: View) -> None:
    objection, found = judge_proposal(view, places_of(view, proposed(run, view)), proposed(run, view))
    assert found.goals
    assert all("unknown" not in goal for goal in found.goals)
    assert objection is None or isinstance(objection, str)
    same, _ = judge_proposal(view, view.problem.current, proposed(run, view))
    assert same == "it changes nothing"


@pytest.mark.parametrize(
    ("gain", "settings", "says"),
    [
        pytest.param(CriticalPathGain(0.2, 0.0, 1.0), Control(), None, id="worth it"),
        pytest.param(
            CriticalPathGain(0.04, 0.0, 1.0),
            Control(),
            "it would lower the load of the slowest node by 4.0%, less than 5%",
            id="too little",
        ),
        pytest.param(CriticalPathGain(0.05, 0.0, 1.0), Control(), None, id="just enough"),
        pytest.param(
            CriticalPathGain(0.1, 0.0, 1.0),
            Control(payback=0.01),
            "moving 1,000 bytes takes 0.005 s, but wins back only 0.001 s in 0.01 s",
            id="it does not pay",
        ),
    ],
)
def test_objections(run: Run, view: View, gain: CriticalPathGain, settings: Control, says: str | None) -> None:
    assert objection_to(settings, view, gain, proposed(run, view)) == says


def test_evening_out_counts_even_if_the_slowest_node_gains_nothing(run: Run, view: View) -> None:
    none = CriticalPathGain(0.0, 0.0, 1.0)
    evens = proposed(run, view, evens=True)
    worse = "wins back only"
    assert worse in str(objection_to(Control(), view, none, evens)), "this move makes nodes less even"
    problem = replace(view.problem, current=np.zeros(view.problem.m, dtype=np.int64))
    uneven = replace(view, problem=problem)
    assert objection_to(Control(), uneven, none, evens) is None


def test_an_accepted_proposal_is_carried_out_and_its_units_rest(run: Run, view: View) -> None:
    shape = Reshape("j", Grid(1, 1), Grid(2, 1))
    found = proposed(run, view, shapes=(shape,))
    refusal = RefusedMove(MOVE, "no")
    auto = run.context.with_settings(mode=Mode.AUTO).with_state(moved={"s1-1": 2})
    state, record = accept(auto, view, found, [refusal])
    assert record.kind is PeriodOutcome.MOVED
    assert state.moved == {"s1-1": 2, "s0-0": 3, "j": 3}
    assert (record.proposal, record.reason, record.refusals) == (found, "because", (refusal,))


def test_in_mode_propose_an_accepted_proposal_waits(run: Run, view: View) -> None:
    found = proposed(run, view)
    state, record = accept(run.context.with_settings(mode=Mode.PROPOSE), view, found, ())
    assert record.kind is PeriodOutcome.PROPOSED
    assert state.waiting == found
    assert state.moved == run.state.moved


def test_a_proposal_that_can_no_longer_be_carried_out(run: Run, view: View) -> None:
    found = proposed(run, view)
    context = run.context
    assert why_outdated(context, view, found) is None
    closed = replace(context, deployment=replace(context.deployment, closed=frozenset({1})))
    assert why_outdated(closed, view, found) == "node 1 is closed now, and s0-0 was to go there"
    later = replace(context, deployment=replace(context.deployment, plan=replace(context.deployment.plan, number=2)))
    assert why_outdated(later, view, found) == "plan 1 ran then, and plan 2 does now"
    full = context.with_settings(memory=10_500.0)
    assert why_outdated(full, view, found) == "node 1 would hold 11,000 bytes of state, above 10,500"


def test_a_proposal_against_a_pin(run: Run, view: View) -> None:
    pinned = context_with_pin(run.context)
    says = why_outdated(pinned, view_of(pinned), proposed(run, view))
    assert says is not None
    assert "s0-0" in says
    other = replace(proposed(run, view), moves=(Move("s0-1", 0, 1, 1000.0),))
    assert why_outdated(pinned, view_of(pinned), other) is None


def context_with_pin(context: ControlContext) -> ControlContext:
    return context.with_settings(pins={"s0-0": 0})
