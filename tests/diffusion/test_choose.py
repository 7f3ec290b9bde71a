from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion.choose import (
    JoinCosts,
    Weights,
    carried,
    cheapest,
    grids,
    pays,
    reshaped,
    shares_of_cells,
    size,
    split_one,
    weights_by_row,
    weights_of,
)
from drover.diffusion.cost import Demand, memory, overhead, received
from drover.errors import DroverError
from drover.network.grid import MOST_CELLS, Epoch, Grid

RATES = st.floats(0, 1e6)
DEMANDS = st.builds(Demand, RATES, RATES, st.floats(0, 1e3), st.floats(0, 1e3))
EVEN = Demand(10.0, 10.0, 10.0, 10.0)


@given(DEMANDS, st.integers(1, 60))
def test_the_cheapest_grid_is_never_dearer_than_splitting_one_stream(demand: Demand, k: int) -> None:
    best = cheapest(k, demand)
    assert best.cells == k
    assert overhead(best, demand) == min(overhead(grid, demand) for grid in grids(k))
    assert overhead(best, demand) <= overhead(split_one(k, demand), demand)


@pytest.mark.parametrize(
    ("cells", "demand", "grid"),
    [
        pytest.param(16, EVEN, Grid(4, 4), id="equal rates make a square"),
        pytest.param(12, Demand(30, 10, 1, 1), Grid(6, 2), id="the faster stream is split more often"),
        pytest.param(4, Demand(100, 1, 1, 1), Grid(4, 1), id="a slow stream is copied everywhere"),
        pytest.param(4, Demand(1, 100, 1, 1), Grid(1, 4), id="whichever it is"),
        pytest.param(7, EVEN, Grid(7, 1), id="a prime number splits one"),
        pytest.param(1, EVEN, Grid(1, 1), id="one is one"),
    ],
)
def test_cheapest(cells: int, demand: Demand, grid: Grid) -> None:
    assert cheapest(cells, demand) == grid


def test_a_grid_that_fits_is_taken_before_a_cheaper_one() -> None:
    demand = Demand(100, 40, 1, 100)  # copying the slow side needs its whole window in every cell
    assert cheapest(4, demand) == Grid(4, 1)
    assert cheapest(4, demand, room=2100) == Grid(2, 2)
    assert cheapest(4, demand, room=1) == Grid(1, 4), "none fits: the one that needs least"


COSTS = JoinCosts(receive=0.001, pair=0.0001)


@pytest.mark.parametrize(
    ("demand", "free", "grid", "carried"),
    [
        pytest.param(EVEN, [1.0] * 8, Grid(1, 1), 1.0, id="a small join stays whole"),
        pytest.param(Demand(100, 100, 1, 1), [1.0] * 8, Grid(3, 1), 1.0, id="the fewest nodes that carry it"),
        pytest.param(Demand(100, 100, 1, 1), [0.1] * 2, Grid(1, 1), 0.0, id="no more nodes if copies eat them up"),
    ],
)
def test_size(demand: Demand, free: list[float], grid: Grid, carried: float) -> None:
    found = size(demand, COSTS, free)
    assert (found.grid, found.nodes) == (grid, grid.cells)
    assert found.carried == pytest.approx(carried)


def test_more_nodes_than_pay_are_not_taken() -> None:
    dear = JoinCosts(receive=0.005, pair=0.01)
    demand = Demand(100, 100, 10, 10)
    found = size(demand, dear, [1.0] * 7)
    useful = [0.8 * k - received(cheapest(k, demand), demand) * dear.receive for k in range(1, 8)]
    assert found.nodes == 1 + int(np.argmax(useful)) == 6, "7 is a prime: six more copies of every row"


@given(DEMANDS, st.integers(1, 12), st.floats(0, 1e4))
def test_a_change_of_shape_saves_copies(demand: Demand, k: int, payback: float) -> None:
    for grid in grids(k):
        after = reshaped(grid, demand, payback)
        assert after == grid or overhead(after, demand) < overhead(grid, demand)


