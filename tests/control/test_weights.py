"""Weights of spread joins follow what their nodes can do: soon, seldom, and never without a reason."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.control.explain import explain
from drover.control.loop import approve
from drover.control.manual import spread_join_as
from drover.control.proposals import apply_proposal, current_proposal, is_applied
from drover.control.record import PeriodOutcome, Proposal, record_of, to_json
from drover.control.settings import Control, Mode
from drover.control.view import view_of
from drover.control.weights import pace_of_join, propose_weights, weights_for
from drover.diffusion.choose import shares_of_cells
from drover.errors import DroverError
from drover.flow.instances import spread_join, with_weights
from drover.network.grid import WHOLE, Epoch, Grid
from drover.placement.plan import Plan
from tests.control.spread_runs import SpreadRun, auto_run, spread_run

MOST = 1.1  # the busiest instance over the mean
SOON = 5  # periods
GRIDS = [Grid(1, 2), Grid(3, 1), Grid(1, 5), Grid(2, 2), Grid(2, 3), Grid(3, 2), Grid(3, 3), Grid(4, 4)]


@given(
    st.sampled_from(GRIDS),
    st.tuples(st.integers(200, 5000), st.integers(200, 5000)),
    st.integers(0, 15),
    st.sampled_from(["slow", "stolen", "even"]),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_instances_are_even_after_five_periods(
    grid: Grid, rates: tuple[int, int], node: int, how: str, counts_pairs: bool, seed: int
) -> None:
    run = spread_run(grid, rates=rates, rng=default_rng(seed), counts_pairs=counts_pairs)
    if how != "even":
        setattr(run, how, {node % grid.cells: 2.0})
    run.go(SOON + 5)
    assert run.imbalance(5) <= MOST


def test_a_node_that_becomes_slow_is_relieved_within_five_periods_and_later_used_again() -> None:
    run = spread_run(Grid(2, 2), rates=(2000, 500))
    run.go(12)
    run.slow = {2: 2.0}
    run.go(SOON + 3)
    assert run.imbalance(3) <= MOST
    assert run.times[-8].max() > 1.5 * run.times[-8].mean()
    run.slow = {}
    run.go(SOON + 5)
    assert run.imbalance(3) <= MOST


@pytest.mark.parametrize(("grid", "noise"), [(Grid(1, 2), 0.05), (Grid(2, 3), 0.1), (Grid(2, 3), 0.2)])
def test_noise_alone_changes_no_weights(grid: Grid, noise: float) -> None:
    for seed in range(5):
        run = spread_run(grid, noise=noise, rng=default_rng(seed))
        assert {record.kind for record in run.go(30)} <= {PeriodOutcome.WATCHED, PeriodOutcome.STEADY}


def test_a_steady_load_changes_weights_once_or_twice() -> None:
    run = spread_run(Grid(3, 3), slow={4: 2.0})
    changed = [record for record in run.go(40) if record.proposal is not None and record.proposal.is_reweighting]
    assert 1 <= len(changed) <= 2
    assert all(not record.proposal.moves for record in changed if record.proposal)


def test_a_small_gain_changes_nothing() -> None:
    run = spread_run(Grid(1, 2), noise=0.001, slow={1: 1.04})
    run.go(20)
    assert run.deployment.plan.number == 1
    run = spread_run(Grid(1, 2), noise=0.001, slow={1: 1.2})
    run.go(20)
    assert run.deployment.plan.number > 1
    assert run.imbalance(3) < 1.02


def test_a_join_that_the_loop_spreads_is_even_too() -> None:
    run = auto_run(4, rates=(1000, 1000), load=1.5, stolen={2: 2.0})
    run.go(30)
    assert run.epoch.grid.cells >= 3
    assert run.imbalance(5) <= MOST


def test_a_grid_that_was_set_by_hand_is_even_too() -> None:
    run = auto_run(4, rates=(900, 1500), load=0.5, slow={1: 2.0})
    run.go(3)
    assert run.epoch.grid == WHOLE
    run.carry_out(spread_join_as(run.deployment.plan, "j", (2, 2), run.context))
    assert (run.epoch.grid, run.epoch.by_row) == (Grid(2, 2), True)
    run.go(SOON + 2)
    assert run.imbalance(2) <= MOST
    assert run.epoch.grid == Grid(2, 2)


def test_weights_follow_an_instance_to_another_node() -> None:
    run = SpreadRun(spread_run(Grid(1, 2)).deployment, slow={1: 2.0})
    nodes = replace(run.deployment.plan.scale(3), number=1)
    run.deployment = replace(run.deployment, plan=nodes)
    run.go(6)
    assert run.imbalance(2) <= MOST
    run.carry_out(run.deployment.plan.move("j[1]", 2))  # a fast node
    run.go(SOON + 3)
    assert run.imbalance(2) <= MOST


def test_other_work_on_a_node_counts() -> None:
    run = spread_run(Grid(1, 3), load=0.6, other=0.3)
    run.go(SOON + 1)
    first, second, third = run.times[-1]
    assert first == pytest.approx(second, rel=0.05)
    assert third + 0.3 == pytest.approx(first, rel=0.15)
    run = spread_run(Grid(1, 3), load=0.3, other=0.9)
    run.go(SOON + 1)
    assert 0 < run.times[-1][2] < 0.02, "it keeps a tenth of an equal share, so that it can be measured"


@pytest.mark.parametrize("weights", [((1.0,), (1.0, 1.0, 0.0)), ((1.0,), (1.0, 0.0, 0.0))])
def test_an_instance_without_weight_gets_pairs_again(weights: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
    run = spread_run(Grid(1, 3))
    run.carry_out(with_weights(run.deployment.plan, "j", weights))
    run.go(SOON + 1)
    assert run.imbalance(1) <= MOST


def test_a_grid_of_an_older_version_is_as_even_as_its_columns_allow() -> None:
    run = spread_run(Grid(2, 2), slow={3: 2.0})
    plan = run.deployment.plan
    old = replace(plan.instances["j"], epochs=(Epoch(0, Grid(2, 2)),))
    run.carry_out(replace(plan, instances={"j": old}))
    run.go(12)
    assert run.times[0].max() / run.times[0].mean() == pytest.approx(1.6, rel=0.02)
    assert run.imbalance(2) < 1.25
    rows, columns = weights_for(shares_of_cells(((2.0, 1.0), (1.0, 2.0)), run.epoch), run.epoch)
    assert [*rows, *columns] == pytest.approx([0.666667, 0.333333, 0.333333, 0.666667])


def test_instances_on_one_node_share_it() -> None:
    run = spread_run(Grid(1, 3))
    crowded = replace(run.deployment.plan.instances["j"], others=(0, 1))
    run.deployment = replace(run.deployment, plan=Plan(1, 2, {"busy": 1, "j": 0}, {"j": crowded}))
    run.settings = Control(mode=Mode.OBSERVE)
    run.go(3)
    view = view_of(run.context)
    found = propose_weights(run.context, view)
    assert found is not None
    shares = shares_of_cells(found.shapes[0].weights, run.epoch)
    assert shares == pytest.approx([0.25, 0.25, 0.5], rel=0.1)
    assert max(found.after) < max(found.before)


def observed(mode: Mode, periods: int = 4) -> SpreadRun:
    run = spread_run(Grid(1, 2), slow={1: 2.0}, settings=Control(mode=mode))
    run.go(periods)
    return run


def waiting_in(run: SpreadRun) -> Proposal:
    assert run.state.waiting is not None
    return run.state.waiting


def test_in_mode_observe_weights_stay_but_a_change_can_be_shown_and_applied() -> None:
    run = observed(Mode.OBSERVE)
    assert run.deployment.plan.number == 1
    shown = current_proposal(run.context).proposal
    assert shown is not None
    assert shown.is_reweighting
    assert is_applied(apply_proposal(run.deployment.plan, shown, run.deployment.network), shown)
    assert not is_applied(run.deployment.plan, shown)


def test_a_change_of_weights_has_a_reason_and_a_record() -> None:
    run = observed(Mode.AUTO)
    (record,) = [each for each in run.records if each.kind is PeriodOutcome.MOVED]
    assert record.reason.startswith("join j: node 1 is busy for ")
    assert "% of its capacity, and the nodes of the join for " in record.reason
    assert "of the pairs, j makes 66" in record.reason
    assert "j[1] makes 33.7% instead of 50.0%" in record.reason
    assert record_of(json.loads(json.dumps(to_json(record)))) == record
    assert record.proposal is not None
    assert str(record.proposal.shapes[0]).startswith("j: 1 x 2, rows by 1, columns by 0.66")
    for unit in ("j", "j[1]"):
        assert "j: 1 x 2, rows by 1" in explain(unit, run.context, run.records).decisions[0]
    assert run.state.weighed == {"j": record.period}
    assert run.state.moved == {}, "no cool-down, since nothing moved"


def test_in_mode_propose_weights_wait_to_be_applied() -> None:
    run = observed(Mode.PROPOSE, 12)
    first = next(record for record in run.records if record.kind is PeriodOutcome.PROPOSED)
    shown = waiting_in(run)
    assert shown == first.proposal, "the same proposal waits in every period"
    assert run.deployment.plan.number == 1
    state, record = approve(run.context, shown.id)
    assert record.kind is PeriodOutcome.MOVED
    run.state = state
    run.carry_out(apply_proposal(run.deployment.plan, shown, run.deployment.network))
    run.go(4)
    assert run.imbalance(3) <= MOST
    assert run.state.waiting is None


def test_a_waiting_change_of_weights_is_withdrawn_when_it_gains_nothing() -> None:
    run = observed(Mode.PROPOSE)
    shown = waiting_in(run)
    run.slow = {}
    records = run.go(8)
    assert run.state.waiting is None
    *_, last = [each.proposal for each in records if each.kind is PeriodOutcome.PROPOSED and each.proposal]
    assert any(f"{last.id} is withdrawn: other weights would gain too little now" in each.reason for each in records)
    with pytest.raises(DroverError, match="there is no proposal"):
        approve(run.context, shown.id)


def test_a_waiting_change_of_weights_does_not_hold_up_another_shape() -> None:
    run = auto_run(4, rates=(1000, 1000), load=0.5, slow={1: 2.0}, settings=Control(mode=Mode.PROPOSE, warm_up=2))
    run.carry_out(spread_join_as(run.deployment.plan, "j", (1, 2), run.context))
    run.carry_out(spread_join_as(run.deployment.plan, "j", "auto", run.context))
    run.go(4)
    assert waiting_in(run).is_reweighting
    run.load = 2.0
    run.go(8)
    assert waiting_in(run).shapes[0].after.cells > 2


def test_too_little_is_measured_of_a_whole_join_or_in_one_period() -> None:
    run = auto_run(2)
    run.go(3)
    join = spread_join(run.deployment.network, "j")
    assert pace_of_join(run.context, view_of(run.context), join) is None
    run = observed(Mode.OBSERVE, 1)
    assert pace_of_join(run.context, view_of(run.context), join) is None
