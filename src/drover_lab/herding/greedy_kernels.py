"""Compiled IC and MMS: repeatedly choose the pair of a type and a server with the least cost.

Rule 1: costs are looked up, never all computed. Each server has a heap of the types that share a source with it, where
the types of one source count as one entry, and a position in a list of all types in order of their whole rate.
Rule 2: a type that cannot be taken never can be later: it is done, or its lightest remaining query does not fit. So
heaps and positions only move forward. Rule 3: `twins.py` tries every pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.set_kernels import compiled, part
from drover.load.arrays import Flags, Floats, Ints

NONE = -1
UNKNOWN = -np.inf  # cost


class Types(NamedTuple):
    """Types and their queries."""

    start: Ints  # (T + 1,) the sources of type t are source[start[t] : start[t + 1]]
    source: Ints
    first: Ints  # (T + 1,) the queries of type t are query[first[t] : first[t + 1]], lightest first
    query: Ints
    weight: Floats  # (n,) of a query
    whole: Floats  # (T,) total rate of the sources of type t
    order: Ints  # (T,) types by total rate, then by number
    rank: Ints  # (T,) breaks ties between types of equal cost: the lower goes first; never decreases with t
    rate: Floats  # (m,)
    member_start: Ints  # (m + 1,) the types with source s are member[member_start[s] : member_start[s + 1]]
    member: Ints  # types in that order, too
    owner: Ints  # and their source s


class Heap(NamedTuple):
    """Types that share a source with a server, the least added traffic first."""

    cost: Floats  # added traffic
    kind: Ints  # type
    spot: Ints  # position in `member` if the entry stands for all following types of its source, else -1


@part
def before(cost: float, rank: int, t: int, other_cost: float, other_rank: int, other: int) -> bool:
    """Return whether type t goes before the other type on the same server."""
    if cost != other_cost:
        return cost < other_cost
    return rank < other_rank or (rank == other_rank and t < other)


@part
def push(heap: Heap, size: int, rank: Ints, cost: float, t: int, at: int) -> None:
    """Add a type to a heap of this size, which must have room."""
    costs, kinds, spots = heap
    place = size
    while place > 0:
        up = (place - 1) >> 1
        if not before(cost, rank[t], t, costs[up], rank[kinds[up]], kinds[up]):
            break
        costs[place] = costs[up]
        kinds[place] = kinds[up]
        spots[place] = spots[up]
        place = up
    costs[place] = cost
    kinds[place] = t
    spots[place] = at


@part
def put_first(heap: Heap, size: int, rank: Ints, cost: float, t: int, at: int) -> None:
    """Replace the first type of a heap of this size."""
    costs, kinds, spots = heap
    place = 0
    while True:
        down = 2 * place + 1
        if down >= size:
            break
        if down + 1 < size:
            one = kinds[down]
            two = kinds[down + 1]
            down += 1 if before(costs[down + 1], rank[two], two, costs[down], rank[one], one) else 0
        if not before(costs[down], rank[kinds[down]], kinds[down], cost, rank[t], t):
            break
        # Moving the hole down, and filling it at the end, writes half as much as swapping.
        costs[place] = costs[down]
        kinds[place] = kinds[down]
        spots[place] = spots[down]
        place = down
    costs[place] = cost
    kinds[place] = t
    spots[place] = at


@part
def added(start: Ints, source: Ints, rate: Floats, holds: Flags, t: int) -> float:
    """Return the total rate of the sources of type t that are not in `holds`, (m,)."""
    cost = 0.0
    for c in range(start[t], start[t + 1]):
        cost += 0.0 if holds[source[c]] else rate[source[c]]
    return cost


@part
def next_fitting(kinds: Ints, at: int, end: int, least: Floats, room: float) -> int:
    """Return the first position from `at` on of a type that fits, or the end; `least` is its lightest query left."""
    while at < end and least[kinds[at]] > room:
        at += 1
    return at


@compiled
def skip_heap(types: Types, heap: Heap, size: int, least: Floats, room: float) -> int:
    """Return the size of a heap after removing first types that do not fit."""
    costs, kinds, spots = heap
    rank = types.rank
    member = types.member
    while size and least[kinds[0]] > room:
        at = spots[0]
        if at != NONE:  # an entry for the types of a source: go on to the next type
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
def push_types(types: Types, heap: Heap, size: int, least: Floats, holds: Flags, room: float, s: int) -> int:
    """Add the types with source s, which now add less traffic, to a heap with room; return its size.

    They are one entry, because they are already in order. Types that also share another source are added one by one.
    """
    start = types.start
    source = types.source
    rate = types.rate
    rank = types.rank
    member = types.member
    whole = types.whole
    first = types.member_start[s]
    end = types.member_start[s + 1]
    for c in range(first, end):
        t = member[c]
        if least[t] <= room:
            cost = added(start, source, rate, holds, t)
            # It shares another source, too, so its cost is below that of the common entry.
            if cost < whole[t] - rate[s]:
                push(heap, size, rank, cost, t, NONE)
                size += 1
    at = next_fitting(member, first, end, least, room)
    if at < end:
        push(heap, size, rank, whole[member[at]] - rate[s], member[at], at)
        size += 1
    return size


@compiled
def assign_type(types: Types, done: Ints, least: Floats, room: float, t: int, j: int, server: Ints) -> float:
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
def best_server(cost: Floats, rank: Ints, density: Floats, best: Ints) -> int:
    """Return the server with the best pair, or -1 if no server has one; arrays are (k,)."""
    j = NONE
    for i in range(len(cost)):
        if best[i] == NONE:
            continue
        if j == NONE or cost[i] < cost[j]:
            j = i
        elif cost[i] == cost[j]:
            # Ties: the lower rank, then the least relative load, the lower type, and the lower server, which comes
            # first.
            mine = (rank[i], density[i], best[i])
            other = (rank[j], density[j], best[j])
            j = i if mine < other else j
    return j


@compiled
def refresh(types: Types, heap: Heap, size: Ints, place: Ints, least: Floats, holds: Flags, room: float, j: int) -> int:
    """Return the type that adds least traffic to server j and fits, or -1; skip all that do not fit."""
    size[j] = skip_heap(types, heap, size[j], least, room)
    place[j] = next_fitting(types.order, place[j], len(types.order), least, room)
    shared = heap.kind[0] if size[j] else NONE
    fresh = types.order[place[j]] if place[j] < len(types.order) else NONE
    # At most one candidate: the larger of the two numbers is it, or NONE.
    if min(shared, fresh) == NONE:
        return max(shared, fresh)
    mine = added(types.start, types.source, types.rate, holds, shared)
    other = added(types.start, types.source, types.rate, holds, fresh)
    first = before(other, types.rank[fresh], fresh, mine, types.rank[shared], shared)
    return fresh if first else shared


@compiled
def grow_heap(heap: Heap, size: int, need: int) -> Heap:
    """Return a heap of this size with room for `need` types."""
    if need <= len(heap.cost):
        return heap
    # Twice the need, so that repeated growth takes linear time.
    new = Heap(np.empty(2 * need), np.empty(2 * need, dtype=np.int64), np.empty(2 * need, dtype=np.int64))
    new.cost[:size] = heap.cost[:size]
    new.kind[:size] = heap.kind[:size]
    new.spot[:size] = heap.spot[:size]
    return new


class GreedyState(NamedTuple):
    """What the greedy kernels have assigned so far."""

    holds: Flags  # (k, m) whether server j holds source s
    done: Ints  # (T,) position in `query` of the next query of type t
    least: Floats  # (T,) weight of the lightest remaining query, infinite if there is none
    room: Floats  # (k,)
    density: Floats  # (k,) relative load
    traffic: Floats  # (k,)
    cost: Floats  # (k,) of the server's best type
    rank: Ints  # (k,) of the server's best type
    best: Ints  # (k,) the server's best type


@compiled
def empty_servers(types: Types, limits: Floats) -> GreedyState:
    """Return the state without any assignment; all costs are UNKNOWN."""
    k = len(limits)
    holds = np.zeros((k, len(types.rate)), dtype=np.bool_)
    done = types.first[:-1].copy()
    least = types.weight[types.query[done]]
    cost = np.full(k, UNKNOWN)
    rank = np.zeros(k, np.int64)
    best = np.zeros(k, np.int64)
    return GreedyState(holds, done, least, limits.copy(), np.zeros(k), np.zeros(k), cost, rank, best)


@compiled
def assign(types: Types, limits: Floats, capacity: Floats, whole: bool, server: Ints) -> None:
    """Fill in the server of each query, (n,): by least added traffic (IC), or by least traffic of its server (MMS).

    Ties go to the lower rank, then to the least relative load, to the lower type and to the lower server.
    """
    k = len(limits)
    holds, done, least, room, density, traffic, cost, rank, best = empty_servers(types, limits)
    heaps = [Heap(np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) for _ in range(k)]
    size = np.zeros(k, np.int64)
    place = np.zeros(k, np.int64)
    while True:
        j = best_server(cost, rank, density, best)
        if j == NONE:
            return
        t = best[j]
        # The best pair of the other servers can only get worse, so only the winner's must be recomputed.
        if cost[j] == UNKNOWN or least[t] > room[j]:
            best[j] = t = refresh(types, heaps[j], size, place, least, holds[j], room[j], j)
            if t != NONE:
                rank[j] = types.rank[t]
                cost[j] = added(types.start, types.source, types.rate, holds[j], t)
                cost[j] += traffic[j] if whole else 0.0
            continue
        room[j] -= assign_type(types, done, least, room[j], t, j, server)
        density[j] = (limits[j] - room[j]) / capacity[j]  # exact: all are multiples of a grain
        for s in types.source[types.start[t] : types.start[t + 1]]:
            if not holds[j, s]:
                holds[j, s] = True
                traffic[j] += types.rate[s]
                need = size[j] + types.member_start[s + 1] - types.member_start[s] + 1
                heaps[j] = grow_heap(heaps[j], size[j], need)
                size[j] = push_types(types, heaps[j], size[j], least, holds[j], room[j], s)
        cost[j] = UNKNOWN  # its cost may have fallen, because the server holds more sources
