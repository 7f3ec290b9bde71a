"""Choices for a diffused join: the cheapest grid, when to change it, and how many nodes to use.

Rule 1: pure functions of measured rates, windows, costs and free capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.diffusion.cost import Demand, memory, overhead, received
from drover.diffusion.epochs import splits_by_row
from drover.diffusion.split import shares_of
from drover.errors import DroverError
from drover.load.arrays import Floats
from drover.network.grid import MOST_CELLS, WHOLE, Epoch, Grid

Weights = tuple[tuple[float, ...], tuple[float, ...]]  # of rows, and of columns or of the cells of each row
HIGH: Final = 0.8  # fraction of their capacity above which the nodes of a join are overloaded


@dataclass(frozen=True, slots=True)
class JoinCosts:
    """Busy seconds for receiving one row, and for comparing one pair of rows that are close in time."""

    receive: float
    pair: float

    def __post_init__(self) -> None:
        """Refuse costs that are negative or infinite."""
        for name in ("receive", "pair"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise DroverError(
                    f"{name} is {getattr(self, name)}, but a cost must be finite and at least 0. Set it to 0 or more."
                )


@dataclass(frozen=True, slots=True)
class Sizing:
    """The recommended grid of a join, and the fraction of its pairs that the grid can make."""

    grid: Grid
    carried: float  # fraction of the pairs, from 0 to 1
    overhead: float  # extra rows per second

    @property
    def nodes(self) -> int:
        """The number of nodes: one per cell."""
        return self.grid.cells


def grids(cells: int) -> Iterator[Grid]:
    """Yield all grids with exactly this number of cells, fewest rows first."""
    if not 1 <= cells <= MOST_CELLS:
        raise DroverError(f"cells is {cells}, but a grid has 1 to {MOST_CELLS} cells. Use a number in that range.")
    yield from (Grid(rows, cells // rows) for rows in range(1, cells + 1) if cells % rows == 0)


def cheapest(cells: int, demand: Demand, room: float | None = None) -> Grid:
    """Return the grid with this number of cells and the fewest copies; ties go to the least memory per cell.

    `room` is the number of rows that a cell can hold. If no grid fits into it, the grid that needs least memory is
    returned.
    """
    found = list(grids(cells))
    if room is not None:
        fitting = [grid for grid in found if memory(grid, demand) <= room]
        if not fitting:
            return min(found, key=lambda grid: (memory(grid, demand), overhead(grid, demand)))
        found = fitting
    return min(found, key=lambda grid: (overhead(grid, demand), memory(grid, demand), grid.columns))


def split_one(cells: int, demand: Demand) -> Grid:
    """Return the grid that splits one stream, as in the text: it splits the faster stream and copies the slower one."""
    return Grid(cells, 1) if demand.left_rate >= demand.right_rate else Grid(1, cells)


def size(demand: Demand, costs: JoinCosts, free: Sequence[float] | Floats, *, fill: float = HIGH) -> Sizing:
    """Return how many nodes a join should use: the fewest that carry it, or those that carry most of it.

    `free` is the free capacity of each node in busy seconds per second, (n,). The freest nodes are used first, up to
    the fraction `fill` of their free capacity. Receiving copies uses capacity, too, so that more cells do not always
    carry more.
    """
    left = np.sort(np.asarray(free, dtype=np.float64))[::-1]
    if not len(left) or not np.isfinite(left).all() or (left < 0).any() or not 0 < fill <= 1:
        raise DroverError(
            f"free is {list(free)} and fill is {fill}, but free needs one number of at least 0 per node, and fill must "
            "be above 0 and at most 1. Correct these values."
        )
    best: Sizing | None = None
    for cells in range(1, min(len(left), MOST_CELLS) + 1):
        grid = cheapest(cells, demand)
        share = carried(grid, demand, costs, fill * float(left[:cells].sum()))
        # Strictly better only: of two that carry the same, the smaller one makes fewer copies.
        if best is None or share > best.carried:
            best = Sizing(grid, share, overhead(grid, demand))
        if share == 1.0:
            break
    assert best is not None, "there is at least one node"
    return best


def carried(grid: Grid, demand: Demand, costs: JoinCosts, capacity: float) -> float:
    """Return the fraction of the pairs that a grid can make with this total capacity of its nodes."""
    work = demand.operations * costs.pair
    room = capacity - received(grid, demand) * costs.receive
    # Receiving comes first: rows must arrive before they can be compared, so pairs get what it leaves.
    return 1.0 if room >= work else room / work if room > 0 else 0.0


def pays(present: Grid, proposed: Grid, demand: Demand, payback: float) -> bool:
    """Return whether a change of the grid saves more within `payback` seconds than it costs.

    For the length of a window, rows go to the cells of both grids. After that, the difference in copies is saved.
    """
    saved = overhead(present, demand) - overhead(proposed, demand)
    lasting = max(demand.left_window, demand.right_window)
    return saved * max(payback - lasting, 0.0) > received(proposed, demand) * lasting


def reshaped(present: Grid, demand: Demand, payback: float) -> Grid:
    """Return the cheapest grid with the same number of cells if the change pays; otherwise the current grid."""
    best = cheapest(present.cells, demand)
    return best if best != present and pays(present, best, demand, payback) else present


def weights_of(free: Sequence[float] | Floats, grid: Grid = WHOLE) -> tuple[Floats, Floats]:
    """Return the weights of rows, (r,), and of columns, (c,), from the free capacity of each cell, (r * c,).

    The load of cell (i, j) is the product of its two shares. So a single row or column is split exactly by capacity. A
    grid is split exactly only if the cells within each row and within each column are alike.
    """
    values = np.asarray(free, dtype=np.float64)
    if values.shape != (grid.cells,) or not np.isfinite(values).all() or (values < 0).any():
        raise DroverError(
            f"free is {list(free)}, but a grid of {grid} needs {grid.cells} numbers of at least 0. "
            "Set one number per cell."
        )
    table = values.reshape(grid)
    return table.sum(axis=1), table.sum(axis=0)


def weights_by_row(free: Sequence[float] | Floats, grid: Grid) -> Weights:
    """Return the weights of rows, (r,), and those of columns within each row, (r * c,), from those of cells, (r * c,).

    They split every grid exactly. In a single row or column, there is one weight for each column, (c,).
    """
    rows, columns = weights_of(free, grid)
    if splits_by_row(grid):
        columns = np.asarray(free, dtype=np.float64)
    return tuple(rows.tolist()), tuple(columns.tolist())


def shares_of_cells(weights: Weights, epoch: Epoch) -> Floats:
    """Return the share of the pairs that each cell makes with these weights, (r * c,); equal if they do not fit."""
    grid = epoch.grid
    rows, columns = weights
    first = shares_of(rows) if len(rows) == grid.rows else np.full(grid.rows, 1 / grid.rows)
    if epoch.by_row and len(columns) == grid.cells:
        within = np.array([shares_of(row) for row in np.reshape(columns, grid)])
    elif not epoch.by_row and len(columns) == grid.columns:
        within = np.tile(shares_of(columns), (grid.rows, 1))
    else:
        within = np.full(grid, 1 / grid.columns)
    return np.asarray((first[:, None] * within).ravel())
