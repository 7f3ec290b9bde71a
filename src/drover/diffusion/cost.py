"""What a grid costs a diffused join, in closed form: copies, memory, bandwidth and work.

Rule 1: pure functions of a grid and of the rates and windows of the two streams. Rule 2: all cells are equal: each of r
rows receives 1/r of the left stream. Weights change the shares, but not their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover.errors import DroverError
from drover.network.grid import Grid


@dataclass(frozen=True, slots=True)
class Demand:
    """The input of a join: rows per second and window length in seconds of both sides.

    A left row waits `left_window` for right rows: this is W1 of [Gu05], and `left_rate` is r1.
    """

    left_rate: float
    right_rate: float
    left_window: float
    right_window: float

    def __post_init__(self) -> None:
        """Refuse rates and windows that are negative or infinite."""
        for name in ("left_rate", "right_rate", "left_window", "right_window"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise DroverError(
                    f"{name} is {value}, but rates and windows must be finite and at least 0. Correct it."
                )

    @property
    def operations(self) -> float:
        """Pairs per second that are close in time: every row meets the window of the other side."""
        return self.left_rate * self.right_rate * (self.left_window + self.right_window)


def overhead(grid: Grid, demand: Demand) -> float:
    """Return the extra rows per second: (c - 1) r1 + (r - 1) r2; for r x 1, the text's (k - 1) r2."""
    return (grid.columns - 1) * demand.left_rate + (grid.rows - 1) * demand.right_rate


def received(grid: Grid, demand: Demand) -> float:
    """Return the rows per second that all cells receive together."""
    return grid.columns * demand.left_rate + grid.rows * demand.right_rate


def bandwidth(grid: Grid, demand: Demand, size: float = 1.0) -> float:
    """Return the bytes per second that one cell receives, m (r1/r + r2/c) for rows of `size` bytes."""
    return size * (demand.left_rate / grid.rows + demand.right_rate / grid.columns)


def memory(grid: Grid, demand: Demand, size: float = 1.0) -> float:
    """Return the bytes that the windows of one cell take, m (r1 W1/r + r2 W2/c) for rows of `size` bytes."""
    left = demand.left_rate * demand.left_window
    right = demand.right_rate * demand.right_window
    return size * (left / grid.rows + right / grid.columns)


def operations(grid: Grid, demand: Demand) -> float:
    """Return the pairs per second that one cell compares: a grid adds and repeats no pairs."""
    return demand.operations / grid.cells
