"""Every instance of a spread join in memory, pair by pair: slow, but easy to verify."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from drover.diffusion.epochs import LEFT, RIGHT, START, Epochs, begin, destinations, owners, retire
from drover.network.grid import Grid


@dataclass(frozen=True, slots=True)
class Tuple:
    """A row: its number on its side, event time, key, epoch and draw."""

    number: int
    time: int
    key: int
    epoch: int
    draw: int


def close(left_time: int, right_time: int, windows: tuple[int, int]) -> bool:
    """A left row at t1 and a right one at t2 with -W2 <= t2 - t1 <= W1."""
    return -windows[RIGHT] <= right_time - left_time <= windows[LEFT]


@dataclass(slots=True)
class Spread:
    """A join on instances; `windows` are lengths of time, `fits` compares two keys."""

    windows: tuple[int, int]
    epochs: Epochs = START
    held: dict[int, tuple[list[Tuple], list[Tuple]]] = field(default_factory=dict)
    made: list[tuple[int, int]] = field(default_factory=list)
    copies: int = 0
    by_row: bool = False

    def reshape(self, grid: Grid) -> None:
        self.epochs = begin(self.epochs, grid, by_row=self.by_row)

    def take(self, side: int, number: int, time: int, key: int, draw: int) -> None:
        """Send a row to its instances; each pairs it with what it holds, and keeps it."""
        row = Tuple(number, time, key, self.epochs[-1].number, draw)
        (goes,) = destinations(np.array([draw], dtype=np.uint32), side, self.epochs)
        for instance in np.flatnonzero(goes):
            here = self.held.setdefault(int(instance), ([], []))
            self.copies += 1
            for other in here[1 - side]:
                left, right = (row, other) if side == LEFT else (other, row)
                if (
                    close(left.time, right.time, self.windows)
                    and left.key == right.key
                    and self._owner(left, right) == instance
                ):
                    self.made.append((left.number, right.number))
            here[side].append(row)

    def _owner(self, left: Tuple, right: Tuple) -> int:
        one, other = ((np.array([row.epoch]), np.array([row.draw], dtype=np.uint32)) for row in (left, right))
        return int(owners(one, other, self.epochs)[0])

    def close(self, now: int) -> None:
        """Drop rows that nothing after `now` can meet, and epochs without rows."""
        for sides in self.held.values():
            for side in (LEFT, RIGHT):
                sides[side][:] = [row for row in sides[side] if row.time + self.windows[side] > now]
        numbers = [row.epoch for sides in self.held.values() for side in sides for row in side]
        self.epochs = retire(self.epochs, min(numbers, default=None))
