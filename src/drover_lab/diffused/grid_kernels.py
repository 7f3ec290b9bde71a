"""The destination of one tuple and the owner of one pair, compiled.

Rule 1: these equal their plain twins on arrays in `drover.diffusion`, `part_of`, `place`, `destinations` and `owners`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from drover.load.arrays import Floats, Ints

F = TypeVar("F", bound=Callable[..., object])
# These kernels allocate no arrays, so reference counting is off, as in the simulator's kernels: it would cost more
# than the work.
_UNCOUNTED: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
part: Callable[[F], F] = numba.njit(**_UNCOUNTED, forceinline=True)

BITS = np.uint64(32)
LAST = np.uint64(2**32)
NOWHERE = -1


@part
def part_of(draw: int, parts: int) -> int:
    """Return the part of a draw."""
    return int(np.int64((np.uint64(draw) * np.uint64(parts)) >> BITS))


@part
def place(chosen: int, inner: int, parts: int) -> int:
    """Return a draw that belongs to the chosen part; `inner` is its position within the part."""
    count = np.uint64(parts)
    # As in `split.place`: a larger offset could round up into the next part.
    low = (np.uint64(chosen) << BITS) + min(np.uint64(inner), LAST - count)
    return int(np.int64((low + count - np.uint64(1)) // count))


@part
def least(loads: Floats, parts: int) -> int:
    """Return the least loaded part; ties go to the first."""
    found = 0
    for number in range(1, parts):
        if loads[number] < loads[found]:
            found = number
    return found


@part
def goes_to(draw: int, side: int, epochs: Ints, first: int, count: int, cell: int) -> bool:
    """Return whether a new tuple goes to a cell; `epochs` has number, rows and columns of each of `count` live ones.

    Epochs from index `first` on still have tuples in the window.
    """
    for e in range(first, count):
        rows = epochs[e, 1]
        columns = epochs[e, 2]
        if cell < rows * columns:
            mine = cell // columns if side == 0 else cell % columns
            if part_of(draw, rows if side == 0 else columns) == mine:
                return True
    return False


@part
def owner(older: int, left: int, right: int, epochs: Ints, count: int) -> int:
    """Return the cell that owns the pair of two draws, by the older epoch of the two; NOWHERE if that is not live."""
    for e in range(count):
        if epochs[e, 0] == older:
            return int(part_of(left, epochs[e, 1]) * epochs[e, 2] + part_of(right, epochs[e, 2]))
    return NOWHERE
