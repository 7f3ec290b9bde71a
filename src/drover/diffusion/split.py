"""Splitting: which row or column of a grid each tuple belongs to.

Rule 1: every tuple gets one number, its *draw*, from 0 to 2^32 - 1. With r parts, it belongs to part draw * r / 2^32,
in every past and present grid. So the draw alone determines its cells, and correctness does not depend on how it was
made. If each row of a grid has columns of its own, the digits of the draw in base r are the parts in these rows.
Rule 2: draws follow from a start number that the caller passes in.
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
# Of a draw times the parts to the power of a digit's number; so the product fits into 64 bits. Some bits are left over,
# which spread the draws evenly over other grids.
DIGIT_BITS: Final = 30
# Multiples of the golden ratio are spread evenly over any number of parts: of n consecutive draws, each of r parts gets
# n/r, give or take a few.
GOLDEN: Final = 0x9E3779B9


def part_of(draws: Draws, parts: int) -> Ints:
    """Return the part of each draw, (n,) from 0 to parts - 1."""
    return ((draws.astype(np.uint64) * np.uint64(parts)) >> np.uint64(BITS)).astype(np.int64)


def digits_of(parts: int) -> int:
    """Return how many digits in base `parts` a draw has; always at least one."""
    count = 1
    while parts > 1 and parts ** (count + 1) <= 1 << DIGIT_BITS:
        count += 1
    return count


def digit_of(draws: Draws, parts: int, place: int | Ints) -> Ints:
    """Return a digit of each draw, (n,) from 0 to parts - 1; digit 0 is its part. `place` may differ by draw, (n,).

    Places beyond the last digit begin again with digit 0.
    """
    power = np.asarray(place, dtype=np.int64) % digits_of(parts) + 1
    shifted = draws.astype(np.int64) * np.int64(parts) ** power
    return np.asarray((shifted >> np.int64(BITS)) % parts, dtype=np.int64)


def cyclic_draws(count: int, start: int) -> Draws:
    """Return draws that visit all parts in turn, for any number of parts; counting begins at `start`."""
    numbers = np.arange(count, dtype=np.uint64) + np.uint64(start % SCALE)
    return (numbers * np.uint64(GOLDEN) & np.uint64(SCALE - 1)).astype(np.uint32)


def place(chosen: Ints, inner: Draws, parts: int) -> Draws:
    """Return draws that belong to the chosen parts, (n,); `inner`, (n,), is the position of each within its part."""
    # ceil((part * 2^32 + inner) / parts) lies in the part if inner is at most 2^32 - parts; otherwise it may be in the
    # next.
    offset = np.minimum(inner.astype(np.uint64), np.uint64(SCALE - parts))
    low = chosen.astype(np.uint64) * np.uint64(SCALE) + offset
    return ((low + np.uint64(parts - 1)) // np.uint64(parts)).astype(np.uint32)


def weighted_draws(count: int, weights: Sequence[float] | Floats, start: int) -> Draws:
    """Return draws that give each part its weighted share, within a few, of any consecutive draws."""
    shares = shares_of(weights)
    ends = np.cumsum(shares)
    # The last part with a weight takes what rounding leaves over, so that a part without weight gets nothing.
    last = int(np.flatnonzero(shares)[-1])
    even = cyclic_draws(count, start) / SCALE
    chosen = np.minimum(np.searchsorted(ends, even, side="right"), last).astype(np.int64)
    inner = (even - (ends - shares)[chosen]) / shares[chosen]
    return place(chosen, (inner.clip(0, 1) * (SCALE - 1)).astype(np.uint32), len(shares))


def draws_by_row(count: int, weights: Floats, start: int) -> Draws:
    """Return draws whose digit i gives each part the share of row i of the weights, (rows, parts).

    Shares are exact within a few of any consecutive draws.
    """
    parts = weights.shape[1]
    used = min(len(weights), digits_of(parts))
    even = cyclic_draws(count, start) / SCALE
    prefix = np.zeros(count, dtype=np.int64)
    for row in weights[:used]:
        # All digits follow the same even numbers: with numbers of their own, small batches would be spread less evenly.
        shares = shares_of(row)
        last = int(np.flatnonzero(shares)[-1])
        prefix = prefix * parts + np.minimum(np.searchsorted(np.cumsum(shares), even, side="right"), last)
    # What is below the last digit belongs to no row, and spreads the draws over other grids.
    inner = cyclic_draws(count, start) * np.uint32(GOLDEN)
    return place(prefix, inner, parts**used)


def shares_of(weights: Sequence[float] | Floats) -> Floats:
    """Return weights scaled to a sum of 1; equal weights if all are 0."""
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise DroverError(
            f"the weights are {list(weights)}, but each must be finite and at least 0. Set one number per part."
        )
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def least_loaded(loads: Sequence[float] | Floats, costs: Sequence[float] | Floats, count: int) -> Ints:
    """Return the part, (count,), of each tuple: always the least loaded one, whose load then rises by its cost.

    `loads` is the work that waits at each part, and `costs` what one more tuple adds there, both in seconds. Ties go to
    the first part.
    """
    now = np.array(loads, dtype=np.float64)
    more = np.asarray(costs, dtype=np.float64)
    chosen = np.empty(count, dtype=np.int64)
    for index in range(count):
        part = int(now.argmin())
        chosen[index] = part
        now[part] += more[part]
    return chosen
