"""Compiled refinement: move the few queries that need a source off a server, so that it need not receive the source.

Rule 1: a removal is tried on the state itself, and undone if it is not worth its price. Rule 2: queries move only to
open servers that hold one of their sources.
"""

from __future__ import annotations

import numpy as np

from drover.herding.online.kernels import add_query, collect, remove_query
from drover.herding.online.list_kernels import find, has_room
from drover.herding.online.state import CAPACITY, LOAD, RARE_FIRST, HerdState, QueryStore, Rules
from drover.herding.online.tie_kernels import is_open, lighter
from drover.herding.set_kernels import compiled
from drover.load.arrays import Floats, Ints


@compiled
def best_other_server(
    state: HerdState, rules: Rules, sources: Ints, weight: float, a: int, work: Floats, near: Ints
) -> int:
    """Return the open server other than a that holds most of the sources, by rate, or -1 if none holds any."""
    count = collect(state, sources, work, near, RARE_FIRST)
    load = state.load
    capacity = state.capacity
    gain = work[0]
    density = state.totals[LOAD] / state.totals[CAPACITY]
    best = -1
    most = 0.0
    nearest = 0.0
    for c in range(count):
        j = near[c]
        found = gain[j]
        gain[j] = 0.0
        if j == a or found < most or not is_open(rules, load, capacity, weight, density, j):
            continue
        closer = work[2, j] > nearest or (work[2, j] == nearest and lighter(load, capacity, j, best))
        if best < 0 or found > most or closer:
            best = j
            most = found
            nearest = work[2, j]
    return best


@compiled
def traffic_saved(state: HerdState, sources: Ints, a: int, b: int) -> float:
    """Return the decrease of traffic if a query with these sources moves from server a to b."""
    gain = 0.0
    for s in sources:
        gain += state.rate[s] if state.tally[find(state, s, a)] == 1 else 0.0
        gain -= state.rate[s] if find(state, s, b) == state.at[s] + state.size[s] else 0.0
    return gain


@compiled
def move_query(state: HerdState, store: QueryStore, q: int, b: int) -> None:
    """Move query q to server b."""
    sources = store.source[store.start[q] : store.stop[q]]
    remove_query(state, sources, store.weight[q], store.kind[q], store.server[q])
    add_query(state, sources, store.weight[q], store.kind[q], b)
    store.server[q] = b


@compiled
def empty_server(
    state: HerdState, rules: Rules, store: QueryStore, queries: Ints, a: int, work: Floats, near: Ints, moved: Ints
) -> tuple[float, int]:
    """Move the given queries off server a; return the traffic saved and the number moved, which are listed in `moved`.

    If a query finds no other server, the earlier ones have moved, and the saving is 0.
    """
    gain = 0.0
    count = 0
    for q in queries:
        if store.server[q] != a:
            continue
        sources = store.source[store.start[q] : store.stop[q]]
        b = best_other_server(state, rules, sources, store.weight[q], a, work, near)
        if b < 0:
            return 0.0, count
        gain += traffic_saved(state, sources, a, b)
        move_query(state, store, q, b)
        moved[count] = q
        count += 1
    return gain, count


@compiled
def try_pairs(
    state: HerdState,
    rules: Rules,
    store: QueryStore,
    price: Floats,
    pairs: Ints,
    queries: Ints,
    keep: Floats,
    budget: Floats,
    worth: Floats,
    first: int,
) -> int:
    """Try to relieve servers of sources, and fill in the worth per price, (p,); return the number of pairs tried.

    Pair p concerns queries[pairs[p, 0] : pairs[p, 1]] on server pairs[p, 2]. A pair that is worth more than `keep`,
    (p,), and within the `budget`, (2,), of price and queries, is kept and charged to the budget. The others are undone.
    """
    size = len(state.load)
    work = np.zeros((3, size))
    near = np.empty(size, dtype=np.int64)
    moved = np.empty(64, dtype=np.int64)
    for p in range(first, len(pairs)):
        group = queries[pairs[p, 0] : pairs[p, 1]]
        a = pairs[p, 2]
        lists = 0
        for q in group:
            lists += store.stop[q] - store.start[q]
        # Stop before the pool of lists overflows; the caller enlarges it and continues from here.
        if not has_room(state, lists):
            return p
        gain, count = empty_server(state, rules, store, group, a, work, near, moved)
        cost = 0.0
        for c in range(count):
            cost += price[moved[c]]
        # Nothing moved, or nothing was saved: not worth keeping.
        worth[p] = gain / cost if gain > 0 and cost > 0 else 0.0
        if worth[p] > keep[p] and cost <= budget[0] and count <= budget[1]:
            budget[0] -= cost
            budget[1] -= count
            continue
        for c in range(count):
            move_query(state, store, moved[c], a)
    return len(pairs)
