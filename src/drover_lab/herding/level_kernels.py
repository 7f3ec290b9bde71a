"""Compiled IC and MMS for sources of equal rate: a cost is a number of sources, so there are few levels of cost.

Rule 1: it decides exactly as `greedy_kernels.py` does, which takes any rates. Rule 2: level c of a server is a bit set
of the types that lack c of their sources there. Types are numbered in the order in which ties are broken, so the lowest
bit is next. Rule 3: a type that cannot be taken never can be later, so it leaves the sets permanently.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.set_kernels import Words, clear_bit, compiled, lowest_bit, part, set_bit
from drover.load.arrays import Flags, Floats, Ints
from drover_lab.herding.greedy_kernels import NONE, UNKNOWN, Types, assign_type, best_server, empty_servers

WIDE = 16  # number of words that take as long as one type


class TypeLevels(NamedTuple):
    """Which types lack how many sources on which server."""

    sets: Words  # (k, L, W) bit t of level c: type t lacks c sources on server j
    first: Ints  # (k, L) words before this one have no type that can be taken
    left: Words  # (W,) bit t: type t has queries without a server
    row: Ints  # (m,) row of source s in `crowds`, or -1 if it has few types
    crowds: Words  # (H, W) bit t: type t has the source


@compiled
def fresh_levels(types: Types, k: int) -> TypeLevels:
    """Return the levels of servers that hold nothing."""
    count = len(types.rank)
    sizes = np.diff(types.start)
    degree = np.diff(types.member_start)
    words = (count + 63) // 64
    one = np.zeros((sizes.max() + 1, words), dtype=np.uint64)
    left = np.zeros(words, dtype=np.uint64)
    for t in range(count):
        set_bit(one[sizes[t]], t)
        set_bit(left, t)
    sets = np.empty((k, len(one), words), dtype=np.uint64)
    for j in range(k):
        sets[j] = one
    # A bit set pays for sources with many types; few types are faster one by one.
    popular = degree > words * len(one) // WIDE
    row = np.where(popular, np.cumsum(popular) - 1, NONE)
    crowds = np.zeros((popular.sum(), words), dtype=np.uint64)
    for s in np.flatnonzero(popular):
        for c in range(types.member_start[s], types.member_start[s + 1]):
            set_bit(crowds[row[s]], types.member[c])
    return TypeLevels(sets, np.zeros((k, len(one)), dtype=np.int64), left, row, crowds)


@compiled
def lower_few(sets: Words, first: Ints, left: Words, members: Ints) -> None:
    """Lower types by one level on a server that now holds one of their sources; the arrays are those of the server."""
    for t in members:
        w = t >> 6
        bit = np.uint64(1) << np.uint64(t & 63)
        if left[w] & bit:
            c = 1
            # The level of a type is not stored; it is found by its bit.
            while c < len(sets) and not sets[c, w] & bit:
                c += 1
            if c < len(sets):  # otherwise the type no longer fits there
                sets[c, w] &= ~bit
                sets[c - 1, w] |= bit
                first[c - 1] = min(first[c - 1], w)


@compiled
def lower_many(sets: Words, first: Ints, left: Words, crowd: Words) -> None:
    """Lower a set of types, (W,), as `lower_few` does."""
    for c in range(1, len(sets)):
        upper = sets[c]
        under = sets[c - 1]
        lowest = len(left)
        for w in range(len(left) - 1, -1, -1):
            some = upper[w] & crowd[w] & left[w]
            if some:
                lowest = w
            upper[w] &= ~crowd[w]
            under[w] |= some
        first[c - 1] = min(first[c - 1], lowest)


@compiled
def next_type(sets: Words, first: Ints, left: Words, least: Floats, room: float) -> tuple[int, int]:
    """Return the type that lacks fewest sources on a server and fits, or -1; and the number that it lacks."""
    for c in range(len(sets)):
        for w in range(first[c], len(left)):
            word = sets[c, w] & left[w]
            while word:
                t = 64 * w + int(np.int64(lowest_bit(word)))
                if least[t] <= room:
                    first[c] = w
                    return t, c
                # It will not fit later either, because the room only shrinks.
                clear_bit(sets[c], t)
                word &= word - np.uint64(1)
        first[c] = len(left)
    return NONE, 0


@part
def add_sources(types: Types, levels: TypeLevels, holds: Flags, t: int, j: int) -> int:
    """Add the sources of type t to server j, which holds `holds`, (m,); return the number of new ones."""
    count = 0
    for c in range(types.start[t], types.start[t + 1]):
        s = types.source[c]
        if not holds[s]:
            holds[s] = True
            count += 1
            if levels.row[s] == NONE:
                members = types.member[types.member_start[s] : types.member_start[s + 1]]
                lower_few(levels.sets[j], levels.first[j], levels.left, members)
            else:
                lower_many(levels.sets[j], levels.first[j], levels.left, levels.crowds[levels.row[s]])
    return count


@compiled
def assign(types: Types, limits: Floats, capacity: Floats, whole: bool, server: Ints) -> None:
    """Fill in the server of each query, (n,), as `greedy_kernels.assign` does."""
    levels = fresh_levels(types, len(limits))
    # Traffic and costs are numbers of sources.
    holds, done, least, room, density, traffic, cost, rank, best = empty_servers(types, limits)
    while True:
        j = best_server(cost, rank, density, best)
        if j == NONE:
            return
        t = best[j]
        # The best pair of the other servers can only get worse, so only the winner's must be recomputed.
        if cost[j] == UNKNOWN or least[t] > room[j]:
            t, lacking = next_type(levels.sets[j], levels.first[j], levels.left, least, room[j])
            best[j] = t
            if t != NONE:
                rank[j] = types.rank[t]
                cost[j] = lacking + (traffic[j] if whole else 0.0)
            continue
        room[j] -= assign_type(types, done, least, room[j], t, j, server)
        density[j] = (limits[j] - room[j]) / capacity[j]  # exact: all are multiples of a grain
        traffic[j] += add_sources(types, levels, holds[j], t, j)
        # The type is done: remove it from all servers at once.
        if least[t] == np.inf:
            clear_bit(levels.left, t)
        cost[j] = UNKNOWN  # its cost may have fallen, because the server holds more sources
