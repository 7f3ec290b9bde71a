"""Compiled refinement: take the few queries off a server that need a source there, so that it need not be sent.

Rule 1: a removal is tried on the state itself, and undone if it is not worth its price. Rule 2: queries go to servers
that hold a source of theirs and may take them, and nowhere else.
"""

from __future__ import annotations

import numpy as np

from drover.herding.online.kernels import collect, host, release
from drover.herding.online.lists.kernels import find, has_room
from drover.herding.online.state import CAPACITY, LOAD, RARE_FIRST, Rules, State, Store
from drover.herding.online.ties.kernels import is_open, lighter
from drover.herding.sets.kernels import compiled
from drover.load.arrays import Floats, Ints


@compiled
def home_elsewhere(state: State, rules: Rules, sources: Ints, weight: float, a: int, work: Floats, near: Ints) -> int:
    """Return the open server other than a that has most of the sources, by rate, or -1 if none has any."""
    count = collect(state, sources, work, near, RARE_FIRST)
    load, capacity, gain = state.load, state.capacity, work[0]
    density = state.totals[LOAD] / state.totals[CAPACITY]
    best, most, nearest = -1, 0.0, 0.0
    for c in range(count):
        j = near[c]
        found, gain[j] = gain[j], 0.0
        if j == a or found < most or not is_open(rules, load, capacity, weight, density, j):
            continue
        closer = work[2, j] > nearest or (work[2, j] == nearest and lighter(load, capacity, j, best))
        if best < 0 or found > most or closer:
            best, most, nearest = j, found, work[2, j]
    return best


@compiled
def saved(state: State, sources: Ints, a: int, b: int) -> float:
    """Return by how much the traffic falls if a query with these sources goes from server a to b."""
    gain = 0.0
    for s in sources:
        gain += state.rate[s] if state.tally[find(state, s, a)] == 1 else 0.0
        gain -= state.rate[s] if find(state, s, b) == state.at[s] + state.size[s] else 0.0
    return gain


@compiled
def move(state: State, store: Store, q: int, b: int) -> None:
    """Put query q on server b."""
    sources = store.source[store.start[q] : store.stop[q]]
    release(state, sources, store.weight[q], store.kind[q], store.server[q])
    host(state, sources, store.weight[q], store.kind[q], b)
    store.server[q] = b


@compiled
def empty_out(
    state: State, rules: Rules, store: Store, queries: Ints, a: int, work: Floats, near: Ints, moved: Ints
) -> tuple[float, int]:
    """Move those of the queries that are on server a away; return what is saved, and how many moved, listed in `moved`.

    If one of them finds no other server, those before it have moved, and nothing is said to be saved.
    """
    gain, count = 0.0, 0
    for q in queries:
        if store.server[q] != a:
            continue
        sources = store.source[store.start[q] : store.stop[q]]
        b = home_elsewhere(state, rules, sources, store.weight[q], a, work, near)
        if b < 0:
            return 0.0, count
        gain += saved(state, sources, a, b)
        move(state, store, q, b)
        moved[count] = q
        count += 1
    return gain, count


@compiled
def try_out(
    state: State,
    rules: Rules,
    store: Store,
    price: Floats,
    pairs: Ints,
    queries: Ints,
    keep: Floats,
    budget: Floats,
    worth: Floats,
    first: int,
) -> int:
    """Try to empty servers of sources, and note what that is worth per price, (p,); return how many pairs were tried.

    Pair p is about queries[pairs[p, 0] : pairs[p, 1]] on server pairs[p, 2]. What is worth more than `keep`, (p,), and
    within the `budget`, (2,), of price and of queries, is kept and taken off it; the rest is undone.
    """
    size = len(state.load)
    work, near, moved = np.zeros((3, size)), np.empty(size, dtype=np.int64), np.empty(64, dtype=np.int64)
    for p in range(first, len(pairs)):
        group, a = queries[pairs[p, 0] : pairs[p, 1]], pairs[p, 2]
        lists = 0
        for q in group:
            lists += store.stop[q] - store.start[q]
        if not has_room(state, lists):
            return p
        gain, count = empty_out(state, rules, store, group, a, work, near, moved)
        cost = 0.0
        for c in range(count):
            cost += price[moved[c]]
        worth[p] = gain / cost if gain > 0 and cost > 0 else 0.0
        if worth[p] > keep[p] and cost <= budget[0] and count <= budget[1]:
            budget[0] -= cost
            budget[1] -= count
            continue
        for c in range(count):
            move(state, store, moved[c], a)
    return len(pairs)
