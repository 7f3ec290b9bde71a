from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.context import ControlContext
from drover.control.state import ControlState
from drover.control.view import View, detect_change, view_of
from drover.load.window import Window
from drover.placement.problem import NOWHERE
from tests.control.problems import problem
from tests.control.runs import AUTO, shifted, start


def test_a_view_starts_from_the_current_plan_and_the_last_window() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4, noise=0.0)
    run.go(15)
    view = view_of(run.context)
    assert view.problem.series.shape == (20, 10)
    assert dict(zip(view.problem.units, view.problem.current.tolist(), strict=True)) == run.deployment.plan.node_of
    assert view.problem.state.tolist() == [1000.0] * 20
    assert view.loads(view.problem.current) == pytest.approx(tuple(run.loads), rel=0.05)
    assert view.measured == 1.0


def test_periods_before_a_change_of_load_are_left_out() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.2)
    run.go(30, shifted(26, 0, 3.0))
    assert run.state.last_change == 27
    assert view_of(run.context).problem.series.shape[1] == 4
    assert detect_change(run.context) == run.state, "the same change is not seen twice"


def test_a_change_is_detected_in_the_newest_periods() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.2)
    run.go(26)
    for _ in range(2):
        run.measure(shifted(26, 0, 3.0))
    assert run.state.last_change == 0
    assert detect_change(run.context).last_change == 27


def test_costs_of_idle_operators_come_from_the_longer_memory() -> None:
    run = start(nodes=2, count=2, plan="whole", load=0.4)
    run.go(5)
    idle = [
        replace(period, number=5 + k, samples={}, sources=dict.fromkeys(period.sources, 0.0))
        for k, period in enumerate(run.state.window.periods[:3], start=1)
    ]
    window = Window(run.state.window.length, (*run.state.window.periods, *idle))
    context = replace(run.context, state=replace(run.state, window=window), settings=replace(run.settings, window=3))
    view = view_of(context)
    assert view.measured == 1.0
    assert view.profile.costs["s0-0"] == pytest.approx(run.profile.costs["s0-0"], rel=0.2)


def test_assumed_costs_are_counted() -> None:
    run = start(nodes=2, count=1)
    run.go(1)
    (period,) = run.state.window.periods
    some = {name: sample for name, sample in period.samples.items() if name in {"s0-0", "s0-1"}}
    window = Window(60, (replace(period, samples=some),))
    assert view_of(replace(run.context, state=ControlState(window))).measured == 0.2


@pytest.mark.parametrize(
    ("closed", "pins", "pinned", "open_nodes"),
    [
        pytest.param(set(), {}, NOWHERE, [0, 1], id="no rule"),
        pytest.param({1}, {}, NOWHERE, [0], id="a closed node is forbidden"),
        pytest.param(set(), {"s0-0": 1}, 1, [0, 1], id="a pin"),
        pytest.param({1}, {"s0-0": 1}, NOWHERE, [0], id="a pin to a closed node has no effect"),
        pytest.param(set(), {"s0-0": 2}, NOWHERE, [0, 1], id="a pin to a missing node has no effect"),
        pytest.param({0, 1}, {"s0-0": 1}, NOWHERE, [0, 1], id="with every node closed there are no rules"),
    ],
)
def test_rules_of_the_problem(closed: set[int], pins: dict[str, int], pinned: int, open_nodes: list[int]) -> None:
    run = start(nodes=2, count=1, settings=replace(AUTO, pins=pins))
    run.go(1)
    deployment = replace(run.deployment, closed=frozenset(closed))
    found = view_of(ControlContext(run.state, deployment, run.settings)).problem
    assert found.pinned[found.units.index("s0-0")] == pinned
    assert np.flatnonzero(found.allowed[0]).tolist() == open_nodes


def view_with(series: list[list[float]]) -> View:
    run = start(nodes=2, count=1)
    run.go(1)
    return replace(view_of(run.context), problem=problem(series, [0, 1]))


@pytest.mark.parametrize(
    ("series", "errors", "overloaded"),
    [
        pytest.param([[1.2, 1.2], [0.1, 0.1]], 4.0, True, id="surely above its capacity"),
        pytest.param([[1.0, 1.0], [0.1, 0.1]], 0.0, False, id="just full"),
        pytest.param([[0.6, 1.6], [0.1, 0.1]], 0.0, True, id="above in the mean"),
        pytest.param([[0.6, 1.6], [0.1, 0.1]], 1.0, False, id="above in the mean, but not surely"),
    ],
)
def test_overloaded(series: list[list[float]], errors: float, overloaded: bool) -> None:
    assert view_with(series).overloaded(errors) is overloaded


def test_loads_and_spread_of_a_plan() -> None:
    view = view_with([[0.6, 0.4], [0.1, 0.1]])
    assert view.loads(np.array([0, 1])) == (0.5, 0.1)
    assert view.loads(np.array([0, 0])) == (0.6, 0.0)
    assert view.loads(np.array([NOWHERE, 1])) == (0.0, 0.1)
    assert view.spread(np.array([0, 1])) == pytest.approx(0.4)


def test_nodes_that_share_cores_are_overloaded_one_by_one_or_together() -> None:
    view = replace(view_with([[0.6, 0.6], [0.1, 0.1]]), share=0.5)
    halves = replace(view.problem, capacity=np.array([0.5, 0.5]))
    assert not replace(view, problem=halves).overloaded(0.0), "the other node leaves it more than half of the core"
    assert replace(view, problem=halves, share=1.0).overloaded(0.0)
    assert replace(view, problem=replace(halves, series=2 * halves.series)).overloaded(0.0), "1.4 on one core"
