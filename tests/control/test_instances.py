from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.control.instances import _divide, _divide_links, _sizes, divide_spread_joins, shares_of
from drover.control.view import view_of
from drover.load.links import UnitLinks
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


def test_links_are_divided_by_what_instances_send_and_receive() -> None:
    """Unit 1 is the join. It sends in proportion to its work, and receives the part of its row or column."""
    links = UnitLinks(
        ("in", "out", "other", "table"),
        source=np.array([0, 1, 0, 2]),
        target=np.array([1, 2, 2, 1]),
        communication=np.array([[8.0], [10.0], [7.0], [3.0]]),
        bandwidth=np.array([[80.0], [100.0], [70.0], [30.0]]),
    )
    found = _divide_links(links, np.array([1, 3, 4]), np.array([0.5, 0.3, 0.2]), {"in": 0.25})
    rows = zip(
        found.streams,
        found.source.tolist(),
        found.target.tolist(),
        found.communication[:, 0].round(9).tolist(),
        found.bandwidth[:, 0].round(9).tolist(),
        strict=True,
    )
    assert list(rows) == [
        ("in", 0, 1, 2.0, 20.0),
        ("out", 1, 2, 5.0, 50.0),
        ("other", 0, 2, 7.0, 70.0),
        ("table", 2, 1, 3.0, 30.0),
        ("in", 0, 3, 2.0, 20.0),
        ("in", 0, 4, 2.0, 20.0),
        ("out", 3, 2, 3.0, 30.0),
        ("out", 4, 2, 2.0, 20.0),
        ("table", 2, 3, 3.0, 30.0),
        ("table", 2, 4, 3.0, 30.0),
    ]


def test_an_instance_has_the_size_of_its_newest_sample() -> None:
    window = window_of([1.0, 1.0], [1.0])
    (newest,) = window.periods[1].samples.values()
    assert newest.state_bytes == 10
    assert _sizes("j", 3, window).tolist() == [10.0, 20.0, 0.0]
    later = window.push(3, 1.0, {}, [Sample(own_name("j", 1), {}, {}, 1.0, 7)])
    assert _sizes("j", 3, later).tolist() == [10.0, 7.0, 0.0]


def test_units_of_a_divided_join_have_their_shares_of_everything() -> None:
    run = Joined(load=0.4)
    run.go(5)
    whole = view_of(run.context).problem
    j = whole.units.index("j")
    shares = np.tile([[0.5], [0.3], [0.2]], (1, whole.series.shape[1]))
    found = _divide(whole, "j", shares, {}, np.array([5.0, 6.0, 7.0]))
    assert found.units == ("some", "j", "j[1]", "j[2]")
    rows = [j, 2, 3]
    for k, share in enumerate([0.5, 0.3, 0.2]):
        assert found.series[rows[k]] == pytest.approx(share * whole.series[j])
        assert found.coefficients[rows[k]] == pytest.approx(share * whole.coefficients[j])
    assert found.state[rows].tolist() == [5.0, 6.0, 7.0]
    assert found.state[0] == whole.state[0]
    assert (found.series[0] == whole.series[0]).all()
    assert found.sticky[rows].tolist() == [whole.sticky[j]] * 3


def test_without_periods_instances_share_equally() -> None:
    run = Joined(load=0.4)
    run.go(5)
    whole = view_of(run.context).problem
    empty = replace(whole, series=np.empty((whole.m, 0)))
    found = _divide(empty, "j", np.empty((4, 0)), {}, np.zeros(4))
    assert found.coefficients[1:] == pytest.approx(np.tile(whole.coefficients[1] / 4, (4, 1)))
