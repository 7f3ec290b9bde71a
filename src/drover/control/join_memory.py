"""Joins whose windows do not fit into the memory of a node: the shape with which they do.

Rule 1: this only narrows the choice of `diffuse`; without a limit in the settings (`memory`), it changes nothing.
Rule 2: a join grows when its windows do not fit, until they leave some room, and shrinks only if they leave much room.
Otherwise, a little more or less of its streams would change its shape again and again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.view import View
from drover.diffusion.choose import cheapest
from drover.diffusion.cost import Demand, memory
from drover.load.arrays import Flags, Floats, Ints
from drover.network.grid import AUTO, MOST_CELLS, Grid, Spread

GROWN: Final = 0.8  # of the room of a node, which the windows of a cell fill at most after a join has grown
SHRUNK: Final = 0.5  # the same after it has shrunk
LESS: Final = 0.9  # of the fullness of the present nodes, which another grid may reach if none fits


@dataclass(frozen=True, slots=True, eq=False)
class WindowRoom:
    """What the nodes can hold of the windows of a join."""

    row_bytes: float  # of a row in a window, as measured; 0 if unknown
    room: Floats  # (n,) bytes that each node can hold; 0 if it is closed

    def rows(self, cells: int) -> float:
        """Return the rows that each cell can hold if the roomiest nodes get a cell each."""
        if self.row_bytes <= 0:
            return math.inf
        return float(np.sort(self.room)[::-1][min(cells, len(self.room)) - 1]) / self.row_bytes

    def fullness(self, grid: Grid, demand: Demand) -> float:
        """Return what the windows of a cell take of the room of its node."""
        rows = self.rows(grid.cells)
        return memory(grid, demand) / rows if rows > 0 else math.inf

    def nodes(self, grid: Grid, demand: Demand) -> Flags:
        """Return which nodes can hold the windows of a cell, (n,); all if no node can."""
        found = self.row_bytes * memory(grid, demand) <= self.room
        return found if found.any() else np.ones(len(self.room), dtype=np.bool_)

    def holds(self, grid: Grid, demand: Demand, fill: float = 1.0) -> bool:
        """Return whether the windows of every cell fit into this share of the room."""
        return self.fullness(grid, demand) <= fill


def room_for(view: View, units: Ints, grid: Grid, demand: Demand, limit: float, closed: frozenset[int]) -> WindowRoom:
    """Return the room for a join, whose instances are these units and which now has this grid."""
    problem = view.problem
    others = problem.state.copy()
    others[units] = 0.0
    known = problem.current >= 0
    taken = np.bincount(problem.current[known], others[known], problem.n)
    room = np.maximum(limit - taken, 0.0)
    room[list(closed)] = 0.0
    held = grid.cells * memory(grid, demand)
    return WindowRoom(float(problem.state[units].sum()) / held if held > 0 else 0.0, room)


def shape_that_fits(wanted: Grid, spread: Spread, present: Grid, demand: Demand, room: WindowRoom) -> Grid:
    """Return the wanted grid if its windows fit; otherwise the cheapest one that fits, or that fills nodes least.

    A fixed grid stays, and a fixed number of instances too.
    """
    grows = memory(wanted, demand) > memory(present, demand)
    if isinstance(spread, Grid) or room.holds(wanted, demand, SHRUNK if grows else 1.0):
        return wanted
    if room.holds(present, demand):
        return present
    first = max(present.cells, wanted.cells)
    last = max(min(len(room.room), MOST_CELLS), first) if spread == AUTO else first
    tried = [cheapest(cells, demand, GROWN * room.rows(cells)) for cells in range(first, last + 1)]
    fitting = next((grid for grid in tried if room.holds(grid, demand, GROWN)), None)
    if fitting is not None:
        return fitting
    best = min(tried, key=lambda grid: room.fullness(grid, demand))
    return best if room.fullness(best, demand) <= LESS * room.fullness(present, demand) else present


def memory_reason(join: str, before: Grid, after: Grid, demand: Demand, room: WindowRoom) -> str:
    """Return in words why a join changes its shape because of its windows."""
    now, then = (room.row_bytes * memory(grid, demand) for grid in (before, after))
    has = room.row_bytes * room.rows(before.cells)
    return (
        f"the windows of join {join} take {now:,.0f} bytes on a node, and `memory` leaves {has:,.0f} for them: "
        f"it is spread {after} instead of {before}, which takes {then:,.0f}"
    )
