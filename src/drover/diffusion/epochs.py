"""Epochs: the grid of a join changes while it runs, and every pair is still made exactly once.

The rule, for any change at any time: a row goes to the cells of its row (for the right stream: columns) in the current
epoch *and in every older epoch that still has rows in a window*. A pair belongs to the older of the two epochs in which
its rows arrived, and only the cell at the crossing of its row and column in that epoch makes it.

Why no pair is missing: let x arrive in epoch e and y in epoch f >= e. Both go to their cells in e: x because e is its
own epoch, and y because x is still in the window when y arrives, so that e is live. Their row and column cross in one
cell of e, and both rows are there. Why no pair is made twice: no other cell makes it.

Rule 1: live epochs are a tuple, oldest first, with increasing numbers; the last one is the current epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from drover.diffusion.split import Draws, digit_of, part_of
from drover.errors import DroverError
from drover.load.arrays import Flags, Ints
from drover.network.grid import WHOLE, Epoch, Grid, check_grid

LEFT: Final = 0
RIGHT: Final = 1
Epochs = tuple[Epoch, ...]  # live epochs, oldest first

START: Final[Epochs] = (Epoch(0, WHOLE),)
# Every live epoch adds copies of every row. If one side has no rows, windows do not close and old epochs stay live.
# From this number on, the grid does not change any more.
MOST_LIVE: Final = 4


def parts(grid: Grid, side: int) -> int:
    """Return the number of parts into which a side is split."""
    return grid.rows if side == LEFT else grid.columns


def instances(epochs: Epochs) -> int:
    """Return the number of instances: the number of cells of the largest live grid."""
    return max(epoch.grid.cells for epoch in epochs)


def splits_by_row(grid: Grid) -> bool:
    """Return whether it makes a difference that each row of a grid has columns of its own."""
    return grid.rows > 1 and grid.columns > 1


def cells_of(draws: Draws, side: int, grid: Grid, cells: int, *, by_row: bool = False) -> Flags:
    """Return whether each row, (n,), goes to each cell, (cells,), of a grid: (n, cells)."""
    # Cells are numbered row by row; the last instances belong to larger grids of other epochs.
    numbers = np.arange(cells)
    inside = (numbers < grid.cells)[None, :]
    if side == LEFT:
        return np.asarray((part_of(draws, grid.rows)[:, None] == (numbers // grid.columns)[None, :]) & inside)
    part = digit_of(draws[:, None], grid.columns, (numbers // grid.columns if by_row else numbers * 0)[None, :])
    return np.asarray((part == (numbers % grid.columns)[None, :]) & inside)


def destinations(draws: Draws, side: int, epochs: Epochs) -> Flags:
    """Return the instances to which each new row goes, (n, instances): its cells in every live epoch."""
    count = instances(epochs)
    found = np.zeros((len(draws), count), dtype=np.bool_)
    for epoch in epochs:
        found |= cells_of(draws, side, epoch.grid, count, by_row=epoch.by_row)
    return found


def owners(left: tuple[Ints, Draws], right: tuple[Ints, Draws], epochs: Epochs) -> Ints:
    """Return the instance, (n,), that makes each pair; `left` and `right` are epoch numbers and draws, (n,) each.

    -1 marks pairs whose older epoch is no longer live: their rows are outside each other's window.
    """
    older = np.minimum(left[0], right[0])
    found = np.full(len(older), -1, dtype=np.int64)
    for epoch in epochs:
        grid = epoch.grid
        row = part_of(left[1], grid.rows)
        cell = row * grid.columns + digit_of(right[1], grid.columns, row if epoch.by_row else 0)
        found[older == epoch.number] = cell[older == epoch.number]
    return found


def begin(epochs: Epochs, grid: Grid, *, by_row: bool = False) -> Epochs:
    """Return the epochs after a change of the grid; unchanged if it is the current grid."""
    check_grid(grid)
    # A new epoch with the same grid would only add copies.
    if epochs[-1].grid == grid:
        return epochs
    if len(epochs) >= MOST_LIVE:
        raise DroverError(
            f"the grid should change to {grid}, but {len(epochs)} epochs are live, and at most {MOST_LIVE} may be. "
            "Wait until windows have closed."
        )
    return (*epochs, Epoch(epochs[-1].number + 1, grid, by_row))


def retire(epochs: Epochs, oldest: int | None) -> Epochs:
    """Return the epochs that are still live if `oldest` is the oldest epoch of any row in a window (None: no rows)."""
    # The current epoch stays, even if windows are empty: the next rows arrive in it.
    least = epochs[-1].number if oldest is None else min(oldest, epochs[-1].number)
    return tuple(epoch for epoch in epochs if epoch.number >= least)


def oldest_of(held: Sequence[int | None]) -> int | None:
    """Return the oldest epoch of the rows that instances hold; None if they hold no rows."""
    return min((number for number in held if number is not None), default=None)
