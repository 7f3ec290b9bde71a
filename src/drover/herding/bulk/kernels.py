"""Compiled LeastCost over sets of servers: bits instead of servers, levels instead of loads.

Rule 1: only for what has integer loads and equal rates: unit weights, equal servers. Then it decides as
`online/kernels.py` does, to the bit. Rule 2: no chance inside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.sets.kernels import (
    Words,
    bit_count,
    compiled,
    count_down,
    count_up,
    drop_bit,
    lowest_bit,
    part,
    put_bit,
)
from drover.load.arrays import Flags, Ints

FEW = 12  # members of a set up to which they are looked at one by one; a set's least level is searched for otherwise
FAR = 24  # levels without a member after which that is given up
SERVERS = 1 << 20  # a pair of source s and server j has the key s * SERVERS + j
ROUNDING = 1e-12
LOWEST, LEFT, LIMIT = range(3)  # places in `marks`


class Board(NamedTuple):
    """Servers as bits."""

    load: Ints  # (k,) queries on server j
    levels: Words  # (L, W) bit j of level l: server j has l queries
    open_set: Words  # (W,) servers with less than the limit
    hosts: Words  # (m, W) bit j: server j holds source s
    degree: Ints  # (m,) queries that subscribe to source s, if anybody wants to know
    marks: Ints  # (3,) the lowest level, how many servers are on it, and the limit
    members: Words  # (W,) to work in
    planes: Words  # (B, W) to work in


class Limits(NamedTuple):
    """How much load a server may have."""

    capacity: float  # of a server
    total: float  # of all
    slack: float  # nu
    allowance: float  # alpha


class Table(NamedTuple):
    """How many queries of a server subscribe to a source."""

    keys: Ints
    counts: Ints


@part
def lightest_member(members: Words, load: Ints) -> int:
    """Return the member of a set, (W,), with the least load; ties go to the lowest number."""
    best, least = -1, 1 << 62
    for w in range(len(members)):
        word = members[w]
        while word:
            j = 64 * w + int(np.int64(lowest_bit(word)))
            word &= word - np.uint64(1)
            if load[j] < least:
                best, least = j, load[j]
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
    """Return the lowest member of a set, (W,), that is not empty."""
    w = 0
    while not members[w]:
        w += 1
    return 64 * w + int(np.int64(lowest_bit(members[w])))


@part
def lightest_of(members: Words, load: Ints, levels: Words, lowest: int) -> int:
    """Return the same, by walking up the levels from the lowest if there are many members."""
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
    any_some, any_both = np.uint64(0), np.uint64(0)
    for w in range(len(members)):
        left, right = hosts[one, w] & open_set[w], hosts[other, w] & open_set[w]
        some[w], members[w] = left | right, left & right
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
    The most significant plane that an open server is in decides first, then the next, among those.
    """
    words = len(members)
    planes[:] = np.uint64(0)
    for s in sources:
        for w in range(words):
            carry = hosts[s, w]
            for b in range(len(planes)):
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
    """Narrow `members`, which hold one source or both, to those with the largest sum of 1 / degree over these."""
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
def limit_at(rules: Limits, live: int) -> int:
    """Return the load that a server may have when there are so many queries, eq. (4) [Zong15]."""
    fair = live / rules.total * rules.capacity
    return int(max(fair + rules.allowance, (1 + rules.slack) * fair) * (1 + ROUNDING))


@part
def set_limit(levels: Words, open_set: Words, marks: Ints, limit: int) -> None:
    """Let servers have so much load: those below it are open."""
    while marks[LIMIT] < limit:
        for w in range(len(open_set)):
            open_set[w] |= levels[marks[LIMIT], w]
        marks[LIMIT] += 1
    while marks[LIMIT] > limit:
        marks[LIMIT] -= 1
        for w in range(len(open_set)):
            open_set[w] &= ~levels[marks[LIMIT], w]


@part
def lift(load: Ints, levels: Words, open_set: Words, marks: Ints, j: int) -> None:
    """Give server j one query more."""
    old = load[j]
    drop_bit(levels[old], j)
    put_bit(levels[old + 1], j)
    load[j] = old + 1
    if old + 1 >= marks[LIMIT]:
        drop_bit(open_set, j)
    if old == marks[LOWEST]:
        marks[LEFT] -= 1
        while marks[LEFT] == 0:
            marks[LOWEST] += 1
            marks[LEFT] = size_of(levels[marks[LOWEST]])


@part
def lower(load: Ints, levels: Words, open_set: Words, marks: Ints, j: int) -> None:
    """Give server j one query less."""
    new = load[j] - 1
    drop_bit(levels[new + 1], j)
    put_bit(levels[new], j)
    load[j] = new
    if new < marks[LIMIT]:
        put_bit(open_set, j)
    if new <= marks[LOWEST]:
        marks[LOWEST] = new
        marks[LEFT] = size_of(levels[new])


@compiled
def assign(board: Board, start: Ints, source: Ints, rules: Limits, rare: bool, server: Ints) -> None:
    """Fill in the servers of queries, (n,), that all arrive in order: `play` without what departures need."""
    load, levels, open_set, hosts, degree, _marks, members, planes = board
    lowest, left, limit, words = 0, len(load), np.int64(0), len(open_set)
    some = planes[0]
    for q in range(len(server)):
        now = limit_at(rules, q + 1)
        while limit < now:
            for w in range(words):
                open_set[w] |= levels[limit, w]
            limit += 1
        begin, end = start[q], start[q + 1]
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
        drop_bit(levels[old], j)
        put_bit(levels[old + 1], j)
        load[j] = old + 1
        if old + 1 >= limit:
            drop_bit(open_set, j)
        for c in range(begin, end):
            put_bit(hosts[source[c]], j)
        left -= 1 if old == lowest else 0
        while left == 0:
            lowest += 1
            left = size_of(levels[lowest])


@compiled
def play(
    board: Board,
    start: Ints,
    source: Ints,
    rules: Limits,
    rare: bool,
    table: Table,
    queries: Ints,
    arrives: Flags,
    server: Ints,
) -> None:
    """Let queries arrive and leave, (e,) each, and fill in their servers, (n,).

    The table takes all pairs of a source and a server that there can be. Arrays are taken out of their tuples first:
    numba counts references whenever that is done, and in the loop that takes longer than all the rest.
    """
    load, levels, open_set, hosts, degree, marks, members, planes = board
    keys, counts = table
    live, some = 0, planes[0]
    for e in range(len(queries)):
        q = queries[e]
        begin, end = start[q], start[q + 1]
        if not arrives[e]:
            live, j = live - 1, server[q]
            for c in range(begin, end):
                degree[source[c]] -= 1 if rare else 0
                if count_down(keys, counts, source[c] * SERVERS + j) == 0:
                    drop_bit(hosts[source[c]], j)
            lower(load, levels, open_set, marks, j)
            server[q] = -1
            continue
        live += 1
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
                put_bit(hosts[source[c]], j)
        lift(load, levels, open_set, marks, j)
