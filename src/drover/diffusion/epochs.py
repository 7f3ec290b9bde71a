"""Epochs: the shape of a join changes while it runs, and every pair is still made once.

The rule, for any change at any time: a row goes to the cells of its row (right: column) in the present epoch *and in
every older epoch that still has rows in a window*; a pair belongs to the older of the two epochs that its rows came in,
and is made only at the cell where its row and column cross there.

Why none is missing: let x come in epoch e and y in f >= e. Both are sent to their cells in e: x because e is its own, y
because x is still in the window when y comes, so that e is live. Their row and column in e cross in one cell: both are
there. Why none is twice: nobody else makes it.

Rule 1: live epochs are a tuple, oldest first, numbers rising; the last is the present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from drover.diffusion.split import Draws, part_of
from drover.errors import DroverError
from drover.load.arrays import Flags, Ints
from drover.network.grid import WHOLE, Epoch, Grid, check_grid

LEFT: Final = 0
RIGHT: Final = 1
Epochs = tuple[Epoch, ...]  # live ones, oldest first

START: Final[Epochs] = (Epoch(0, WHOLE),)
# Every live epoch means more copies of every row. Where windows do not close, for want of rows on one side, old epochs
# stay; after so many the shape stays, too.
MOST_LIVE: Final = 4


def parts(grid: Grid, side: int) -> int:
    """Return over how many parts a side is split."""
    return grid.rows if side == LEFT else grid.columns


def instances(epochs: Epochs) -> int:
    """Return how many instances there are: as many as the largest live grid has cells."""
    return max(epoch.grid.cells for epoch in epochs)


def cells_of(draws: Draws, side: int, grid: Grid, cells: int) -> Flags:
    """Return whether each row, (n,), goes to each cell, (cells,), of a grid: (n, cells)."""
    part = part_of(draws, parts(grid, side))
    numbers = np.arange(cells)
    mine = numbers // grid.columns if side == LEFT else numbers % grid.columns
    return np.asarray((part[:, None] == mine[None, :]) & (numbers < grid.cells)[None, :])


def destinations(draws: Draws, side: int, epochs: Epochs) -> Flags:
    """Return to which instances each new row goes, (n, instances): to its cells in every live epoch."""
    count = instances(epochs)
    found = np.zeros((len(draws), count), dtype=np.bool_)
    for epoch in epochs:
        found |= cells_of(draws, side, epoch.grid, count)
    return found


def owners(left: tuple[Ints, Draws], right: tuple[Ints, Draws], epochs: Epochs) -> Ints:
    """Return the instance, (n,), that makes each pair; `left` and `right` are numbers of epochs and draws, (n,) each.

    -1 where the older epoch of a pair is no longer live: such rows are outside each other's window.
    """
    older = np.minimum(left[0], right[0])
    found = np.full(len(older), -1, dtype=np.int64)
    for epoch in epochs:
        grid = epoch.grid
        cell = part_of(left[1], grid.rows) * grid.columns + part_of(right[1], grid.columns)
        found[older == epoch.number] = cell[older == epoch.number]
    return found


def begin(epochs: Epochs, grid: Grid) -> Epochs:
    """Return the epochs after a change of shape; the same ones if the shape is the present one."""
    check_grid(grid)
    if epochs[-1].grid == grid:
        return epochs
    if len(epochs) >= MOST_LIVE:
        raise DroverError(
            f"the grid is to be {grid}, but {len(epochs)} epochs are live, and {MOST_LIVE} are the most there may be. "
            "Wait until windows have closed."
        )
    return (*epochs, Epoch(epochs[-1].number + 1, grid))


def retire(epochs: Epochs, oldest: int | None) -> Epochs:
    """Return the epochs that are still live if `oldest` is the least epoch of any row in a window (None: no row)."""
    least = epochs[-1].number if oldest is None else min(oldest, epochs[-1].number)
    return tuple(epoch for epoch in epochs if epoch.number >= least)


def oldest_of(held: Sequence[int | None]) -> int | None:
    """Return the least of the epochs that instances hold rows of; None if none holds any."""
    return min((number for number in held if number is not None), default=None)
