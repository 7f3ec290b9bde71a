"""Compiled LeastCost over sets of servers: bits represent servers, and levels represent loads.

Rule 1: it needs integer loads and equal rates: unit weights and equal servers. Then it decides exactly as
`online/kernels.py` does. Rule 2: no random numbers inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.set_kernels import (
    Words,
    bit_count,
    clear_bit,
    compiled,
    count_down,
    count_up,
    lowest_bit,
    part,
    set_bit,
)
from drover.load.arrays import Flags, Ints

FEW = 12  # size of a set up to which its members are scanned; larger sets are searched by level
FAR = 24  # levels without a member after which the search by level stops
SERVERS = 1 << 20  # source s and server j have the key s * SERVERS + j
ROUNDING = 1e-12
LOWEST, LEFT, LIMIT = range(3)  # indices into `marks`


class ServerBits(NamedTuple):
    """Servers as bit sets."""

    load: Ints  # (k,) queries on server j
    levels: Words  # (L, W) bit j of level l: server j has l queries
    open_set: Words  # (W,) servers below the limit
    hosts: Words  # (m, W) bit j: server j holds source s
    degree: Ints  # (m,) queries that subscribe to source s; only for rare-first
    marks: Ints  # (3,) the lowest level, the number of servers on it, and the limit
    members: Words  # (W,) scratch space
    planes: Words  # (B, W) scratch space


class LoadLimits(NamedTuple):
    """The load limits of a server."""

    capacity: float  # of one server
    total: float  # of all servers
    slack: float  # nu
    allowance: float  # alpha


class SubscriptionCounts(NamedTuple):
    """The number of queries per server that subscribe to a source, as a hash table."""

    keys: Ints
    counts: Ints


@part
def lightest_member(members: Words, load: Ints) -> int:
    """Return the member of a set, (W,), with the least load; ties go to the lowest number."""
    best = -1
    least = 1 << 62
    for w in range(len(members)):
        word = members[w]
        while word:
            j = 64 * w + int(np.int64(lowest_bit(word)))
            # Clears the lowest set bit.
            word &= word - np.uint64(1)
            if load[j] < least:
                best = j
                least = load[j]
    return best


@part
def size_of(members: Words) -> int:
    """Return the number of members of a set, (W,)."""
    count = 0
    for w in range(len(members)):
        count += int(np.int64(bit_count(members[w])))
    return count


@part
def first_member(members: Words) -> int:
    """Return the lowest member of a non-empty set, (W,)."""
    w = 0
    while not members[w]:
        w += 1
    return 64 * w + int(np.int64(lowest_bit(members[w])))


@part
def lightest_of(members: Words, load: Ints, levels: Words, lowest: int) -> int:
    """Return the lightest member as `lightest_member` does, but by level from the lowest if there are many members."""
    # Many members are likely to include one on a low level, where the walk ends early.
    if size_of(members) > FEW:
        for level in range(lowest, min(lowest + FAR, len(levels))):
            for w in range(len(members)):
                word = members[w] & levels[level, w]
                if word:
                    return 64 * w + int(np.int64(lowest_bit(word)))
    return lightest_member(members, load)


@part
def hold_both(hosts: Words, one: int, other: int, open_set: Words, some: Words, members: Words) -> bool:
    """Fill `members`, (W,), with the open servers that hold both sources, or else one; return whether there are any."""
    any_some = np.uint64(0)
    any_both = np.uint64(0)
    for w in range(len(members)):
        left = hosts[one, w] & open_set[w]
        right = hosts[other, w] & open_set[w]
        some[w] = left | right
        members[w] = left & right
        any_some |= left | right
        any_both |= left & right
    if any_both == np.uint64(0):
        for w in range(len(members)):
            members[w] = some[w]
    return bool(any_some != np.uint64(0))


@part
def hold_most(hosts: Words, sources: Ints, open_set: Words, planes: Words, members: Words) -> bool:
    """Fill `members`, (W,), with the open servers that hold most of the sources; return whether they hold any.

    `planes`, (B, W), counts for all servers at once: bit j of plane b is bit b of the number of sources on server j.
    The highest plane with an open server decides first, then the next plane among those servers.
    """
    words = len(members)
    planes[:] = np.uint64(0)
    for s in sources:
        for w in range(words):
            carry = hosts[s, w]
            for b in range(len(planes)):
                # A binary adder for 64 servers at once.
                planes[b, w], carry = planes[b, w] ^ carry, planes[b, w] & carry
    found = False
    for w in range(words):
        members[w] = open_set[w]
    for b in range(len(planes) - 1, -1, -1):
        some = np.uint64(0)
        for w in range(words):
            some |= members[w] & planes[b, w]
        if some:
            found = True
            for w in range(words):
                members[w] &= planes[b, w]
    return found


@part
def keep_rare(hosts: Words, one: int, other: int, degree: Ints, members: Words, some: Words) -> None:
    """Reduce `members`, which hold one source or both, to those with the largest sum of 1 / degree."""
    # Equal degrees: holding either source counts the same.
    if degree[one] == degree[other]:
        return
    rare = one if degree[one] < degree[other] else other
    found = np.uint64(0)
    for w in range(len(members)):
        some[w] = members[w] & hosts[rare, w]
        found |= some[w]
    if found:
        for w in range(len(members)):
            members[w] = some[w]


@part
def limit_at(rules: LoadLimits, live: int) -> int:
    """Return the load limit of a server for this number of live queries, eq. (4) [Zong15]."""
    fair = live / rules.total * rules.capacity
    return int(max(fair + rules.allowance, (1 + rules.slack) * fair) * (1 + ROUNDING))


@part
def set_limit(levels: Words, open_set: Words, marks: Ints, limit: int) -> None:
    """Set the load limit: servers below it are open."""
    # The limit changes by little per event, so whole levels open or close one at a time.
    while marks[LIMIT] < limit:
        for w in range(len(open_set)):
            open_set[w] |= levels[marks[LIMIT], w]
        marks[LIMIT] += 1
    while marks[LIMIT] > limit:
        marks[LIMIT] -= 1
        for w in range(len(open_set)):
            open_set[w] &= ~levels[marks[LIMIT], w]


@part
def add_query(load: Ints, levels: Words, open_set: Words, marks: Ints, j: int) -> None:
    """Add one query to server j."""
    old = load[j]
    clear_bit(levels[old], j)
    set_bit(levels[old + 1], j)
    load[j] = old + 1
    if old + 1 >= marks[LIMIT]:
        clear_bit(open_set, j)
    if old == marks[LOWEST]:
        marks[LEFT] -= 1
        # The lowest level is empty now; some higher level has a server.
        while marks[LEFT] == 0:
            marks[LOWEST] += 1
            marks[LEFT] = size_of(levels[marks[LOWEST]])


@part
def remove_query(load: Ints, levels: Words, open_set: Words, marks: Ints, j: int) -> None:
    """Remove one query from server j."""
    new = load[j] - 1
    clear_bit(levels[new + 1], j)
    set_bit(levels[new], j)
    load[j] = new
    if new < marks[LIMIT]:
        set_bit(open_set, j)
    # The server may have become the only one on a new lowest level.
    if new <= marks[LOWEST]:
        marks[LOWEST] = new
        marks[LEFT] = size_of(levels[new])


@compiled
def assign(board: ServerBits, start: Ints, source: Ints, rules: LoadLimits, rare: bool, server: Ints) -> None:
    """Fill in the servers of queries, (n,), that arrive in order: `process_events` without the data for departures."""
    load, levels, open_set, hosts, degree, _marks, members, planes = board
    lowest = 0
    left = len(load)
    # Locals instead of `marks`: without departures they only rise.
    limit = np.int64(0)
    words = len(open_set)
    some = planes[0]
    for q in range(len(server)):
        now = limit_at(rules, q + 1)
        while limit < now:
            for w in range(words):
                open_set[w] |= levels[limit, w]
            limit += 1
        begin = start[q]
        end = start[q + 1]
        # The arrival counts in the degrees that decide on it, as in `online/kernels.py`.
        for c in range(begin, end if rare else begin):
            degree[source[c]] += 1
        if end - begin == 2:
            found = hold_both(hosts, source[begin], source[begin + 1], open_set, some, members)
            if rare and found:
                keep_rare(hosts, source[begin], source[begin + 1], degree, members, some)
        else:
            found = hold_most(hosts, source[begin:end], open_set, planes, members)
        j = lightest_of(members, load, levels, lowest) if found else first_member(levels[lowest])
        server[q] = j
        old = load[j]
        clear_bit(levels[old], j)
        set_bit(levels[old + 1], j)
        load[j] = old + 1
        if old + 1 >= limit:
            clear_bit(open_set, j)
        for c in range(begin, end):
            set_bit(hosts[source[c]], j)
        left -= 1 if old == lowest else 0
        while left == 0:
            lowest += 1
            left = size_of(levels[lowest])


@compiled
def process_events(
    board: ServerBits,
    start: Ints,
    source: Ints,
    rules: LoadLimits,
    rare: bool,
    table: SubscriptionCounts,
    queries: Ints,
    arrives: Flags,
    server: Ints,
) -> None:
    """Let queries arrive and leave, (e,) each, and fill in their servers, (n,).

    The table must have room for all possible pairs of a source and a server. Arrays are taken out of their tuples
    first: numba counts references at each access, which in the loop would take longer than all the rest.
    """
    load, levels, open_set, hosts, degree, marks, members, planes = board
    keys, counts = table
    live = 0
    some = planes[0]
    for e in range(len(queries)):
        q = queries[e]
        begin = start[q]
        end = start[q + 1]
        if not arrives[e]:
            live = live - 1
            j = server[q]
            for c in range(begin, end):
                degree[source[c]] -= 1 if rare else 0
                if count_down(keys, counts, source[c] * SERVERS + j) == 0:
                    clear_bit(hosts[source[c]], j)
            remove_query(load, levels, open_set, marks, j)
            server[q] = -1
            continue
        live += 1
        # The limit depends on the number of live queries, so it is set again before every choice.
        set_limit(levels, open_set, marks, limit_at(rules, live))
        for c in range(begin, end if rare else begin):
            degree[source[c]] += 1
        if end - begin == 2:
            found = hold_both(hosts, source[begin], source[begin + 1], open_set, some, members)
            if rare and found:
                keep_rare(hosts, source[begin], source[begin + 1], degree, members, some)
        else:
            found = hold_most(hosts, source[begin:end], open_set, planes, members)
        j = lightest_of(members, load, levels, marks[LOWEST]) if found else first_member(levels[marks[LOWEST]])
        server[q] = j
        for c in range(begin, end):
            if count_up(keys, counts, source[c] * SERVERS + j) == 1:
                set_bit(hosts[source[c]], j)
        add_query(load, levels, open_set, marks, j)
