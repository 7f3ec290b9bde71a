"""Compiled: the choice of a server for each arrival, and the updates for arrivals and departures.

Rule 1: no random numbers inside: draws are an array that the caller passes in. Rule 2: ties go to the least relative
load, then to the lowest number. Rule 3: `twins.py` does the same in plain Python.
"""

from __future__ import annotations

import numpy as np

from drover.herding.online.list_kernels import add_subscription, has_room, remove_subscription
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
    RESERVED,
    SERVERS,
    TURN,
    HerdState,
    QueryStore,
    Rules,
)
from drover.herding.online.tie_kernels import future_value, is_open, is_staying, lighter, preference
from drover.herding.set_kernels import SPREAD, compiled, count_down, count_of, count_up, part, update_tournament
from drover.load.arrays import Flags, Floats, Ints


@part
def density_with(totals: Floats, weight: float) -> float:
    """Return the load per capacity after the arrival of a query with this weight."""
    return float((totals[LOAD] + weight) / totals[CAPACITY])


@compiled
def lightest(state: HerdState, rules: Rules, weight: float) -> int:
    """Return the open server with the least relative load; among all servers, if none is open."""
    load = state.load
    capacity = state.capacity
    # The tournament knows the lightest server, which is usually open.
    winner = int(state.tree[1])
    density = density_with(state.totals, weight)
    if is_open(rules, load, capacity, weight, density, winner):
        return winner
    best = -1
    for j in range(len(load)):
        if is_open(rules, load, capacity, weight, density, j) and lighter(load, capacity, j, best):
            best = j
    return winner if best < 0 else best


@compiled
def collect(state: HerdState, sources: Ints, work: Floats, near: Ints, policy: int) -> int:
    """Sum up the data of all servers that hold one of the sources; return their number, and list them in `near`.

    The rows of `work`, (3, K), are the rate of the sources that a server holds, which must be 0 before; how rare these
    sources are; and the rate divided by the degree, times the server's number of queries. LeastCost needs only the
    first. A source is rare if it has few queries; for GATHER, if it has few queries per server that holds it.
    """
    gain = work[0]
    rare = work[1]
    gathered = work[2]
    member = state.member
    tally = state.tally
    count = 0
    for s in sources:
        rate = state.rate[s]
        first = state.at[s]
        last = state.at[s] + state.size[s]
        if rate <= 0:  # it saves nothing on any server
            continue
        for c in range(first, last):
            j = member[c]
            # The first source that this server shares: rates are positive here, so 0 means unseen.
            if gain[j] == 0:
                near[count] = j
                count += 1
                rare[j] = 0.0
                gathered[j] = 0.0
            gain[j] += rate
        if policy != LEAST_COST:
            scarcity = rate / state.degree[s]
            spread = 1.0 if policy == RARE_FIRST else np.sqrt(state.size[s])
            for c in range(first, last):
                rare[member[c]] += scarcity * spread
                gathered[member[c]] += scarcity * tally[c]
    return count


@compiled
def least_cost(state: HerdState, rules: Rules, sources: Ints, weight: float, work: Floats, near: Ints) -> int:
    """Return the open server that holds most of the sources; row 0 of `work`, (3, K), must be 0 and is 0 afterwards."""
    count = collect(state, sources, work, near, rules.policy)
    load = state.load
    capacity = state.capacity
    gain = work[0]
    density = density_with(state.totals, weight)
    most = 0.0
    everything = 0.0
    for c in range(count):
        j = near[c]
        if gain[j] > most and is_open(rules, load, capacity, weight, density, j):
            most = gain[j]
    for s in sources:
        everything += state.rate[s]
    staying = is_staying(state.totals)
    held = most == everything
    rate = everything / len(sources)
    # The future counts only if a source must be copied anyway, and only for policies that gather.
    hoping = staying and not held and rules.policy not in (LEAST_COST, RARE_FIRST)
    best = -1
    nearest = 0.0
    hope = 0.0
    for c in range(count):
        j = near[c]
        # Row 0 must be 0 again for the next arrival.
        found = gain[j]
        gain[j] = 0.0
        if found == most and is_open(rules, load, capacity, weight, density, j):
            close = preference(rules, staying, load[j], density * capacity[j], work[1, j], work[2, j], held, rate)
            hopes = future_value(rules, state.totals, load[j], capacity[j], state.held[j], density) if hoping else 0.0
            same = close == nearest and hopes == hope
            ahead = close > nearest or (close == nearest and hopes > hope)
            if best < 0 or ahead or (same and lighter(load, capacity, j, best)):
                best = j
                nearest = close
                hope = hopes
    return best if best >= 0 else lightest(state, rules, weight)


@compiled
def least_after_arrival(
    state: HerdState, rules: Rules, sources: Ints, weight: float, kind: int, work: Floats, near: Ints
) -> int:
    """Return the open server that has the least traffic, or the fewest types, after the arrival."""
    load = state.load
    capacity = state.capacity
    density = density_with(state.totals, weight)
    gain = work[0]
    best = -1
    least = 0.0
    everything = 0.0
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
            best = j
            least = after
    for c in range(count):
        gain[near[c]] = 0.0
    return best if best >= 0 else lightest(state, rules, weight)