def test_a_change_has_to_pay_for_the_time_with_both_shapes() -> None:
    demand = Demand(20, 10, 10, 10)
    assert pays(Grid(1, 5), Grid(5, 1), demand, payback=100)
    assert not pays(Grid(1, 5), Grid(5, 1), demand, payback=20)
    assert reshaped(Grid(1, 5), demand, 100) == Grid(5, 1)


def test_weights_follow_free_capacity() -> None:
    rows, columns = weights_of([1, 2, 3, 4, 5, 6], Grid(2, 3))
    assert (rows.tolist(), columns.tolist()) == ([6, 15], [5, 7, 9])


@pytest.mark.parametrize(
    ("epoch", "weights"),
    [
        pytest.param(Epoch(0, Grid(2, 2), by_row=True), ((3.0, 7.0), (1.0, 2.0, 3.0, 4.0)), id="columns of every row"),
        pytest.param(Epoch(0, Grid(1, 4)), ((10.0,), (1.0, 2.0, 3.0, 4.0)), id="one row"),
        pytest.param(Epoch(0, Grid(4, 1)), ((1.0, 2.0, 3.0, 4.0), (10.0,)), id="one column"),
    ],
)
def test_weights_by_row_split_any_grid_exactly(epoch: Epoch, weights: Weights) -> None:
    cells = [1.0, 2.0, 3.0, 4.0]
    assert weights_by_row(cells, epoch.grid) == weights
    assert shares_of_cells(weights, epoch) == pytest.approx(np.array(cells) / 10)


def test_weights_of_another_shape_do_not_count() -> None:
    for epoch in (Epoch(0, Grid(2, 2), by_row=True), Epoch(0, Grid(2, 2))):
        assert shares_of_cells(((), ()), epoch).tolist() == [0.25] * 4
    assert shares_of_cells(((3.0, 1.0), (1.0, 2.0, 3.0)), Epoch(0, Grid(2, 2))).tolist() == [0.375, 0.375, 0.125, 0.125]
    plain = shares_of_cells(((1.0, 1.0), (3.0, 1.0)), Epoch(0, Grid(2, 2)))
    assert plain.tolist() == [0.375, 0.125, 0.375, 0.125]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Demand(-1, 0, 0, 0),
        lambda: Demand(0, float("nan"), 0, 0),
        lambda: JoinCosts(-1, 0),
        lambda: list(grids(0)),
        lambda: size(EVEN, COSTS, []),
        lambda: size(EVEN, COSTS, [1.0], fill=0),
        lambda: weights_of([1.0], Grid(2, 2)),
    ],
)
def test_what_cannot_be_is_refused(wrong: object) -> None:
    with pytest.raises(DroverError, match=r", but "):
        wrong()  # type: ignore[operator]  # a table of calls


@pytest.mark.parametrize("cost", [0.0, 1e-6])
def test_costs_of_nothing_are_allowed(cost: float) -> None:
    assert JoinCosts(cost, cost).receive == cost


@pytest.mark.parametrize("cost", [-1e-9, float("inf"), float("nan")])
def test_impossible_costs_are_refused(cost: float) -> None:
    with pytest.raises(DroverError, match="pair is"):
        JoinCosts(0.0, cost)


def test_the_largest_grid_is_allowed_and_a_larger_one_is_not() -> None:
    assert next(grids(MOST_CELLS)) == Grid(1, MOST_CELLS)
    with pytest.raises(DroverError, match="cells is"):
        next(grids(MOST_CELLS + 1))


