"""The steps of a decision about a spread join, one by one; `test_diffuse.py` has whole runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.diffuse import (
    RECEIVE,
    JoinLoad,
    _loads_after,
    costs_of,
    demand_of,
    propose_reshape,
    reason_for,
    why_obsolete,
)
from drover.control.record import Reshape
from drover.control.settings import Mode
from drover.control.view import view_of
from drover.diffusion.cost import Demand
from drover.flow.instances import spread_join
from drover.load.sample import Sample
from drover.load.window import Window
from drover.network.grid import WHOLE, Grid
from tests.control.test_diffuse import AUTO, Joined, deployment_of


@pytest.mark.parametrize(
    ("load", "rates", "receive", "pair"),
    [
        pytest.param(0.5, (100.0, 50.0), RECEIVE, (0.5 - 150 * RECEIVE) / 10_000, id="receiving a row costs as usual"),
        pytest.param(150 * RECEIVE, (100.0, 50.0), RECEIVE / 2, 75 * RECEIVE / 10_000, id="at most half of the load"),
        pytest.param(0.5, (100.0, 0.0), 0.005, 0.0, id="without pairs, rows cost all"),
        pytest.param(0.5, (0.0, 0.0), 0.0, 0.0, id="without rows, nothing costs anything"),
    ],
)
def test_the_cost_of_rows_and_pairs(load: float, rates: tuple[float, float], receive: float, pair: float) -> None:
    found = costs_of(load, Demand(*rates, 1.0, 1.0), WHOLE)
    assert (found.receive, found.pair) == pytest.approx((receive, pair))


def test_every_copy_of_a_row_is_received() -> None:
    demand = Demand(100.0, 50.0, 1.0, 1.0)
    found = costs_of(0.5, demand, Grid(1, 3))  # the left rows go to three columns
    assert found.pair == pytest.approx((0.5 - 350 * RECEIVE) / demand.operations)


LOAD = JoinLoad(Demand(100.0, 400.0, 1.0, 1.0), 1.5)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param(
            Grid(1, 1),
            Grid(1, 2),
            "join j takes 1.5 busy seconds per second, more than 60% of the 0.9 that its nodes have for it: "
            "it is spread 1 x 2 instead of 1 x 1, on nodes 2, 0",
            id="it grows",
        ),
        pytest.param(
            Grid(2, 2),
            Grid(1, 2),
            "join j takes 1.5 busy seconds per second, less than 30% of the 1.7 that fewer nodes have for it: "
            "it is spread 1 x 2 instead of 2 x 2, on nodes 2, 0",
            id="it shrinks",
        ),
        pytest.param(
            Grid(2, 1),
            Grid(1, 2),
            "join j gets 100 and 400 rows per second: 1 x 2 copies 100 of them, 2 x 1 copies 400",
            id="it turns",
        ),
    ],
)
def test_the_reason_for_a_shape(before: Grid, after: Grid, says: str) -> None:
    assert reason_for(Reshape("j", before, after), LOAD, [0.9, 0.8], [2, 0]) == says


@pytest.mark.parametrize(
    ("weights", "after"),
    [
        pytest.param(((), ()), (0.85, 0.2, 1.0), id="equal cells"),
        pytest.param(((1.0,), (3.0, 1.0)), (0.475, 0.2, 1.375), id="in proportion to weights"),
    ],
)
def test_loads_after_a_reshape(weights: tuple[tuple[float, ...], tuple[float, ...]], after: tuple[float, ...]) -> None:
    shape = Reshape("j", WHOLE, Grid(1, 2), weights)
    free = JoinLoad(Demand(0.001, 0.001, 1000.0, 1000.0), 1.5)  # receiving so few rows costs nothing
    found = _loads_after(np.array([0.1, 0.1, 0.25]), np.array([1.0, 0.5, 1.0]), shape, [2, 0], free)
    assert found == pytest.approx(after, abs=1e-3)


def test_the_demand_of_a_join_is_the_mean_rate_of_both_sides() -> None:
    network = deployment_of().network
    join = spread_join(network, "j")
    window = Window(10)
    window = window.push(1, 2.0, {"a": 50.0, "b": 30.0}, [Sample("some", {"a": 50.0}, {"some": 20.0}, 0.1)])
    window = window.push(2, 3.0, {"a": 50.0}, [])
    found = demand_of(join, window.periods, network)
    assert (found.left_rate, found.right_rate) == (4.0, 6.0)


def test_a_shape_that_the_load_does_not_call_for_is_obsolete() -> None:
    run = Joined(settings=replace(AUTO, mode=Mode.OBSERVE), load=1.6)
    run.go(8)
    view = view_of(run.context)
    found = propose_reshape(run.context, view)
    assert found is not None
    (shape,) = found.shapes
    assert [(move.unit, move.source) for move in found.moves] == [("j[1]", None), ("j[2]", None)]
    assert found.gain == pytest.approx(max(found.before) - max(found.after))
    assert why_obsolete(run.context, view, found) is None
    turned = replace(found, shapes=(replace(shape, after=Grid(1, 5)),))
    assert why_obsolete(run.context, view, turned) == "the load no longer calls for j: 1 x 1 -> 1 x 5"
    gone = replace(found, shapes=(replace(shape, join="k"),))
    assert why_obsolete(run.context, view, gone) == f"the load no longer calls for k: 1 x 1 -> {shape.after}"


def test_a_decision_needs_a_few_periods() -> None:
    run = Joined(settings=replace(AUTO, mode=Mode.OBSERVE), load=1.6)
    proposals = []
    for _ in range(5):
        run.go(1)
        proposals.append(propose_reshape(run.context, view_of(run.context)) is not None)
    assert proposals == [False, False, False, True, True], "four periods of warm-up"
    placed = replace(run.context, state=replace(run.state, placed=True))
    counts = []
    for count in (2, 3):
        state = replace(placed.state, last_change=run.state.period - count + 1)
        context = replace(placed, state=state)
        counts.append(propose_reshape(context, view_of(context)) is not None)
    assert counts == [False, True], "three periods after a change of load"
