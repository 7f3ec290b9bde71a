from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.instances import divide_spread_joins, shares_of
from drover.control.view import view_of
from drover.load.sample import Sample, own_name
from drover.load.window import Window
from drover.network.grid import Grid
from tests.control.test_diffuse import Joined


def window_of(*periods: list[float]) -> Window:
    """A window in which the instances of j were busy for so long in each period."""
    window = Window(10)
    for number, busy in enumerate(periods, start=1):
        samples = [Sample(own_name("j", k), {}, {}, each, 10 * (k + 1)) for k, each in enumerate(busy)]
        window = window.push(number, 1.0, {}, samples)
    return window


@pytest.mark.parametrize(
    ("busy", "shares"),
    [
        pytest.param([1.0, 3.0], [0.25, 0.75], id="in proportion to busy time"),
        pytest.param([1.0, 0.0], [1.0, 0.0], id="an idle instance"),
        pytest.param([0.0, 0.0], [0.5, 0.5], id="all idle"),
        pytest.param([1.0], [0.5, 0.5], id="a sample is missing"),
        pytest.param([1.0, 3.0, 4.0], [0.5, 0.5], id="there were more instances then"),
    ],
)
def test_shares_of_instances(busy: list[float], shares: list[float]) -> None:
    assert shares_of("j", 2, window_of(busy)).tolist() == [[share] for share in shares]


def test_shares_period_by_period() -> None:
    assert shares_of("j", 2, window_of([1.0, 1.0], [1.0], [1.0, 4.0])).tolist() == [[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]]


def spread_run() -> Joined:
    run = Joined(load=1.6)
    run.go(16)
    assert run.grid.cells == 3
    return run


def test_a_join_is_divided_and_its_sums_are_kept() -> None:
    run = spread_run()
    divided = view_of(run.context).problem
    whole_plan = replace(run.deployment.plan, instances={})
    whole = view_of(replace(run.context, deployment=replace(run.deployment, plan=whole_plan))).problem
    assert whole.units == ("some", "j")
    assert divided.series[1:].sum(axis=0) == pytest.approx(whole.series[1])
    assert divided.coefficients[1:].sum(axis=0) == pytest.approx(whole.coefficients[1])
    assert divided.series[0] == pytest.approx(whole.series[0])
    assert divided.sticky[1:].tolist() == [whole.sticky[1]] * 3


def test_links_of_a_join_are_divided_among_its_instances() -> None:
    run = spread_run()
    problem = view_of(run.context).problem
    grid = run.grid
    left = [g for g, stream in enumerate(problem.links.streams) if stream == "some"]
    assert [int(problem.links.target[g]) for g in left] == [1, 2, 3]
    assert {int(problem.links.source[g]) for g in left} == {0}
    received = problem.links.bandwidth[left].sum() / grid.cells
    assert problem.links.bandwidth[left].sum(axis=1) == pytest.approx([received] * 3)


def test_each_row_of_a_grid_receives_its_part_of_the_left_stream() -> None:
    """In a grid of 3 x 1, each instance gets a third of the left rows; in one of 1 x 3, all of them."""
    run = spread_run()
    problems = {}
    for grid in (Grid(3, 1), Grid(1, 3)):
        spread = run.deployment.plan.instances["j"]
        epochs = (*spread.epochs[:-1], spread.epochs[-1]._replace(grid=grid))
        plan = replace(run.deployment.plan, instances={"j": replace(spread, epochs=epochs)})
        problems[grid] = view_of(replace(run.context, deployment=replace(run.deployment, plan=plan))).problem
    tall, wide = (problems[grid].links for grid in (Grid(3, 1), Grid(1, 3)))
    g = tall.streams.index("some")
    assert tall.bandwidth[g] == pytest.approx(wide.bandwidth[g] / 3)


def test_a_network_without_spread_joins_is_left_alone() -> None:
    run = Joined()
    run.go(5)
    problem = view_of(run.context).problem
    assert divide_spread_joins(problem, run.state.window, run.deployment.plan, run.deployment.network) is problem
    assert np.array_equal(problem.current, [run.deployment.plan.node_of[unit] for unit in problem.units])
