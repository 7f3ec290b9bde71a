"""Compiled relief: move queries off servers that are above their limit, to open servers.

Rule 1: a removal is tried on the state itself, and undone as far as it is not worth its price. Rule 2: an arrival and
a query that moves here choose a server by the same policy.
"""

from __future__ import annotations

import numpy as np

from drover.herding.online.kernels import add_query, density_with, least_cost, remove_query
from drover.herding.online.list_kernels import has_room
from drover.herding.online.state import CAPACITY, LOAD, HerdState, QueryStore, Rules
from drover.herding.online.tie_kernels import is_open, limit_of
from drover.herding.refine_kernels import move_query
from drover.herding.set_kernels import compiled, part
from drover.load.arrays import Floats, Ints

GOOD = 0.5  # fraction of a group's largest worth with which more of its queries move
FULL = -1  # in place of a number of moves, if the pool of lists has no room


@part
def excess_of(state: HerdState, rules: Rules, a: int) -> float:
    """Return the load of server a above its limit; at most 0 if it is within it."""
    density = state.totals[LOAD] / state.totals[CAPACITY]
    return float(state.load[a] - limit_of(rules, density * state.capacity[a]))


@compiled
def move_to_open_server(
    state: HerdState, rules: Rules, store: QueryStore, q: int, a: int, work: Floats, near: Ints
) -> float:
    """Move query q off server a as if it had just arrived; return the traffic saved, NaN if no other server is open."""
    sources = store.source[store.start[q] : store.stop[q]]
    weight = store.weight[q]
    kind = store.kind[q]
    before = state.traffic[a]
    remove_query(state, sources, weight, kind, a)
    saved = before - state.traffic[a]
    for s in sources:  # the arrival counts in the degrees that decide on it
        state.degree[s] += 1
    b = least_cost(state, rules, sources, weight, work, near)
    for s in sources:
        state.degree[s] -= 1
    # A server above its limit is not open for its own query. If none is open, `least_cost` returns the lightest.
    if b == a or not is_open(rules, state.load, state.capacity, weight, density_with(state.totals, weight), b):
        add_query(state, sources, weight, kind, a)
        return np.nan
    before = state.traffic[b]
    add_query(state, sources, weight, kind, b)
    store.server[q] = b
    return float(saved - (state.traffic[b] - before))


@compiled
def relieve_server(
    state: HerdState,
    rules: Rules,
    store: QueryStore,
    price: Floats,
    group: Ints,
    a: int,
    toll: float,
    work: Floats,
    near: Ints,
    moved: Ints,
    worth: Floats,
) -> int:
    """Move queries of a group off server a until it is within its limit; return how many, and list them in `moved`.

    `worth` is filled in: the gain per price of the first so many of them. The gain is the traffic saved, plus the
    `toll` for each unit of load above the limit that has moved.
    """
    gain = 0.0
    cost = 0.0
    count = 0
    for q in group:
        excess = excess_of(state, rules, a)
        if excess <= 0:
            break
        if store.server[q] != a:
            continue
        if not has_room(state, store.stop[q] - store.start[q]):
            return FULL - count
        saved = move_to_open_server(state, rules, store, q, a, work, near)
        if np.isnan(saved):
            continue
        gain += saved + toll * min(store.weight[q], excess)
        cost += price[q]
        moved[count] = q
        worth[count] = gain / cost
        count += 1
    return count


@part
def worth_keeping(worth: Floats, count: int) -> tuple[float, int]:
    """Return the largest of the first so many values, and how many have a good part of it, up to the last that has."""
    largest = 0.0
    for c in range(count):
        largest = max(largest, worth[c])
    # If only the largest were kept, cheap queries would move one at a time.
    most = count if largest > 0 else 0
    while most > 0 and worth[most - 1] < GOOD * largest:
        most -= 1
    return largest, most


@compiled
def try_relief(
    state: HerdState,
    rules: Rules,
    store: QueryStore,
    price: Floats,
    pairs: Ints,
    queries: Ints,
    toll: float,
    keep: Floats,
    budget: Floats,
    worth: Floats,
    first: int,
) -> int:
    """Try to relieve servers, and fill in the worth per price, (p,); return the number of pairs tried.

    Pair p is as for `try_pairs`. Of a pair that is worth more than `keep`, (p,), as many moves are kept, and charged,
    as the `budget`, (2,), of price and queries allows: the rest of its queries follow with a later budget.
    """
    size = len(state.load)
    work = np.zeros((3, size))
    near = np.empty(size, dtype=np.int64)
    moved = np.empty(len(queries), dtype=np.int64)
    values = np.empty(len(queries))
    for p in range(first, len(pairs)):
        a = pairs[p, 2]
        group = queries[pairs[p, 0] : pairs[p, 1]]
        count = relieve_server(state, rules, store, price, group, a, toll, work, near, moved, values)
        full = count < 0
        count = FULL - count if full else count
        worth[p], most = worth_keeping(values, 0 if full else count)
        kept = 0
        while worth[p] > keep[p] and kept < most and budget[1] >= 1 and price[moved[kept]] <= budget[0]:
            budget[0] -= price[moved[kept]]
            budget[1] -= 1
            kept += 1
        for c in range(kept, count):
            move_query(state, store, moved[c], a)
        if full:  # the caller enlarges the pool and continues from here
            return p
    return len(pairs)
