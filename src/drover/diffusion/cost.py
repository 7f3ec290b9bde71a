"""What a grid costs: copies, memory, bandwidth and work of a join that is spread over it, in closed form.

Rule 1: pure functions of a grid and of what the two streams bring. Rule 2: cells are alike: each of r rows is dealt 1/r
of the left stream; weights change that, but not the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from drover.errors import DroverError
from drover.network.grid import Grid


@dataclass(frozen=True, slots=True)
class Demand:
    """What a join is given: rows per second and seconds of window of either side.

    A left row waits `left_window` for right ones, W1 of [Gu05]; r1 is `left_rate`.
    """

    left_rate: float
    right_rate: float
    left_window: float
    right_window: float

    def __post_init__(self) -> None:
        """Refuse what no stream has."""
        for name in ("left_rate", "right_rate", "left_window", "right_window"):
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise DroverError(
                    f"{name} is {value}, but rates and windows are finite and not negative. Give 0 or more."
                )

    @property
    def operations(self) -> float:
        """Pairs per second that are close in time: a left row meets the right window, and a right row the left one."""
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
    left, right = demand.left_rate * demand.left_window, demand.right_rate * demand.right_window
    return size * (left / grid.rows + right / grid.columns)


def operations(grid: Grid, demand: Demand) -> float:
    """Return the pairs per second that one cell looks at: spreading adds none and repeats none."""
    return demand.operations / grid.cells
