"""Grids: over how many rows and columns of instances the pairs of a join are spread.

Rule 1: left rows are dealt to the rows of a grid and copied along them, right rows to its columns; so r x 1 splits the
left stream and copies the right one, and 1 x c the other way round.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from drover.errors import DroverError

MOST_CELLS: Final = 1_000  # of a grid; more instances than this are a slip of the pen


class Grid(NamedTuple):
    """Rows that split the left stream, columns that split the right one; cell (i, j) is number i * columns + j."""

    rows: int
    columns: int

    @property
    def cells(self) -> int:
        """How many instances it has."""
        return self.rows * self.columns

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}"


class Epoch(NamedTuple):
    """A grid and its number in the history of a join: every change of shape begins the next epoch."""

    number: int
    grid: Grid


WHOLE: Final = Grid(1, 1)  # a join that is not spread


def check_grid(grid: Grid) -> Grid:
    """Return a grid that can be: at least one row and column, and not absurdly many cells."""
    if grid.rows < 1 or grid.columns < 1 or grid.cells > MOST_CELLS:
        raise DroverError(
            f"the grid is {grid}, but rows and columns are 1 or more and cells at most {MOST_CELLS}. "
            "Give two whole numbers, for example 2 x 3."
        )
    return grid
