"""What an online assignment knows: who hosts what, and how loaded everybody is.

Rule 1: all of it follows from the queries and their servers; `kernels.settle` computes it afresh, the other kernels
keep it up to date, and the two are equal bit for bit. Rule 2: per source there is a list of the servers that hold it,
so that an arrival looks at servers that share a source with it and at no others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drover.herding.sets.kernels import EMPTY, SmallInts, plant, rehash
from drover.load.arrays import Floats, Ints

LOAD, CAPACITY, ARRIVED, LIVE, TURN, USED, KINDS, HELD = range(8)  # places in `totals`
LEAST_COST, RARE_FIRST, GATHER, LEAST_SOURCE, LEAST_TYPES, RANDOM, IN_TURN, HASH, WISH = range(9)  # policies
SERVERS: Final = 1 << 20  # a pair of type t and server j has the key t * SERVERS + j
LEAST: Final = 64  # places of a table or of the pool
SIZES: Final = 24  # of lists: 1, 2, 4, ...


class Rules(NamedTuple):
    """How to choose a server."""

    policy: int  # see above
    slack: float  # nu
    allowance: float  # alpha


class Store(NamedTuple):
    """Queries: those that are here have a server, others -1."""

    start: Ints  # (N,) the sources of query q are source[start[q] : stop[q]]
    stop: Ints  # (N,)
    source: Ints
    weight: Floats  # (N,)
    kind: Ints  # (N,) type, or -1 if types are not counted
    server: Ints  # (N,)


class State(NamedTuple):
    """What follows from it."""

    totals: Floats  # (8,) see above
    load: Floats  # (K,) load of server j
    capacity: Floats  # (K,) size of server j, 0 if there is none
    traffic: Floats  # (K,) rate of the sources that server j holds
    held: Ints  # (K,) how many sources these are
    kinds: Ints  # (K,) types on server j
    tree: Ints  # (2 P,) tournament for the least relative load
    rate: Floats  # (m,)
    degree: Ints  # (m,) queries that subscribe to source s
    at: Ints  # (m,) where in the pool the list of source s begins
    size: Ints  # (m,) its length: the servers that hold source s
    room: Ints  # (m,) how long it can become there: a power of two, or 0
    member: SmallInts  # pool: a server
    tally: SmallInts  # pool: how many queries of that server subscribe to the source
    free: Ints  # (SIZES,) a place in the pool where a list of 2^c fits, -1 if none; `member` there tells the next
    kind_keys: Ints  # table: pairs of type and server
    kind_counts: Ints  # and how many queries there are of that type on that server


def empty_state(rate: Floats, capacity: Floats) -> State:
    """Return the state of servers, (K,), without queries."""
    size, m = len(capacity), len(rate)
    totals = np.zeros(8)
    totals[CAPACITY] = capacity.sum()
    leaves = 1 << max(size - 1, 1).bit_length()
    state = State(
        totals,
        np.zeros(size),
        np.array(capacity, dtype=np.float64),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(2 * leaves, dtype=np.int64),
        np.array(rate, dtype=np.float64),
        np.zeros(m, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros(m, dtype=np.int64),
        np.zeros(LEAST, dtype=np.int32),
        np.zeros(LEAST, dtype=np.int32),
        np.full(SIZES, -1),
        *empty_table(LEAST),
    )
    plant(state.tree, state.load, state.capacity)
    return state


def empty_table(places: int) -> tuple[Ints, Ints]:
    """Return a table of so many places, a power of two."""
    return np.full(places, EMPTY, dtype=np.int64), np.zeros(places, dtype=np.int64)


def with_pool(state: State) -> State:
    """Return the state with a pool twice as large."""
    grown = [np.concatenate([pool, np.zeros(len(pool), dtype=np.int32)]) for pool in (state.member, state.tally)]
    return state._replace(member=grown[0], tally=grown[1])


def with_server(state: State, j: int, capacity: float) -> State:
    """Return the state with another size of server j, which may be new; 0 if it goes, in which case it is empty."""
    more = max(j + 1 - len(state.load), 0)
    nothing = np.zeros(more)
    sizes = np.concatenate([state.capacity, nothing])
    sizes[j] = capacity
    leaves = 1 << max(len(sizes) - 1, 1).bit_length()
    changed = state._replace(
        load=np.concatenate([state.load, nothing]),
        capacity=sizes,
        traffic=np.concatenate([state.traffic, nothing]),
        held=np.concatenate([state.held, nothing.astype(np.int64)]),
        kinds=np.concatenate([state.kinds, nothing.astype(np.int64)]),
        tree=np.zeros(2 * leaves, dtype=np.int64),
    )
    changed.totals[CAPACITY] = sizes.sum()
    plant(changed.tree, changed.load, changed.capacity)
    return changed


def with_kinds(state: State, kinds: int) -> State:
    """Return the state with a table that takes so many types more; it is the same if it does already."""
    entries = int(state.totals[KINDS]) + kinds
    if 2 * entries <= len(state.kind_keys):
        return state
    grown = empty_table(1 << (4 * entries).bit_length())
    rehash(state.kind_keys, state.kind_counts, *grown)
    return state._replace(kind_keys=grown[0], kind_counts=grown[1])


def holders(state: State) -> dict[tuple[int, int], int]:
    """Return the lists as a dictionary: (source, server) to the number of queries."""
    found = {}
    for s in np.flatnonzero(state.size).tolist():
        places = slice(int(state.at[s]), int(state.at[s] + state.size[s]))
        for j, count in zip(state.member[places].tolist(), state.tally[places].tolist(), strict=True):
            found[s, j] = count
    return found


def types_on(state: State) -> dict[tuple[int, int], int]:
    """Return the table of types as a dictionary: (type, server) to the number of queries."""
    there = state.kind_keys != EMPTY
    pairs = zip(state.kind_keys[there].tolist(), state.kind_counts[there].tolist(), strict=True)
    return {divmod(key, SERVERS): count for key, count in pairs}
