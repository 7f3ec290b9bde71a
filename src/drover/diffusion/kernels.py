"""Where tuples go and pairs belong, one at a time and compiled: what `split` and `epochs` say of arrays.

Rule 1: equal to its plain twins, `part_of`, `place`, `destinations` and `owners`, on every generated case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from drover.load.arrays import Floats, Ints

F = TypeVar("F", bound=Callable[..., object])
# Nothing here makes an array, so nothing is counted, as in the kernels of the simulator.
_UNCOUNTED: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
part: Callable[[F], F] = numba.njit(**_UNCOUNTED, forceinline=True)

BITS = np.uint64(32)
LAST = np.uint64(2**32)
NOWHERE = -1


@part
def part_of(draw: int, parts: int) -> int:
    """Return the part that a draw belongs to."""
    return int(np.int64((np.uint64(draw) * np.uint64(parts)) >> BITS))


@part
def place(chosen: int, inner: int, parts: int) -> int:
    """Return a draw of the chosen part; `inner` says where within it."""
    count = np.uint64(parts)
    low = (np.uint64(chosen) << BITS) + min(np.uint64(inner), LAST - count)
    return int(np.int64((low + count - np.uint64(1)) // count))


@part
def least(loads: Floats, parts: int) -> int:
    """Return the first of the least loaded parts."""
    found = 0
    for number in range(1, parts):
        if loads[number] < loads[found]:
            found = number
    return found


@part
def goes_to(draw: int, side: int, epochs: Ints, first: int, count: int, cell: int) -> bool:
    """Return whether a new tuple goes to a cell; `epochs` has number, rows and columns of each of `count`.

    Those from `first` on have tuples in the window.
    """
    for e in range(first, count):
        rows, columns = epochs[e, 1], epochs[e, 2]
        if cell < rows * columns:
            mine = cell // columns if side == 0 else cell % columns
            if part_of(draw, rows if side == 0 else columns) == mine:
                return True
    return False


@part
def owner(older: int, left: int, right: int, epochs: Ints, count: int) -> int:
    """Return the cell that makes the pair of two draws whose older epoch is that; NOWHERE if it is not live."""
    for e in range(count):
        if epochs[e, 0] == older:
            return int(part_of(left, epochs[e, 1]) * epochs[e, 2] + part_of(right, epochs[e, 2]))
    return NOWHERE
