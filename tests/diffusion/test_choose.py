from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion.choose import Costs, cheapest, grids, pays, reshaped, size, split_one, weights_of
from drover.diffusion.cost import Demand, bandwidth, memory, operations, overhead, received
from drover.diffusion.epochs import LEFT, RIGHT, destinations
from drover.diffusion.split import turns
from drover.errors import DroverError
from drover.network.grid import Epoch, Grid

RATES = st.floats(0, 1e6)
DEMANDS = st.builds(Demand, RATES, RATES, st.floats(0, 1e3), st.floats(0, 1e3))
EVEN = Demand(10.0, 10.0, 10.0, 10.0)


@given(DEMANDS, st.integers(1, 40))
def test_formulas_of_one_split_stream_are_the_texts(demand: Demand, k: int) -> None:
    grid = Grid(k, 1)  # the left stream is the master
    assert overhead(grid, demand) == pytest.approx((k - 1) * demand.right_rate)
    alone, spread = memory(Grid(1, 1), demand), memory(grid, demand)
    assert alone - spread == pytest.approx((k - 1) / k * demand.left_rate * demand.left_window, abs=1e-6 * (1 + alone))
    saved = bandwidth(Grid(1, 1), demand) - bandwidth(grid, demand)
    assert saved == pytest.approx((k - 1) / k * demand.left_rate, abs=1e-6)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 60), st.integers(1, 60))
def test_copies_are_what_the_formula_says(rows: int, columns: int, left: int, right: int) -> None:
    grid, demand = Grid(rows, columns), Demand(left, right, 1, 1)
    sent = [destinations(turns(n, 0), side, (Epoch(0, grid),)).sum() for n, side in ((left, LEFT), (right, RIGHT))]
    assert sum(sent) == received(grid, demand) == pytest.approx(overhead(grid, demand) + left + right)
    assert operations(grid, demand) * grid.cells == pytest.approx(demand.operations)


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


COSTS = Costs(receive=0.001, pair=0.0001)


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
    dear = Costs(receive=0.005, pair=0.01)
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
    "wrong",
    [
        lambda: Demand(-1, 0, 0, 0),
        lambda: Demand(0, float("nan"), 0, 0),
        lambda: Costs(-1, 0),
        lambda: list(grids(0)),
        lambda: size(EVEN, COSTS, []),
        lambda: size(EVEN, COSTS, [1.0], fill=0),
        lambda: weights_of([1.0], Grid(2, 2)),
    ],
)
def test_what_cannot_be_is_refused(wrong: object) -> None:
    with pytest.raises(DroverError, match=r", but "):
        wrong()  # type: ignore[operator]  # a table of calls
