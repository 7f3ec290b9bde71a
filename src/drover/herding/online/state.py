"""The state of an online assignment: which server holds which source, and the loads.

Rule 1: all of it follows from the queries and their servers. `kernels.restore_assignments` computes it from scratch,
the other kernels update it, and both results are equal bit for bit. Rule 2: for each source there is a list of the
servers that hold it, so that an arrival looks only at servers that share a source with it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drover.herding.set_kernels import EMPTY, SmallInts, build_tournament, rehash
from drover.load.arrays import Floats, Ints

LOAD, CAPACITY, ARRIVED, LIVE, TURN, USED, KINDS, HELD = range(8)  # indices into `totals`
LEAST_COST, RARE_FIRST, GATHER, LEAST_SOURCE, LEAST_TYPES, RANDOM, IN_TURN, HASH, RESERVED = range(9)  # policies
SERVERS: Final = 1 << 20  # type t and server j have the key t * SERVERS + j
LEAST: Final = 64  # initial size of a table and of the pool
SIZES: Final = 24  # number of list sizes: 1, 2, 4, ...


class Rules(NamedTuple):
    """How to choose a server."""

    policy: int  # a policy number from above
    slack: float  # nu
    allowance: float  # alpha


class QueryStore(NamedTuple):
    """Queries; those that are not live have server -1."""

    start: Ints  # (N,) the sources of query q are source[start[q] : stop[q]]
    stop: Ints  # (N,)
    source: Ints
    weight: Floats  # (N,)
    kind: Ints  # (N,) type, or -1 if types are not counted
    server: Ints  # (N,)


class HerdState(NamedTuple):
    """The state that follows from the queries."""

    totals: Floats  # (8,) see the indices above
    load: Floats  # (K,) load of server j
    capacity: Floats  # (K,) size of server j, 0 if it does not exist
    traffic: Floats  # (K,) total rate of the sources that server j holds
    held: Ints  # (K,) number of sources that server j holds
    kinds: Ints  # (K,) number of types on server j
    tree: Ints  # (2 P,) tournament tree for the least relative load
    rate: Floats  # (m,)
    degree: Ints  # (m,) queries that subscribe to source s
    at: Ints  # (m,) start of the list of source s in the pool
    size: Ints  # (m,) its length: the number of servers that hold source s
    room: Ints  # (m,) its capacity there: a power of two, or 0
    member: SmallInts  # pool: a server
    tally: SmallInts  # pool: number of queries of that server that subscribe to the source
    free: Ints  # (SIZES,) a free block for a list of 2^c, -1 if none; `member` there holds the next
    kind_keys: Ints  # table: pairs of type and server
    kind_counts: Ints  # and the number of queries of that type on that server


def empty_state(rate: Floats, capacity: Floats) -> HerdState:
    """Return the state of servers, (K,), without queries."""
    size = len(capacity)
    m = len(rate)
    totals = np.zeros(8)
    totals[CAPACITY] = capacity.sum()
    # The next power of two; leaves without a server never win.
    leaves = 1 << max(size - 1, 1).bit_length()
    state = HerdState(
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
    build_tournament(state.tree, state.load, state.capacity)
    return state


def empty_table(places: int) -> tuple[Ints, Ints]:
    """Return an empty table of this size, which is a power of two."""
    return np.full(places, EMPTY, dtype=np.int64), np.zeros(places, dtype=np.int64)


def with_pool(state: HerdState) -> HerdState:
    """Return the state with a pool twice as large."""
    grown = [np.concatenate([pool, np.zeros(len(pool), dtype=np.int32)]) for pool in (state.member, state.tally)]
    return state._replace(member=grown[0], tally=grown[1])


def with_server(state: HerdState, j: int, capacity: float) -> HerdState:
    """Return the state with a new size of server j, which may be new; 0 removes an empty server."""
    more = max(j + 1 - len(state.load), 0)
    nothing = np.zeros(more)
    sizes = np.concatenate([state.capacity, nothing])
    sizes[j] = capacity
    # The tree is built anew: servers change far less often than queries do.
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
    build_tournament(changed.tree, changed.load, changed.capacity)
    return changed


def with_kinds(state: HerdState, kinds: int) -> HerdState:
    """Return the state with a table that has room for this number of further types; unchanged if it has."""
    entries = int(state.totals[KINDS]) + kinds
    # At most half full, so that probing stays short.
    if 2 * entries <= len(state.kind_keys):
        return state
    grown = empty_table(1 << (4 * entries).bit_length())
    rehash(state.kind_keys, state.kind_counts, *grown)
    return state._replace(kind_keys=grown[0], kind_counts=grown[1])


def holders(state: HerdState) -> dict[tuple[int, int], int]:
    """Return the lists as a dictionary: (source, server) to the number of queries."""
    found = {}
    for s in np.flatnonzero(state.size).tolist():
        places = slice(int(state.at[s]), int(state.at[s] + state.size[s]))
        for j, count in zip(state.member[places].tolist(), state.tally[places].tolist(), strict=True):
            found[s, j] = count
    return found


def types_on(state: HerdState) -> dict[tuple[int, int], int]:
    """Return the table of types as a dictionary: (type, server) to the number of queries."""
    there = state.kind_keys != EMPTY
    pairs = zip(state.kind_keys[there].tolist(), state.kind_counts[there].tolist(), strict=True)
    return {divmod(key, SERVERS): count for key, count in pairs}