@compiled
def draw_open_server(state: HerdState, rules: Rules, weight: float, draw: float) -> int:
    """Return a random open server, uniformly if `draw` is uniform in [0, 1)."""
    load = state.load
    capacity = state.capacity
    density = density_with(state.totals, weight)
    count = 0
    for j in range(len(load)):
        count += 1 if is_open(rules, load, capacity, weight, density, j) else 0
    # A second pass finds the server of this rank, without a list of open servers.
    left = np.int64(draw * count)
    for j in range(len(load)):
        if is_open(rules, load, capacity, weight, density, j):
            if left == 0:
                return j
            left -= 1
    return lightest(state, rules, weight)


@compiled
def next_open_server(state: HerdState, rules: Rules, weight: float) -> int:
    """Return the first open server from the next one in turn, or from the hash of the arrival's number."""
    load = state.load
    capacity = state.capacity
    density = density_with(state.totals, weight)
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
    state: HerdState, rules: Rules, sources: Ints, weight: float, kind: int, draw: float, work: Floats, near: Ints
) -> int:
    """Return the server for an arrival; with RESERVED, `draw` is the preferred server or -1, then GATHER decides."""
    if rules.policy == RESERVED:
        reserved = int(draw)
        density = density_with(state.totals, weight)
        if reserved >= 0 and is_open(rules, state.load, state.capacity, weight, density, reserved):
            return reserved
    if rules.policy <= GATHER or rules.policy == RESERVED:
        return least_cost(state, rules, sources, weight, work, near)
    if rules.policy <= LEAST_TYPES:
        return least_after_arrival(state, rules, sources, weight, kind, work, near)
    if rules.policy == RANDOM:
        return draw_open_server(state, rules, weight, draw)
    return next_open_server(state, rules, weight)


@compiled
def add_query(state: HerdState, sources: Ints, weight: float, kind: int, j: int) -> None:
    """Add a query to server j."""
    state.load[j] += weight
    state.totals[LOAD] += weight
    state.totals[LIVE] += 1
    for s in sources:
        state.degree[s] += 1
        if add_subscription(state, s, j) == 1:
            state.traffic[j] += state.rate[s]
            state.held[j] += 1
            state.totals[HELD] += 1
    # Types are counted only for the policy least-types.
    if kind >= 0 and count_up(state.kind_keys, state.kind_counts, kind * SERVERS + j) == 1:
        state.kinds[j] += 1
        state.totals[KINDS] += 1
    update_tournament(state.tree, state.load, state.capacity, j)


@compiled
def remove_query(state: HerdState, sources: Ints, weight: float, kind: int, j: int) -> None:
    """Remove a query from server j."""
    state.load[j] -= weight
    state.totals[LOAD] -= weight
    state.totals[LIVE] -= 1
    for s in sources:
        state.degree[s] -= 1
        if remove_subscription(state, s, j) == 0:
            state.traffic[j] -= state.rate[s]
            state.held[j] -= 1
            state.totals[HELD] -= 1
    if kind >= 0 and count_down(state.kind_keys, state.kind_counts, kind * SERVERS + j) == 0:
        state.kinds[j] -= 1
        state.totals[KINDS] -= 1
    update_tournament(state.tree, state.load, state.capacity, j)


@compiled
def process_events(
    state: HerdState, rules: Rules, store: QueryStore, queries: Ints, arrives: Flags, draws: Floats, moved: bool
) -> int:
    """Let queries arrive and leave in order; return how many were processed before the pool of lists was full.

    `moved` queries were live before, and do not count as arrivals.
    """
    work = np.zeros((3, len(state.load)))
    near = np.empty(len(state.load), dtype=np.int64)
    for e in range(len(queries)):
        q = queries[e]
        sources = store.source[store.start[q] : store.stop[q]]
        if not arrives[e]:
            remove_query(state, sources, store.weight[q], store.kind[q], store.server[q])
            store.server[q] = -1
            continue
        if not has_room(state, len(sources)):
            return e
        for s in sources:  # the arrival counts in the degrees that decide on it
            state.degree[s] += 1
        j = choose(state, rules, sources, store.weight[q], store.kind[q], draws[e], work, near)
        for s in sources:
            state.degree[s] -= 1
        add_query(state, sources, store.weight[q], store.kind[q], j)
        store.server[q] = j
        state.totals[ARRIVED] += 0 if moved else 1
        state.totals[TURN] = (j + 1) % len(state.load)
    return len(queries)


@compiled
def restore_assignments(state: HerdState, store: QueryStore, first: int) -> int:
    """Put every query from `first` on at its server, and return how many are done, as `process_events` does."""
    for q in range(first, len(store.server)):
        if store.server[q] >= 0:
            sources = store.source[store.start[q] : store.stop[q]]
            if not has_room(state, len(sources)):
                return q
            add_query(state, sources, store.weight[q], store.kind[q], store.server[q])
    return len(store.server)
