"""Compiled sets: bit sets, counts by key, and tournaments for the least of many.

Rule 1: nothing here knows queries or servers. Rule 2: the caller makes sure that a table has room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from drover.load.arrays import Floats, Ints

Words: TypeAlias = NDArray[np.uint64]
SmallInts: TypeAlias = NDArray[np.int32]
BITS = 64
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: spreads consecutive keys over a table
EMPTY = -1

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", inline="never", forceinline=True)


@intrinsic
def _lowest_bit(_context: Any, _word: Any) -> Any:
    """Return the position of the lowest set bit of a word other than 0."""

    def build(_ctx: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], numba.core.cgutils.true_bit)

    return types.uint64(types.uint64), build


@intrinsic
def _bit_count(_context: Any, _word: Any) -> Any:
    """Return the number of set bits of a word."""

    def build(_ctx: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


lowest_bit = cast("Callable[[Any], int]", _lowest_bit)
bit_count = cast("Callable[[Any], int]", _bit_count)


@part
def set_bit(row: Words, j: int) -> None:
    """Add j to a set, (W,)."""
    row[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@part
def clear_bit(row: Words, j: int) -> None:
    """Remove j from a set, (W,)."""
    row[j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))


@part
def slot_of(keys: Ints, key: int) -> int:
    """Return the position of a key in a table whose size is a power of two, or the empty position where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * SPREAD
    # The upper bits of the product are mixed best, so they are folded onto the lower ones.
    at = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while keys[at] != EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return int(at)


@part
def count_of(keys: Ints, counts: Ints, key: int) -> int:
    """Return the count of a key, 0 if it has none."""
    at = slot_of(keys, key)
    return int(counts[at]) if keys[at] == key else 0


@part
def count_up(keys: Ints, counts: Ints, key: int) -> int:
    """Increment the count of a key, and return it."""
    at = slot_of(keys, key)
    if keys[at] == EMPTY:
        keys[at] = key
        counts[at] = 0
    counts[at] += 1
    return int(counts[at])


@compiled
def count_down(keys: Ints, counts: Ints, key: int) -> int:
    """Decrement the count of an existing key, and return it; a key whose count is 0 leaves the table."""
    mask = len(keys) - 1
    at = slot_of(keys, key)
    counts[at] -= 1
    left = int(counts[at])
    if left:
        return left
    hole = at
    look = at
    while True:  # move back the keys that collided with this one: a hole would hide them
        look = (look + 1) & mask
        if keys[look] == EMPTY:
            break
        mixed = np.uint64(keys[look]) * SPREAD
        home = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
        if ((look - home) & mask) >= ((look - hole) & mask):
            keys[hole] = keys[look]
            counts[hole] = counts[look]
            hole = look
    keys[hole] = EMPTY
    return 0


@compiled
def rehash(keys: Ints, counts: Ints, new_keys: Ints, new_counts: Ints) -> None:
    """Copy a table into an empty one of another size."""
    for at in range(len(keys)):
        if keys[at] != EMPTY:
            there = slot_of(new_keys, keys[at])
            new_keys[there] = keys[at]
            new_counts[there] = counts[at]


@part
def relative(load: Floats, capacity: Floats, j: int) -> float:
    """Return the load of j divided by its capacity; infinite if j does not exist or has capacity 0."""
    if j >= len(load) or capacity[j] <= 0:
        return np.inf
    return float(load[j] / capacity[j])


@compiled
def build_tournament(tree: Ints, load: Floats, capacity: Floats) -> None:
    """Fill a tournament tree, (2 P,), whose entry 1 has the least relative load; ties go to the lower number."""
    leaves = len(tree) // 2
    for j in range(leaves):
        tree[leaves + j] = j
    for at in range(leaves - 1, 0, -1):
        left = tree[2 * at]
        right = tree[2 * at + 1]
        tree[at] = right if relative(load, capacity, right) < relative(load, capacity, left) else left


@part
def update_tournament(tree: Ints, load: Floats, capacity: Floats, j: int) -> None:
    """Update the tournament after the load of j has changed."""
    at = (len(tree) // 2 + j) >> 1
    while at:
        left = tree[2 * at]
        right = tree[2 * at + 1]
        tree[at] = right if relative(load, capacity, right) < relative(load, capacity, left) else left
        at >>= 1
