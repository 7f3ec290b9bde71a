"""Compiled sets: bits of words, counts by key, and the least of many.

Rule 1: nothing here knows of queries or servers. Rule 2: whoever adds to a table sees to it first that there is room.
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
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads consecutive keys over a table
EMPTY = -1

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", inline="never", forceinline=True)


@intrinsic
def _lowest_bit(_context: Any, _word: Any) -> Any:
    """Return the place of the lowest bit that is set in a word other than 0."""

    def build(_ctx: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], numba.core.cgutils.true_bit)

    return types.uint64(types.uint64), build


@intrinsic
def _bit_count(_context: Any, _word: Any) -> Any:
    """Return how many bits of a word are set."""

    def build(_ctx: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


lowest_bit = cast("Callable[[Any], int]", _lowest_bit)
bit_count = cast("Callable[[Any], int]", _bit_count)


@part
def put_bit(row: Words, j: int) -> None:
    """Add j to a set, (W,)."""
    row[j >> 6] |= np.uint64(1) << np.uint64(j & 63)


@part
def drop_bit(row: Words, j: int) -> None:
    """Take j out of a set, (W,)."""
    row[j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))


@part
def slot_of(keys: Ints, key: int) -> int:
    """Return where a key is in a table whose size is a power of two, or the empty place where it belongs."""
    mask = len(keys) - 1
    mixed = np.uint64(key) * SPREAD
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
    """Add 1 to the count of a key and return it."""
    at = slot_of(keys, key)
    if keys[at] == EMPTY:
        keys[at], counts[at] = key, 0
    counts[at] += 1
    return int(counts[at])


@compiled
def count_down(keys: Ints, counts: Ints, key: int) -> int:
    """Take 1 off the count of a key that has one, and return what is left; a key without a count leaves the table."""
    mask, at = len(keys) - 1, slot_of(keys, key)
    counts[at] -= 1
    left = int(counts[at])
    if left:
        return left
    hole, look = at, at
    while True:  # what was pushed on by the key moves back: a hole would hide it
        look = (look + 1) & mask
        if keys[look] == EMPTY:
            break
        mixed = np.uint64(keys[look]) * SPREAD
        home = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
        if ((look - home) & mask) >= ((look - hole) & mask):
            keys[hole], counts[hole] = keys[look], counts[look]
            hole = look
    keys[hole] = EMPTY
    return 0


@compiled
def rehash(keys: Ints, counts: Ints, new_keys: Ints, new_counts: Ints) -> None:
    """Copy a table into an empty one of another size."""
    for at in range(len(keys)):
        if keys[at] != EMPTY:
            there = slot_of(new_keys, keys[at])
            new_keys[there], new_counts[there] = keys[at], counts[at]


@part
def relative(load: Floats, capacity: Floats, j: int) -> float:
    """Return load over capacity of j; endless if there is no such place, or its capacity is 0."""
    if j >= len(load) or capacity[j] <= 0:
        return np.inf
    return float(load[j] / capacity[j])


@compiled
def plant(tree: Ints, load: Floats, capacity: Floats) -> None:
    """Fill a tournament, (2 P,), whose winner, in place 1, has the least relative load; ties go to the lower number."""
    leaves = len(tree) // 2
    for j in range(leaves):
        tree[leaves + j] = j
    for at in range(leaves - 1, 0, -1):
        left, right = tree[2 * at], tree[2 * at + 1]
        tree[at] = right if relative(load, capacity, right) < relative(load, capacity, left) else left


@part
def replay(tree: Ints, load: Floats, capacity: Floats, j: int) -> None:
    """Play the games of j again, whose load has changed."""
    at = (len(tree) // 2 + j) >> 1
    while at:
        left, right = tree[2 * at], tree[2 * at + 1]
        tree[at] = right if relative(load, capacity, right) < relative(load, capacity, left) else left
        at >>= 1
