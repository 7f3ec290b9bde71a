"""Splitting: which row or column of a grid each tuple is dealt to.

Rule 1: a tuple is given one number, its *draw*, from 0 to 2^32 - 1; with r parts it belongs to part draw * r / 2^32, in
every grid that there is or was. So a draw says it all, and what is exact does not depend on how it was drawn.
Rule 2: chance is an argument: draws follow from where counting starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from drover.errors import DroverError
from drover.load.arrays import Floats, Ints

Draws: TypeAlias = NDArray[np.uint32]

BITS: Final = 32
SCALE: Final = 1 << BITS
# Multiples of the golden section are spread evenly whatever number of parts there is: of n draws in a row each of r
# parts gets n/r, give or take a handful.
GOLDEN: Final = 0x9E3779B9


def part_of(draws: Draws, parts: int) -> Ints:
    """Return the part of each draw, (n,) from 0 to parts - 1."""
    return ((draws.astype(np.uint64) * np.uint64(parts)) >> np.uint64(BITS)).astype(np.int64)


def turns(count: int, start: int) -> Draws:
    """Return draws that take all parts in turn, however many there will be; counting begins at `start`."""
    numbers = np.arange(count, dtype=np.uint64) + np.uint64(start % SCALE)
    return (numbers * np.uint64(GOLDEN) & np.uint64(SCALE - 1)).astype(np.uint32)


def place(chosen: Ints, inner: Draws, parts: int) -> Draws:
    """Return draws that belong to the chosen parts, (n,); `inner`, (n,), says where within its part each one lies."""
    # ceil((part * 2^32 + inner) / parts) lies in the part if inner is at most 2^32 - parts: else it may be in the next.
    offset = np.minimum(inner.astype(np.uint64), np.uint64(SCALE - parts))
    low = chosen.astype(np.uint64) * np.uint64(SCALE) + offset
    return ((low + np.uint64(parts - 1)) // np.uint64(parts)).astype(np.uint32)


def weighted(count: int, weights: Sequence[float] | Floats, start: int) -> Draws:
    """Return draws that give each part its share by weight: of any draws in a row, up to a handful."""
    shares = shares_of(weights)
    ends = np.cumsum(shares)
    # The last part with a share takes what rounding leaves; one without any is given nothing.
    last = int(np.flatnonzero(shares)[-1])
    even = turns(count, start) / SCALE
    chosen = np.minimum(np.searchsorted(ends, even, side="right"), last).astype(np.int64)
    inner = (even - (ends - shares)[chosen]) / shares[chosen]
    return place(chosen, (inner.clip(0, 1) * (SCALE - 1)).astype(np.uint32), len(shares))


def shares_of(weights: Sequence[float] | Floats) -> Floats:
    """Return weights that add up to 1; equal ones if all are 0."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise DroverError(
            f"the weights are {list(weights)}, but each part has one, finite and not negative. "
            "Give as many numbers as there are parts."
        )
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def least_loaded(loads: Sequence[float] | Floats, costs: Sequence[float] | Floats, count: int) -> Ints:
    """Return the part, (count,), of each tuple: always the one with the least load, which then rises by its cost.

    `loads` is what waits at each part and `costs` what one more tuple adds there, both in seconds; of equally loaded
    parts the first is taken.
    """
    now = np.array(loads, dtype=np.float64)
    more = np.asarray(costs, dtype=np.float64)
    chosen = np.empty(count, dtype=np.int64)
    for index in range(count):
        part = int(now.argmin())
        chosen[index] = part
        now[part] += more[part]
    return chosen
