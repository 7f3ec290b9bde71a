"""Slots and chains, compiled.

Rule 1: a slot is in exactly one chain, or in service, or free. Rule 2: the slot freed last is taken first, so that a
network without backlog stays within a few cache lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from drover.sim.world import FREE, NOBODY, SPARE, Lists, Pool, Seeds

# These kernels allocate no arrays, so reference counting is off. numba would count a reference for every array that is
# taken out of a tuple, and an event would take sixty times as long.
_UNCOUNTED: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
compiled: Callable[[F], F] = numba.njit(**_UNCOUNTED)
part: Callable[[F], F] = numba.njit(**_UNCOUNTED, forceinline=True)

F = TypeVar("F", bound=Callable[..., object])
# numba tests every index for being negative. An index masked with this cannot be, so the test is left out.
NATURAL = 2**63 - 1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


@part
def draw(seeds: Seeds, j: int) -> float:
    """Return the next random number of operator j, in [0, 1): SplitMix64, cut to 32 bits.

    With 32 bits, a whole number can be added without rounding up to the next one.
    """
    state = seeds[j] + GOLDEN
    seeds[j] = state
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    state ^= state >> np.uint64(31)
    return float((state >> np.uint64(32)) * 2.0**-32)


@part
def take(pool: Pool) -> int:
    """Take a free slot; there must be one."""
    slot = pool.cells[FREE] & NATURAL
    pool.cells[FREE] = pool.after[slot]
    pool.cells[SPARE] -= 1
    return int(slot)


@part
def release(pool: Pool, slot: int) -> None:
    """Free a slot."""
    pool.after[slot] = pool.cells[FREE]
    pool.cells[FREE] = slot
    pool.cells[SPARE] += 1


@part
def append(pool: Pool, lists: Lists, chain: int, slot: int) -> None:
    """Put a slot at the end of a chain."""
    pool.after[slot] = NOBODY
    tail = lists.tail[chain]
    if tail == NOBODY:
        lists.head[chain] = slot
    else:
        pool.after[tail & NATURAL] = slot
    lists.tail[chain] = slot
    lists.length[chain] += 1


@part
def prepend(pool: Pool, lists: Lists, chain: int, slot: int) -> None:
    """Put a slot at the beginning of a chain."""
    pool.after[slot] = lists.head[chain]
    lists.head[chain] = slot
    if lists.tail[chain] == NOBODY:
        lists.tail[chain] = slot
    lists.length[chain] += 1


@part
def shift(pool: Pool, lists: Lists, chain: int) -> int:
    """Take the first slot out of a chain that is not empty."""
    slot = lists.head[chain] & NATURAL
    lists.head[chain] = pool.after[slot]
    if lists.head[chain] == NOBODY:
        lists.tail[chain] = NOBODY
    lists.length[chain] -= 1
    return int(slot)


@part
def empty(pool: Pool, lists: Lists, chain: int) -> int:
    """Free all slots of a chain; return how many."""
    count = lists.length[chain]
    while lists.head[chain] != NOBODY:
        release(pool, shift(pool, lists, chain))
    return int(count)
