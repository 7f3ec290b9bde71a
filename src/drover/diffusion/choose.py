"""Choosing: the cheapest grid, when to change it, and how many nodes a join should get.

Rule 1: functions of measured rates, windows, costs and free capacity; nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.diffusion.cost import Demand, memory, overhead, received
from drover.errors import DroverError
from drover.load.arrays import Floats
from drover.network.grid import MOST_CELLS, WHOLE, Grid

HIGH: Final = 0.8  # share of their capacity above which nodes of a join are overloaded


@dataclass(frozen=True, slots=True)
class Costs:
    """Busy seconds: of receiving one row, and of looking at one pair of rows that are close in time."""

    receive: float
    pair: float

    def __post_init__(self) -> None:
        """Refuse what costs less than nothing."""
        for name in ("receive", "pair"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise DroverError(
                    f"{name} is {getattr(self, name)}, but a cost is finite and not negative. Give 0 or more."
                )


@dataclass(frozen=True, slots=True)
class Sizing:
    """How many nodes a join should get, in which grid, and what share of its pairs they can make."""

    grid: Grid
    carried: float  # share of the pairs, from 0 to 1
    overhead: float  # extra rows per second

    @property
    def nodes(self) -> int:
        """As many as there are cells."""
        return self.grid.cells


def grids(cells: int) -> Iterator[Grid]:
    """Yield all grids of exactly so many cells, fewest rows first."""
    if not 1 <= cells <= MOST_CELLS:
        raise DroverError(f"cells is {cells}, but a grid has 1 to {MOST_CELLS} of them. Give a number in between.")
    yield from (Grid(rows, cells // rows) for rows in range(1, cells + 1) if cells % rows == 0)


def cheapest(cells: int, demand: Demand, room: float | None = None) -> Grid:
    """Return the grid of so many cells with the fewest copies; of equal ones, the one whose cells need least memory.

    `room` is how many rows a cell can keep: grids that need more are taken only if all do, the one that needs least.
    """
    found = list(grids(cells))
    if room is not None:
        fitting = [grid for grid in found if memory(grid, demand) <= room]
        if not fitting:
            return min(found, key=lambda grid: (memory(grid, demand), overhead(grid, demand)))
        found = fitting
    return min(found, key=lambda grid: (overhead(grid, demand), memory(grid, demand), grid.columns))


def split_one(cells: int, demand: Demand) -> Grid:
    """Return the grid that splits one stream, as the text does: the faster one, so that the slower one is copied."""
    return Grid(cells, 1) if demand.left_rate >= demand.right_rate else Grid(1, cells)


def size(demand: Demand, costs: Costs, free: Sequence[float] | Floats, *, fill: float = HIGH) -> Sizing:
    """Return how many of the nodes a join should get: the fewest that carry it, or those that carry most.

    `free` is the capacity in busy seconds per second that each node has left, (n,); the freest are taken first, and of
    it the share `fill` may be used. What is carried is what receiving leaves for pairs, so copies count against it.
    """
    left = np.sort(np.asarray(free, dtype=np.float64))[::-1]
    if not len(left) or not np.isfinite(left).all() or (left < 0).any() or not 0 < fill <= 1:
        raise DroverError(
            f"free is {list(free)} and fill {fill}, but there is a node, free capacity is not negative, and fill is "
            "above 0 and at most 1. Correct what is not so."
        )
    best: Sizing | None = None
    for cells in range(1, min(len(left), MOST_CELLS) + 1):
        grid = cheapest(cells, demand)
        share = carried(grid, demand, costs, fill * float(left[:cells].sum()))
        if best is None or share > best.carried:
            best = Sizing(grid, share, overhead(grid, demand))
        if share == 1.0:
            break
    assert best is not None, "there is at least one node"
    return best


def carried(grid: Grid, demand: Demand, costs: Costs, capacity: float) -> float:
    """Return the share of the pairs that a grid makes if its nodes have so much capacity for it together."""
    work = demand.operations * costs.pair
    room = capacity - received(grid, demand) * costs.receive
    return 1.0 if room >= work else room / work if room > 0 else 0.0


def pays(present: Grid, proposed: Grid, demand: Demand, payback: float) -> bool:
    """Return whether a change of shape wins back within `payback` seconds what it costs.

    For as long as a window lasts, rows go to the cells of both grids; from then on the difference in copies is saved.
    """
    saved = overhead(present, demand) - overhead(proposed, demand)
    lasting = max(demand.left_window, demand.right_window)
    return saved * max(payback - lasting, 0.0) > received(proposed, demand) * lasting


def reshaped(present: Grid, demand: Demand, payback: float) -> Grid:
    """Return the cheapest grid of as many cells, if changing to it pays; else the present one."""
    best = cheapest(present.cells, demand)
    return best if best != present and pays(present, best, demand, payback) else present


def weights_of(free: Sequence[float] | Floats, grid: Grid = WHOLE) -> tuple[Floats, Floats]:
    """Return the weights of rows, (r,), and of columns, (c,), from the free capacity of each cell, (r * c,).

    The load of cell (i, j) is the product of both shares: so a single row or column is split exactly by capacity, and a
    grid by the best that rows and columns can do for cells that are alike within them.
    """
    values = np.asarray(free, dtype=np.float64)
    if values.shape != (grid.cells,) or not np.isfinite(values).all() or (values < 0).any():
        raise DroverError(
            f"free is {list(free)}, but a grid of {grid} has {grid.cells} cells with capacity that is not negative. "
            "Give one number for each."
        )
    table = values.reshape(grid)
    return table.sum(axis=1), table.sum(axis=0)
