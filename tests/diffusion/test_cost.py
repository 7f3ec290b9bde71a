from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion.cost import Demand, bandwidth, memory, operations, overhead, received
from drover.diffusion.epochs import LEFT, RIGHT, destinations
from drover.diffusion.split import cyclic_draws
from drover.errors import DroverError
from drover.network.grid import Epoch, Grid

RATES = st.floats(0, 1e6)


DEMANDS = st.builds(Demand, RATES, RATES, st.floats(0, 1e3), st.floats(0, 1e3))


@given(DEMANDS, st.integers(1, 40))
def test_formulas_of_one_split_stream_are_the_texts(demand: Demand, k: int) -> None:
    grid = Grid(k, 1)  # the left stream is the master
    assert overhead(grid, demand) == pytest.approx((k - 1) * demand.right_rate)
    alone = memory(Grid(1, 1), demand)
    spread = memory(grid, demand)
    assert alone - spread == pytest.approx((k - 1) / k * demand.left_rate * demand.left_window, abs=1e-6 * (1 + alone))
    saved = bandwidth(Grid(1, 1), demand) - bandwidth(grid, demand)
    assert saved == pytest.approx((k - 1) / k * demand.left_rate, abs=1e-6)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 60), st.integers(1, 60))
def test_copies_are_what_the_formula_says(rows: int, columns: int, left: int, right: int) -> None:
    grid = Grid(rows, columns)
    demand = Demand(left, right, 1, 1)
    sent = [
        destinations(cyclic_draws(n, 0), side, (Epoch(0, grid),)).sum() for n, side in ((left, LEFT), (right, RIGHT))
    ]
    assert sum(sent) == received(grid, demand) == pytest.approx(overhead(grid, demand) + left + right)
    assert operations(grid, demand) * grid.cells == pytest.approx(demand.operations)


DEMAND = Demand(left_rate=60.0, right_rate=20.0, left_window=2.0, right_window=5.0)
GRID = Grid(3, 2)


def test_the_costs_of_a_grid_that_anyone_can_check() -> None:
    assert overhead(GRID, DEMAND) == 1 * 60.0 + 2 * 20.0
    assert received(GRID, DEMAND) == 2 * 60.0 + 3 * 20.0
    assert bandwidth(GRID, DEMAND) == 60.0 / 3 + 20.0 / 2
    assert bandwidth(GRID, DEMAND, 100.0) == 3000.0
    assert memory(GRID, DEMAND) == 120.0 / 3 + 100.0 / 2
    assert memory(GRID, DEMAND, 10.0) == 900.0
    assert DEMAND.operations == 60.0 * 20.0 * 7.0
    assert operations(GRID, DEMAND) == pytest.approx(60.0 * 20.0 * 7.0 / 6)


@pytest.mark.parametrize("field", ["left_rate", "right_rate", "left_window", "right_window"])
@pytest.mark.parametrize("value", [-1.0, float("inf"), float("nan")])
def test_impossible_demands_are_refused(field: str, value: float) -> None:
    given = {"left_rate": 0.0, "right_rate": 0.0, "left_window": 0.0, "right_window": 0.0}
    Demand(**given)
    with pytest.raises(DroverError, match=f"{field} is {value}"):
        Demand(**given | {field: value})
