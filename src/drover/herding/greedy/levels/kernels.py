"""Compiled IC and MMS if all sources have one rate: a cost is a number of sources, so types stand on few levels.

Rule 1: it decides as `greedy/kernels.py` does, which takes any rates, to the bit. Rule 2: level c of a server is a set
of types, as bits, that lack c of their sources there; types are numbered in the order in which they go, so the lowest
bit is next. Rule 3: what cannot be taken any more never can, so a type leaves the sets for good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.greedy.kernels import NOBODY, UNKNOWN, Types, fill, winner
from drover.herding.sets.kernels import Words, compiled, drop_bit, lowest_bit, part, put_bit
from drover.load.arrays import Flags, Floats, Ints

WIDE = 16  # words that are done in the time of one type


class Levels(NamedTuple):
    """Which types lack how many sources on which server."""

    sets: Words  # (k, L, W) bit t of level c: type t lacks c sources on server j
    first: Ints  # (k, L) words before that one have no type that can be taken
    left: Words  # (W,) bit t: there are queries of type t that have no server
    row: Ints  # (m,) where in `crowds` source s is, or -1 if it has few types
    crowds: Words  # (H, W) bit t: type t has the source


@compiled
def fresh_levels(types: Types, k: int) -> Levels:
    """Return the levels of servers that hold nothing."""
    count, sizes, degree = len(types.rank), np.diff(types.start), np.diff(types.member_start)
    words = (count + 63) // 64
    one = np.zeros((sizes.max() + 1, words), dtype=np.uint64)
    left = np.zeros(words, dtype=np.uint64)
    for t in range(count):
        put_bit(one[sizes[t]], t)
        put_bit(left, t)
    sets = np.empty((k, len(one), words), dtype=np.uint64)
    for j in range(k):
        sets[j] = one
    popular = degree > words * len(one) // WIDE
    row = np.where(popular, np.cumsum(popular) - 1, NOBODY)
    crowds = np.zeros((popular.sum(), words), dtype=np.uint64)
    for s in np.flatnonzero(popular):
        for c in range(types.member_start[s], types.member_start[s + 1]):
            put_bit(crowds[row[s]], types.member[c])
    return Levels(sets, np.zeros((k, len(one)), dtype=np.int64), left, row, crowds)


@compiled
def lower_few(sets: Words, first: Ints, left: Words, members: Ints) -> None:
    """Take types down by a level on a server that now holds a source they have; levels are those of the server."""
    for t in members:
        w, bit = t >> 6, np.uint64(1) << np.uint64(t & 63)
        if left[w] & bit:
            c = 1
            while c < len(sets) and not sets[c, w] & bit:
                c += 1
            if c < len(sets):  # else it does not fit there any more
                sets[c, w] &= ~bit
                sets[c - 1, w] |= bit
                first[c - 1] = min(first[c - 1], w)


@compiled
def lower_many(sets: Words, first: Ints, left: Words, crowd: Words) -> None:
    """Do the same with a set of types, (W,)."""
    for c in range(1, len(sets)):
        upper, under, lowest = sets[c], sets[c - 1], len(left)
        for w in range(len(left) - 1, -1, -1):
            some = upper[w] & crowd[w] & left[w]
            if some:
                lowest = w
            upper[w] &= ~crowd[w]
            under[w] |= some
        first[c - 1] = min(first[c - 1], lowest)


@compiled
def next_type(sets: Words, first: Ints, left: Words, least: Floats, room: float) -> tuple[int, int]:
    """Return the type that lacks least on a server and fits, or -1; and how many sources it lacks."""
    for c in range(len(sets)):
        for w in range(first[c], len(left)):
            word = sets[c, w] & left[w]
            while word:
                t = 64 * w + int(np.int64(lowest_bit(word)))
                if least[t] <= room:
                    first[c] = w
                    return t, c
                drop_bit(sets[c], t)
                word &= word - np.uint64(1)
        first[c] = len(left)
    return NOBODY, 0


@part
def take_in(types: Types, levels: Levels, holds: Flags, t: int, j: int) -> int:
    """Let server j, which holds `holds`, (m,), have the sources of type t, and return how many are new."""
    count = 0
    for c in range(types.start[t], types.start[t + 1]):
        s = types.source[c]
        if not holds[s]:
            holds[s] = True
            count += 1
            if levels.row[s] == NOBODY:
                members = types.member[types.member_start[s] : types.member_start[s + 1]]
                lower_few(levels.sets[j], levels.first[j], levels.left, members)
            else:
                lower_many(levels.sets[j], levels.first[j], levels.left, levels.crowds[levels.row[s]])
    return count


@compiled
def assign(types: Types, limits: Floats, capacity: Floats, whole: bool, server: Ints) -> None:
    """Fill in the server of each query, (n,), as `greedy.kernels.assign` does."""
    k = len(limits)
    levels, holds = fresh_levels(types, k), np.zeros((k, len(types.rate)), dtype=np.bool_)
    done, room = types.first[:-1].copy(), limits.copy()
    least = types.weight[types.query[done]]  # (T,) the lightest query left, endless if none is
    density, traffic = np.zeros(k), np.zeros(k)  # traffic and costs are in sources
    cost, rank, best = np.full(k, UNKNOWN), np.zeros(k, np.int64), np.zeros(k, np.int64)  # of the best type
    while True:
        j = winner(cost, rank, density, best)
        if j == NOBODY:
            return
        t = best[j]
        # What was best for a server is at least as good as what is now: so only who wins has to look again.
        if cost[j] == UNKNOWN or least[t] > room[j]:
            t, lacking = next_type(levels.sets[j], levels.first[j], levels.left, least, room[j])
            best[j] = t
            if t != NOBODY:
                rank[j], cost[j] = types.rank[t], lacking + (traffic[j] if whole else 0.0)
            continue
        room[j] -= fill(types, done, least, room[j], t, j, server)
        density[j] = (limits[j] - room[j]) / capacity[j]  # exact: all of them are multiples of a grain
        traffic[j] += take_in(types, levels, holds[j], t, j)
        if least[t] == np.inf:
            drop_bit(levels.left, t)
        cost[j] = UNKNOWN  # it may have become better