def test_the_cheapest_grid_fits_into_memory() -> None:
    demand = Demand(100.0, 1.0, 10.0, 10.0)
    tall = Grid(4, 1)
    wide = Grid(1, 4)
    assert cheapest(4, demand) == tall
    assert cheapest(4, demand, memory(tall, demand)) == tall, "exactly full is allowed"
    lopsided = Demand(10.0, 1.0, 0.1, 1000.0)
    assert cheapest(4, lopsided, memory(wide, lopsided)) == wide, "the copies of the other grid do not fit"
    assert cheapest(4, lopsided, 0.0) == wide, "none fits: the one that needs least"
    assert cheapest(4, Demand(10.0, 1.0, 1000.0, 0.1), 0.0) == tall


@pytest.mark.parametrize(
    ("left", "right", "grid"),
    [(5.0, 2.0, Grid(3, 1)), (2.0, 5.0, Grid(1, 3)), (2.0, 2.0, Grid(3, 1))],
    ids=["left is faster", "right is faster", "left on a tie"],
)
def test_one_stream_is_split(left: float, right: float, grid: Grid) -> None:
    assert split_one(3, Demand(left, right, 1.0, 1.0)) == grid


def test_the_freest_nodes_are_used_first() -> None:
    costs = JoinCosts(0.0, 0.5 / EVEN.operations)  # half a core
    found = size(EVEN, costs, [0.1, 1.0, 0.2])
    assert (found.nodes, found.carried, found.overhead) == (1, 1.0, 0.0)
    spread = size(EVEN, costs, [0.3, 0.4, 0.2])
    assert spread.nodes == 2
    assert spread.overhead == overhead(spread.grid, EVEN)


@pytest.mark.parametrize(
    ("free", "fill", "fine"),
    [
        pytest.param([0.0, 1.0], 0.5, True, id="a full node"),
        pytest.param([1.0], 1.0, True, id="fill everything"),
        pytest.param([1.0], 1.5, False, id="fill too much"),
        pytest.param([1.0], 0.0, False, id="fill nothing"),
        pytest.param([float("nan")], 0.5, False, id="no number"),
        pytest.param([float("inf")], 0.5, False, id="infinite"),
        pytest.param([-1.0], 0.5, False, id="negative"),
        pytest.param([], 0.5, False, id="no node"),
    ],
)
def test_free_capacities(free: list[float], fill: float, fine: bool) -> None:
    costs = JoinCosts(0.0, 0.0)
    if fine:
        assert size(EVEN, costs, free, fill=fill).carried == 1.0
    else:
        with pytest.raises(DroverError, match="free is"):
            size(EVEN, costs, free, fill=fill)


def test_the_carried_fraction() -> None:
    grid = Grid(1, 1)
    pairs = JoinCosts(0.0, 1.0 / EVEN.operations)
    assert carried(grid, EVEN, pairs, 0.5) == pytest.approx(0.5)
    assert carried(grid, EVEN, pairs, 2.0) == 1.0
    rows = JoinCosts(1.0 / received(grid, EVEN), 0.0)
    assert carried(grid, EVEN, rows, 1.0) == 1.0, "there are no pairs to make"
    assert carried(grid, EVEN, rows, 0.5) == 0.0, "not even the rows can be received"


def test_a_change_does_not_pay_before_its_windows_are_over() -> None:
    demand = Demand(1000.0, 1.0, 0.1, 0.1)
    assert pays(Grid(1, 4), Grid(4, 1), demand, 10.0)
    assert not pays(Grid(1, 4), Grid(4, 1), demand, 0.05)


@pytest.mark.parametrize("free", [[0.0, 0.5], [0.0, 0.0]])
def test_weights_may_be_small_or_nothing(free: list[float]) -> None:
    rows, columns = weights_of(free, Grid(2, 1))
    assert rows.tolist() == free
    assert columns.tolist() == [sum(free)]


@pytest.mark.parametrize("free", [[1.0], [float("nan"), 1.0], [float("inf"), 1.0], [-1.0, 1.0]])
def test_impossible_weights_are_refused(free: list[float]) -> None:
    with pytest.raises(DroverError, match="2 numbers of at least 0"):
        weights_of(free, Grid(2, 1))
