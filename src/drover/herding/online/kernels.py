"""The compiled choice of a server for each arrival, and what arrivals and departures change.

Rule 1: no chance inside: draws come in as an array. Rule 2: ties go to the least relative load, then to the lowest
number. Rule 3: `twins.py` says the same in plain Python.
"""

from __future__ import annotations

import numpy as np

from drover.herding.online.lists.kernels import enter, has_room, strike
from drover.herding.online.state import (
    ARRIVED,
    CAPACITY,
    GATHER,
    HASH,
    HELD,
    KINDS,
    LEAST_COST,
    LEAST_SOURCE,
    LEAST_TYPES,
    LIVE,
    LOAD,
    RANDOM,
    RARE_FIRST,
    SERVERS,
    TURN,
    WISH,
    Rules,
    State,
    Store,
)
from drover.herding.online.ties.kernels import is_open, is_staying, lighter, nearness, promise
from drover.herding.sets.kernels import SPREAD, compiled, count_down, count_of, count_up, part, replay
from drover.load.arrays import Flags, Floats, Ints


@part
def density_with(totals: Floats, weight: float) -> float:
    """Return the load per capacity once a query of that weight is here."""
    return float((totals[LOAD] + weight) / totals[CAPACITY])


@compiled
def lightest(state: State, rules: Rules, weight: float) -> int:
    """Return the open server with the least relative load; of all servers, if none is open."""
    load, capacity = state.load, state.capacity
    winner, density = int(state.tree[1]), density_with(state.totals, weight)
    if is_open(rules, load, capacity, weight, density, winner):
        return winner
    best = -1
    for j in range(len(load)):
        if is_open(rules, load, capacity, weight, density, j) and lighter(load, capacity, j, best):
            best = j
    return winner if best < 0 else best


@compiled
def collect(state: State, sources: Ints, work: Floats, near: Ints, policy: int) -> int:
    """Add up what the servers that share a source have of them; return how many these are, listed in `near`.

    The rows of `work`, (3, K), are the rate of the sources that a server holds, which must be 0 everywhere before; how
    rare these are; and the rate over the degree times its part of the queries. LeastCost needs the first.
    A source is rare that has few queries; to who gathers, few for each server that holds it.
    """
    gain, rare, gathered, member, tally = work[0], work[1], work[2], state.member, state.tally
    count = 0
    for s in sources:
        rate, first, last = state.rate[s], state.at[s], state.at[s] + state.size[s]
        if rate <= 0:  # saves nothing wherever it is
            continue
        for c in range(first, last):
            j = member[c]
            if gain[j] == 0:
                near[count] = j
                count += 1
                rare[j], gathered[j] = 0.0, 0.0
            gain[j] += rate
        if policy != LEAST_COST:
            scarcity = rate / state.degree[s]
            spread = 1.0 if policy == RARE_FIRST else np.sqrt(state.size[s])
            for c in range(first, last):
                rare[member[c]] += scarcity * spread
                gathered[member[c]] += scarcity * tally[c]
    return count


@compiled
def least_cost(state: State, rules: Rules, sources: Ints, weight: float, work: Floats, near: Ints) -> int:
    """Return the open server that has most of the sources already; row 0 of `work`, (3, K), is 0 and stays so."""
    count = collect(state, sources, work, near, rules.policy)
    load, capacity, gain, density = state.load, state.capacity, work[0], density_with(state.totals, weight)
    most, everything = 0.0, 0.0
    for c in range(count):
        j = near[c]
        if gain[j] > most and is_open(rules, load, capacity, weight, density, j):
            most = gain[j]
    for s in sources:
        everything += state.rate[s]
    staying = is_staying(state.totals)
    held, rate = most == everything, everything / len(sources)
    hoping = staying and not held and rules.policy not in (LEAST_COST, RARE_FIRST)
    best, nearest, hope = -1, 0.0, 0.0
    for c in range(count):
        j = near[c]
        found, gain[j] = gain[j], 0.0
        if found == most and is_open(rules, load, capacity, weight, density, j):
            close = nearness(rules, staying, load[j], density * capacity[j], work[1, j], work[2, j], held, rate)
            hopes = promise(rules, state.totals, load[j], capacity[j], state.held[j], density) if hoping else 0.0
            same = close == nearest and hopes == hope
            ahead = close > nearest or (close == nearest and hopes > hope)
            if best < 0 or ahead or (same and lighter(load, capacity, j, best)):
                best, nearest, hope = j, close, hopes
    return best if best >= 0 else lightest(state, rules, weight)


@compiled
def least_after(state: State, rules: Rules, sources: Ints, weight: float, kind: int, work: Floats, near: Ints) -> int:
    """Return the open server that has the least traffic, or the fewest types, with the query."""
    load, capacity, density = state.load, state.capacity, density_with(state.totals, weight)
    gain, best, least, everything = work[0], -1, 0.0, 0.0
    count = collect(state, sources, work, near, LEAST_COST)
    for s in sources:
        everything += state.rate[s]
    for j in range(len(load)):
        if not is_open(rules, load, capacity, weight, density, j):
            continue
        if rules.policy == LEAST_SOURCE:
            after = state.traffic[j] + (everything - gain[j])
        else:
            there = count_of(state.kind_keys, state.kind_counts, kind * SERVERS + j) > 0
            after = float(state.kinds[j] + (0 if there else 1))
        if best < 0 or after < least or (after == least and lighter(load, capacity, j, best)):
            best, least = j, after
    for c in range(count):
        gain[near[c]] = 0.0
    return best if best >= 0 else lightest(state, rules, weight)


