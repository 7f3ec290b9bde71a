"""Grids: over how many rows and columns of instances the pairs of a join are spread.

Rule 1: left rows are dealt to the rows of a grid and copied along them, right rows to its columns; so r x 1 splits the
left stream and copies the right one, and 1 x c the other way round.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from drover.errors import DroverError, ExpressionError

MOST_CELLS: Final = 1_000  # of a grid; more instances must be a typing error


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
    """A grid and its number in the history of a join: every change of shape begins the next epoch.

    `by_row` says that a right row has a column of its own in each row of the grid, so that each row of the grid can
    split the right stream by other weights. Without it, a right row has the same column in all rows.
    """

    number: int
    grid: Grid
    by_row: bool = False


# A grid, a number of instances in any grid, or as many instances as the measured load needs.
Spread: TypeAlias = Grid | int | Literal["auto"]

SpreadLike: TypeAlias = Spread | tuple[int, int] | str  # the same as people write it
AUTO: Final = "auto"
SPREAD_RULE: Final = f"a join is spread over a grid of 1 to {MOST_CELLS} instances"
SPREAD_WAY_OUT: Final = "Write auto, a number of instances such as 4, or rows x columns such as 2 x 3."
WHOLE: Final = Grid(1, 1)  # a join that is not spread


def check_grid(grid: Grid) -> Grid:
    """Return a valid grid: at least one row and one column, and at most MOST_CELLS cells."""
    if grid.rows < 1 or grid.columns < 1 or grid.cells > MOST_CELLS:
        raise DroverError(
            f"the grid is {grid}, but rows and columns are 1 or more and cells at most {MOST_CELLS}. "
            "Give two whole numbers, for example 2 x 3."
        )
    return grid


def fits(spread: object) -> bool:
    """Return whether a value is a valid spread of a join."""
    sides = spread if isinstance(spread, tuple) else (spread, 1)
    numbers = [
        side for side in sides if isinstance(side, int) and not isinstance(side, bool) and 1 <= side <= MOST_CELLS
    ]
    return spread == AUTO or (len(sides) == len(numbers) == 2 and numbers[0] * numbers[1] <= MOST_CELLS)


def spread_from(given: SpreadLike) -> Spread:
    """Return the spread that text or two numbers mean; an invalid value is returned unchanged, for the check.

    >>> spread_from((2, 3)) == spread_from("2 x 3") == Grid(2, 3)
    True
    """
    if isinstance(given, str):
        with suppress(ExpressionError):
            return parse_spread(given)
    return Grid(*given) if isinstance(given, tuple) and len(given) == 2 else cast("Spread", given)


def parse_spread(text: str) -> Spread:
    """Return the spread in a text such as `auto`, `4` or `2 x 3`.

    >>> parse_spread("2 x 3")
    Grid(rows=2, columns=3)
    """
    words = text.strip().lower()
    if words == AUTO:
        return AUTO
    match = re.fullmatch(r"(\d{1,6})(?:\s*x\s*(\d{1,6}))?", words)
    spread: Spread = 0 if match is None else int(match[1]) if match[2] is None else Grid(int(match[1]), int(match[2]))
    if not fits(spread):
        raise ExpressionError(text, SPREAD_RULE, SPREAD_WAY_OUT)
    return spread
