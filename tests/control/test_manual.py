"""What people wish by hand becomes a proposal that leads to exactly the plan that was asked for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.control.context import ControlContext, Deployment
from drover.control.explain import explain
from drover.control.manual import propose_manual_spread, spread_join_as
from drover.control.proposals import apply_proposal
from drover.control.record import PeriodOutcome, PeriodRecord, record_of, to_json
from drover.control.settings import Mode
from drover.control.state import ControlState
from drover.errors import DroverError
from drover.flow.instances import reshape, spread_join
from drover.network.grid import WHOLE, Grid, Spread
from tests.control.test_diffuse import AUTO, Joined

GRIDS = st.builds(Grid, st.integers(1, 4), st.integers(1, 4))
WISHES: st.SearchStrategy[Spread] = st.one_of(GRIDS, st.integers(1, 12), st.just("auto"))


def observed(load: float = 0.4) -> Joined:
    run = Joined(settings=replace(AUTO, mode=Mode.OBSERVE), load=load)
    run.go(4)
    return run


RUN = observed()


@settings(max_examples=80)
@given(wish=WISHES, before=st.lists(GRIDS, max_size=2), closed=st.frozensets(st.integers(0, 2), max_size=3))
def test_a_proposal_leads_to_the_plan_that_was_asked_for(
    wish: Spread, before: list[Grid], closed: frozenset[int]
) -> None:
    run = RUN
    join = spread_join(RUN.deployment.network, "j")
    plan = run.deployment.plan
    for grid in before:
        plan = reshape(plan, join, grid)
    deployment = replace(run.deployment, plan=plan, closed=closed)
    wanted = spread_join_as(plan, "j", wish, replace(run.context, deployment=deployment))
    found = propose_manual_spread("j", wish, replace(run.context, deployment=deployment))
    if found is None:
        assert wanted == plan
        return
    assert apply_proposal(plan, found, deployment.network) == wanted
    assert wanted.number == plan.number + 1
    fresh = wanted.instances["j"].others[len(plan.instances["j"].others) :]
    assert not set(fresh) & closed or len(closed) == plan.nodes
    assert len(found.after) == plan.nodes
    record = PeriodRecord(run.state.period, PeriodOutcome.MOVED, found.reason, found.before, plan.number, found)
    assert record_of(json.loads(json.dumps(to_json(record)))) == record


def test_it_is_reported_like_a_move() -> None:
    found = propose_manual_spread("j", (3, 1), RUN.context)
    assert found is not None
    assert found.reason == "spread by hand (3 x 1), 3 x 1 instead of 1 x 1"
    assert [move.unit for move in found.moves] == ["j[1]", "j[2]"]
    assert max(found.after) < max(found.before)
    record = PeriodRecord(RUN.state.period, PeriodOutcome.MOVED, found.reason, found.before, 1, found)
    (said,) = explain("j", RUN.context, [record]).decisions
    assert said == f"in period {RUN.state.period} moved (j: 1 x 1 -> 3 x 1), {found.reason}"


def test_the_loop_leaves_alone_what_was_asked_for() -> None:
    run = observed(load=1.6)
    run.deployment = replace(run.deployment, plan=spread_join_as(run.deployment.plan, "j", 1, run.context))
    run.settings = AUTO
    run.go(20)
    assert run.grid == WHOLE
    run.deployment = replace(run.deployment, plan=spread_join_as(run.deployment.plan, "j", "auto", run.context))
    run.go(20)
    assert run.grid.cells == 3


def test_nothing_is_reported_before_anything_is_measured() -> None:
    assert propose_manual_spread("j", 3, ControlContext(ControlState(), RUN.deployment, RUN.settings)) is None
    spread = spread_join_as(RUN.deployment.plan, "j", 3, replace(RUN.context, state=ControlState()))
    assert spread.instances["j"].epochs[-1].grid.cells == 3


@pytest.mark.parametrize(
    ("join", "wish", "says"),
    [
        pytest.param("some", 2, "'some' is not a join that can be spread", id="no join"),
        pytest.param("j", 0, "spread is 0, but a join is spread over a grid of 1 to 1000 instances", id="none"),
        pytest.param("j", True, "spread is True, but", id="a truth"),
        pytest.param("j", (2,), r"spread is \(2,\), but", id="half a grid"),
        pytest.param("j", 10**9, "spread is 1000000000, but", id="too many"),
        pytest.param("j", "wide", "spread is 'wide', but", id="no word"),
    ],
)
def test_what_cannot_be_is_refused(join: str, wish: object, says: str) -> None:
    with pytest.raises(DroverError, match=says):
        propose_manual_spread(join, wish, RUN.context)  # type: ignore[arg-type]


def test_a_tree_has_no_spread_joins() -> None:
    tree = Deployment(RUN.deployment.network, RUN.deployment.plan)
    object.__setattr__(tree, "hierarchy", object())
    with pytest.raises(DroverError, match="on a tree of nodes: its instances would be where inputs do not pass"):
        propose_manual_spread("j", 2, ControlContext(RUN.state, tree, RUN.settings))