@compiled
def drawn(state: State, rules: Rules, weight: float, draw: float) -> int:
    """Return one of the open servers, all equally likely if `draw` is uniform in [0, 1)."""
    load, capacity, density = state.load, state.capacity, density_with(state.totals, weight)
    count = 0
    for j in range(len(load)):
        count += 1 if is_open(rules, load, capacity, weight, density, j) else 0
    left = np.int64(draw * count)
    for j in range(len(load)):
        if is_open(rules, load, capacity, weight, density, j):
            if left == 0:
                return j
            left -= 1
    return lightest(state, rules, weight)


@compiled
def first_after(state: State, rules: Rules, weight: float) -> int:
    """Return the first open server from the one whose turn it is, or from where the arrival's number hashes to."""
    load, capacity, density = state.load, state.capacity, density_with(state.totals, weight)
    first = int(state.totals[TURN])
    if rules.policy == HASH:
        mixed = np.uint64(np.int64(state.totals[ARRIVED]) + 1) * SPREAD
        first = int(np.int64((mixed ^ (mixed >> np.uint64(32))) % np.uint64(len(load))))
    for step in range(len(load)):
        j = (first + step) % len(load)
        if is_open(rules, load, capacity, weight, density, j):
            return j
    return lightest(state, rules, weight)


@compiled
def choose(
    state: State, rules: Rules, sources: Ints, weight: float, kind: int, draw: float, work: Floats, near: Ints
) -> int:
    """Return the server for an arrival; with WISH, `draw` is the one it should have, or -1, and else it is gathered."""
    if rules.policy == WISH:
        wish, density = int(draw), density_with(state.totals, weight)
        if wish >= 0 and is_open(rules, state.load, state.capacity, weight, density, wish):
            return wish
    if rules.policy <= GATHER or rules.policy == WISH:
        return least_cost(state, rules, sources, weight, work, near)
    if rules.policy <= LEAST_TYPES:
        return least_after(state, rules, sources, weight, kind, work, near)
    if rules.policy == RANDOM:
        return drawn(state, rules, weight, draw)
    return first_after(state, rules, weight)


@compiled
def host(state: State, sources: Ints, weight: float, kind: int, j: int) -> None:
    """Put a query on server j."""
    state.load[j] += weight
    state.totals[LOAD] += weight
    state.totals[LIVE] += 1
    for s in sources:
        state.degree[s] += 1
        if enter(state, s, j) == 1:
            state.traffic[j] += state.rate[s]
            state.held[j] += 1
            state.totals[HELD] += 1
    if kind >= 0 and count_up(state.kind_keys, state.kind_counts, kind * SERVERS + j) == 1:
        state.kinds[j] += 1
        state.totals[KINDS] += 1
    replay(state.tree, state.load, state.capacity, j)


@compiled
def release(state: State, sources: Ints, weight: float, kind: int, j: int) -> None:
    """Take a query off server j."""
    state.load[j] -= weight
    state.totals[LOAD] -= weight
    state.totals[LIVE] -= 1
    for s in sources:
        state.degree[s] -= 1
        if strike(state, s, j) == 0:
            state.traffic[j] -= state.rate[s]
            state.held[j] -= 1
            state.totals[HELD] -= 1
    if kind >= 0 and count_down(state.kind_keys, state.kind_counts, kind * SERVERS + j) == 0:
        state.kinds[j] -= 1
        state.totals[KINDS] -= 1
    replay(state.tree, state.load, state.capacity, j)


@compiled
def play(state: State, rules: Rules, store: Store, queries: Ints, arrives: Flags, draws: Floats, moved: bool) -> int:
    """Let queries arrive and leave, in that order, and return how many did before the pool of lists became too small.

    `moved` queries were here before, and do not count as arrivals.
    """
    work, near = np.zeros((3, len(state.load))), np.empty(len(state.load), dtype=np.int64)
    for e in range(len(queries)):
        q = queries[e]
        sources = store.source[store.start[q] : store.stop[q]]
        if not arrives[e]:
            release(state, sources, store.weight[q], store.kind[q], store.server[q])
            store.server[q] = -1
            continue
        if not has_room(state, len(sources)):
            return e
        for s in sources:  # the arrival counts in the degree it is judged by
            state.degree[s] += 1
        j = choose(state, rules, sources, store.weight[q], store.kind[q], draws[e], work, near)
        for s in sources:
            state.degree[s] -= 1
        host(state, sources, store.weight[q], store.kind[q], j)
        store.server[q] = j
        state.totals[ARRIVED] += 0 if moved else 1
        state.totals[TURN] = (j + 1) % len(state.load)
    return len(queries)


@compiled
def settle(state: State, store: Store, first: int) -> int:
    """Put every query from the first on that has a server there, and return how many are done, as `play` does."""
    for q in range(first, len(store.server)):
        if store.server[q] >= 0:
            sources = store.source[store.start[q] : store.stop[q]]
            if not has_room(state, len(sources)):
                return q
            host(state, sources, store.weight[q], store.kind[q], store.server[q])
    return len(store.server)
