"""Compiled IC and MMS: again and again the pair of a type and a server with the least cost.

Rule 1: costs are looked up, never all computed: each server has a heap of the types that share a source with it, those
with one source as a whole, and its place in a list of all types in order of their whole rate. Rule 2: what cannot be
taken any more never can: a type that is done, or whose next query, the lightest, does not fit. So heaps and places only
go forward. Rule 3: `twins.py` looks at every pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.sets.kernels import compiled, part
from drover.load.arrays import Flags, Floats, Ints

NOBODY = -1
UNKNOWN = -np.inf  # cost


class Types(NamedTuple):
    """Types and their queries."""

    start: Ints  # (T + 1,) the sources of type t are source[start[t] : start[t + 1]]
    source: Ints
    first: Ints  # (T + 1,) the queries of type t are query[first[t] : first[t + 1]], the lightest first
    query: Ints
    weight: Floats  # (n,) of a query
    whole: Floats  # (T,) rate of all sources of type t
    order: Ints  # (T,) types by whole rate, then by number
    rank: Ints  # (T,) which of two types that cost the same goes first: the lower; never falls
    rate: Floats  # (m,)
    member_start: Ints  # (m + 1,) the types with source s are member[member_start[s] : member_start[s + 1]]
    member: Ints  # in that order, too
    owner: Ints  # and their source s


class Heap(NamedTuple):
    """Types that share a source with a server, the one that adds least first."""

    cost: Floats  # what it adds to the traffic
    kind: Ints  # type
    spot: Ints  # its place in `member` if it stands for all that follow there with the same source, else -1


@part
def before(cost: float, rank: int, t: int, other_cost: float, other_rank: int, other: int) -> bool:
    """Return whether type t goes before the other one on the same server."""
    if cost != other_cost:
        return cost < other_cost
    return rank < other_rank or (rank == other_rank and t < other)


@part
def push(heap: Heap, size: int, rank: Ints, cost: float, t: int, at: int) -> None:
    """Add a type to a heap of that size, in which there is room."""
    costs, kinds, spots = heap
    place = size
    while place > 0:
        up = (place - 1) >> 1
        if not before(cost, rank[t], t, costs[up], rank[kinds[up]], kinds[up]):
            break
        costs[place], kinds[place], spots[place] = costs[up], kinds[up], spots[up]
        place = up
    costs[place], kinds[place], spots[place] = cost, t, at


@part
def put_first(heap: Heap, size: int, rank: Ints, cost: float, t: int, at: int) -> None:
    """Replace the first type of a heap of that size by another one."""
    costs, kinds, spots = heap
    place = 0
    while True:
        down = 2 * place + 1
        if down >= size:
            break
        if down + 1 < size:
            one, two = kinds[down], kinds[down + 1]
            down += 1 if before(costs[down + 1], rank[two], two, costs[down], rank[one], one) else 0
        if not before(costs[down], rank[kinds[down]], kinds[down], cost, rank[t], t):
            break
        costs[place], kinds[place], spots[place] = costs[down], kinds[down], spots[down]
        place = down
    costs[place], kinds[place], spots[place] = cost, t, at


@part
def added(start: Ints, source: Ints, rate: Floats, holds: Flags, t: int) -> float:
    """Return the rate of the sources of type t that are not in `holds`, (m,)."""
    cost = 0.0
    for c in range(start[t], start[t + 1]):
        cost += 0.0 if holds[source[c]] else rate[source[c]]
    return cost


@part
def next_fitting(kinds: Ints, at: int, end: int, least: Floats, room: float) -> int:
    """Return the first place, from that one on, of a type that fits, or the end; `least` is its lightest query left."""
    while at < end and least[kinds[at]] > room:
        at += 1
    return at


@compiled
def skip_heap(types: Types, heap: Heap, size: int, least: Floats, room: float) -> int:
    """Return the size of a heap once its first type fits, or it is empty."""
    costs, kinds, spots = heap
    rank, member = types.rank, types.member
    while size and least[kinds[0]] > room:
        at = spots[0]
        if at != NOBODY:  # the types of a source: go on to the next
            s = types.owner[at]
            end = types.member_start[s + 1]
            at = next_fitting(member, at + 1, end, least, room)
            if at < end:
                put_first(heap, size, rank, types.whole[member[at]] - types.rate[s], member[at], at)
                continue
        size -= 1
        put_first(heap, size, rank, costs[size], kinds[size], spots[size])
    return size


@compiled
def spread(types: Types, heap: Heap, size: int, least: Floats, holds: Flags, room: float, s: int) -> int:
    """Put the types with source s, which add less now, into a heap that has room; return its size.

    They are there as one, in the order they have anyway; those that share another source, too, come one by one.
    """
    start, source, rate, rank, member, whole = (
        types.start,
        types.source,
        types.rate,
        types.rank,
        types.member,
        types.whole,
    )
    first, end = types.member_start[s], types.member_start[s + 1]
    for c in range(first, end):
        t = member[c]
        if least[t] <= room:
            cost = added(start, source, rate, holds, t)
            if cost < whole[t] - rate[s]:
                push(heap, size, rank, cost, t, NOBODY)
                size += 1
    at = next_fitting(member, first, end, least, room)
    if at < end:
        push(heap, size, rank, whole[member[at]] - rate[s], member[at], at)
        size += 1
    return size


@compiled
def fill(types: Types, done: Ints, least: Floats, room: float, t: int, j: int, server: Ints) -> float:
    """Assign queries of type t to server j while they fit, and return their load."""
    load = 0.0
    while least[t] <= room - load:
        q = types.query[done[t]]
        server[q] = j
        load += types.weight[q]
        done[t] += 1
        least[t] = types.weight[types.query[done[t]]] if done[t] < types.first[t + 1] else np.inf
    return load


@compiled
def winner(cost: Floats, rank: Ints, density: Floats, best: Ints) -> int:
    """Return the server whose best pair with a type goes first, or -1 if nobody has one; arrays are (k,)."""
    j = NOBODY
    for i in range(len(cost)):
        if best[i] == NOBODY:
            continue
        if j == NOBODY or cost[i] < cost[j]:
            j = i
        elif cost[i] == cost[j]:
            # The lower rank, then the least relative load, the lower type, and the lower server, which comes first.
            mine, other = (rank[i], density[i], best[i]), (rank[j], density[j], best[j])
            j = i if mine < other else j
    return j


@compiled
def refresh(types: Types, heap: Heap, size: Ints, place: Ints, least: Floats, holds: Flags, room: float, j: int) -> int:
    """Return the type that adds least to server j and fits, or -1; go past all that do not."""
    size[j] = skip_heap(types, heap, size[j], least, room)
    place[j] = next_fitting(types.order, place[j], len(types.order), least, room)
    shared = heap.kind[0] if size[j] else NOBODY
    fresh = types.order[place[j]] if place[j] < len(types.order) else NOBODY
    if min(shared, fresh) == NOBODY:
        return max(shared, fresh)
    mine = added(types.start, types.source, types.rate, holds, shared)
    other = added(types.start, types.source, types.rate, holds, fresh)
    first = before(other, types.rank[fresh], fresh, mine, types.rank[shared], shared)
    return fresh if first else shared


@compiled
def grown(heap: Heap, size: int, need: int) -> Heap:
    """Return a heap of that size with room for as many types as are needed."""
    if need <= len(heap.cost):
        return heap
    new = Heap(np.empty(2 * need), np.empty(2 * need, dtype=np.int64), np.empty(2 * need, dtype=np.int64))
    new.cost[:size], new.kind[:size], new.spot[:size] = heap.cost[:size], heap.kind[:size], heap.spot[:size]
    return new


@compiled
def assign(types: Types, limits: Floats, capacity: Floats, whole: bool, server: Ints) -> None:
    """Fill in the server of each query, (n,): by least added traffic (IC), or least traffic of its server (MMS).

    Ties go to the lower rank, then to the least relative load, to the lower type and to the lower server.
    """
    k = len(limits)
    holds = np.zeros((k, len(types.rate)), dtype=np.bool_)
    heaps = [Heap(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) for _ in range(k)]
    done, room = types.first[:-1].copy(), limits.copy()
    least = types.weight[types.query[done]]  # (T,) the lightest query left, endless if none is
    size, place = np.zeros(k, np.int64), np.zeros(k, np.int64)
    density, traffic = np.zeros(k), np.zeros(k)
    cost, rank, best = np.full(k, UNKNOWN), np.zeros(k, np.int64), np.zeros(k, np.int64)  # of the best type
    while True:
        j = winner(cost, rank, density, best)
        if j == NOBODY:
            return
        t = best[j]
        # What was best for a server is at least as good as what is now: so only who wins has to look again.
        if cost[j] == UNKNOWN or least[t] > room[j]:
            best[j] = t = refresh(types, heaps[j], size, place, least, holds[j], room[j], j)
            if t != NOBODY:
                rank[j] = types.rank[t]
                cost[j] = added(types.start, types.source, types.rate, holds[j], t)
                cost[j] += traffic[j] if whole else 0.0
            continue
        room[j] -= fill(types, done, least, room[j], t, j, server)
        density[j] = (limits[j] - room[j]) / capacity[j]  # exact: all of them are multiples of a grain
        for s in types.source[types.start[t] : types.start[t + 1]]:
            if not holds[j, s]:
                holds[j, s] = True
                traffic[j] += types.rate[s]
                need = size[j] + types.member_start[s + 1] - types.member_start[s] + 1
                heaps[j] = grown(heaps[j], size[j], need)
                size[j] = spread(types, heaps[j], size[j], least, holds[j], room[j], s)
        cost[j] = UNKNOWN  # it may have become better
