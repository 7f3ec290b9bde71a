"""The compiled loops of correlation-based placing: a pair of nodes, a round of pairs, all nodes.

Rule 1: functions over arrays; those that change a plan change `Nodes`, and nothing else.
Rule 2: plain loops, no array expressions: these take seconds each to compile, and are no faster.
Rule 3: ties within 1e-9 go to the larger mean load, then to the smaller index: operators of one chain correlate
exactly, and without this rule rounding would decide between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

TIE = 1e-9
BALANCE, REDISTRIBUTE, EXCHANGE = 0, 1, 2  # what a pair of nodes does: COR-BAL, COR-RE, COR-SE
CORRELATION, LARGEST, DRAW = 0, 1, 2  # by what a unit is chosen

compiled = numba.njit(cache=True, error_model="numpy")


class Units(NamedTuple):
    """What is known of the units."""

    centred: Floats  # (m, h) load less its mean
    direction: Floats  # (m, h) the same divided by its length, 0 if the load is constant
    load: Floats  # (m,) mean
    key: Floats  # (m,) random order, for choices by DRAW
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints
    tiny: float  # a length below this is rounding


class Nodes(NamedTuple):
    """A plan as the loops change it; the units of node i are first[i], following[first[i]], ... until -1."""

    capacity: Floats  # (n,)
    places: Ints  # (m,)
    first: Ints  # (n,)
    following: Ints  # (m,)
    sums: Floats  # (n, h) of centred
    load: Floats  # (n,)


class Pair(NamedTuple):
    """Two nodes, sides 0 and 1, taken out of the plan to be worked on."""

    members: Ints  # (q,) units
    side: Ints  # (q,)
    free: Flags  # (q,) whether it may change sides
    sums: Floats  # (2, h)
    load: Floats  # (2,)
    capacity: Floats  # (2,)


class Method(NamedTuple):
    """How pairs are worked on."""

    kind: int  # BALANCE, REDISTRIBUTE or EXCHANGE
    choice: int  # CORRELATION, LARGEST or DRAW
    delta: float  # an exchange takes scores above this
    own: bool  # whether an exchange counts a unit's own load among its node's, as the printed figure does


@compiled
def _rho(units: Units, j: int, sums: Floats, s: int) -> float:
    """Return the correlation of unit j with the load in row s."""
    dot, square = 0.0, 0.0
    for t in range(sums.shape[1]):
        dot += units.direction[j, t] * sums[s, t]
        square += sums[s, t] * sums[s, t]
    return dot / np.sqrt(square) if square > units.tiny * units.tiny else 0.0


@compiled
def _rho_rest(units: Units, j: int, sums: Floats, s: int) -> float:
    """Return the correlation of unit j with the load in row s without its own."""
    dot, square = 0.0, 0.0
    for t in range(sums.shape[1]):
        rest = sums[s, t] - units.centred[j, t]
        dot += units.direction[j, t] * rest
        square += rest * rest
    return dot / np.sqrt(square) if square > units.tiny * units.tiny else 0.0


@compiled
def correlate(sums: Floats, a: int, b: int, tiny: float) -> float:
    """Return the correlation of the loads in two rows, 0 if one is constant."""
    dot, one, other = 0.0, 0.0, 0.0
    for t in range(sums.shape[1]):
        dot += sums[a, t] * sums[b, t]
        one += sums[a, t] * sums[a, t]
        other += sums[b, t] * sums[b, t]
    return dot / np.sqrt(one * other) if one > tiny * tiny and other > tiny * tiny else 0.0


@compiled
def beats(units: Units, j: int, score: float, best: int, top: float) -> bool:
    """Return whether unit j goes before the best so far, -1 if there is none: by score, then load, then index."""
    if best < 0 or score > top + TIE:
        return True
    if score < top - TIE:
        return False
    return bool(j < best if units.load[j] == units.load[best] else units.load[j] > units.load[best])


@compiled
def _heavier(pair: Pair) -> int:
    """Return the side with the larger relative load; of equal ones, the second gives and the first takes."""
    return 0 if pair.load[0] * pair.capacity[1] > pair.load[1] * pair.capacity[0] else 1


@compiled
def _shift(units: Units, pair: Pair, e: int) -> None:
    """Move member e to the other side."""
    j, s = pair.members[e], pair.side[e]
    for t in range(pair.sums.shape[1]):
        pair.sums[s, t] -= units.centred[j, t]
        pair.sums[1 - s, t] += units.centred[j, t]
    pair.load[s] -= units.load[j]
    pair.load[1 - s] += units.load[j]
    pair.side[e] = 1 - s


@compiled
def balance(units: Units, pair: Pair, choice: int) -> None:
    """Move units one way, Fig. 5.2 [Xing06]: from the heavier side, while they fit into what is left to be moved."""
    s = _heavier(pair)
    total = pair.capacity[0] + pair.capacity[1]
    left = (pair.load[s] * pair.capacity[1 - s] - pair.load[1 - s] * pair.capacity[s]) / total
    while True:
        best, top = -1, 0.0
        for e in range(len(pair.members)):
            j = pair.members[e]
            if pair.side[e] != s or not pair.free[e] or units.load[j] >= left or units.load[j] <= 0:
                continue
            if choice == CORRELATION:
                score = (_rho_rest(units, j, pair.sums, s) - _rho(units, j, pair.sums, 1 - s)) / 2
            else:
                score = units.load[j] if choice == LARGEST else units.key[j]
            if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                best, top = e, score
        if best < 0:
            return
        left -= units.load[pair.members[best]]
        _shift(units, pair, best)


@compiled
def redistribute(units: Units, pair: Pair) -> None:
    """Take all free units away and give them back by score, Fig. 5.3 [Xing06]; the lighter side is always next."""
    q, h = len(pair.members), pair.sums.shape[1]
    away, rho, left = np.zeros(q, dtype=np.bool_), np.zeros((2, q)), 0
    for s in range(2):  # added up anew: what subtracting leaves over would decide ties
        pair.load[s] = 0.0
        for t in range(h):
            pair.sums[s, t] = 0.0
    for e in range(q):
        if pair.free[e]:
            away[e], left = True, left + 1
        else:
            pair.load[pair.side[e]] += units.load[pair.members[e]]
            for t in range(h):
                pair.sums[pair.side[e], t] += units.centred[pair.members[e], t]
    for s in range(2):
        for e in range(q):
            if away[e]:
                rho[s, e] = _rho(units, pair.members[e], pair.sums, s)
    for _ in range(left):
        r = 1 - _heavier(pair)
        best, top = -1, 0.0
        for e in range(q):
            if away[e]:
                j, score = pair.members[e], (rho[1 - r, e] - rho[r, e]) / 2
                if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                    best, top = e, score
        pair.side[best], away[best] = r, False
        pair.load[r] += units.load[pair.members[best]]
        for t in range(h):
            pair.sums[r, t] += units.centred[pair.members[best], t]
        for e in range(q):
            if away[e]:
                rho[r, e] = _rho(units, pair.members[e], pair.sums, r)


@compiled
def exchange(units: Units, pair: Pair, method: Method) -> None:
    """Move units with a score above delta to the lighter side, Fig. 5.4 [Xing06], whose sign for X_r is corrected."""
    for _ in range(len(pair.members)):  # each unit at most once, on average
        s = _heavier(pair)
        best, top = -1, 0.0
        for e in range(len(pair.members)):
            if pair.side[e] == s and pair.free[e]:
                j = pair.members[e]
                here = _rho(units, j, pair.sums, s) if method.own else _rho_rest(units, j, pair.sums, s)
                score = (here - _rho(units, j, pair.sums, 1 - s)) / 2
                if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                    best, top = e, score
        if best < 0 or top <= method.delta:
            return
        _shift(units, pair, best)


@compiled
def work_on(units: Units, pair: Pair, method: Method) -> None:
    """Work on a pair by the given method."""
    if method.kind == REDISTRIBUTE:
        redistribute(units, pair)
    else:
        balance(units, pair, method.choice)
    if method.kind == EXCHANGE:
        exchange(units, pair, method)
    if method.kind != BALANCE:
        balance(units, pair, method.choice)


@compiled
def _count(nodes: Nodes, i: int) -> int:
    count, j = 0, nodes.first[i]
    while j >= 0:
        count += 1
        j = nodes.following[j]
    return count


@compiled
def take_out(units: Units, nodes: Nodes, a: int, b: int) -> Pair:
    """Return two nodes as a pair."""
    count = _count(nodes, a) + _count(nodes, b)
    members, side = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    free = np.empty(count, dtype=np.bool_)
    e = 0
    for s in range(2):
        j = nodes.first[a if s == 0 else b]
        while j >= 0:
            free[e] = units.movable[j] and units.allowed[j, a] and units.allowed[j, b]
            c = units.start[j]
            while c < units.start[j + 1]:
                # With a unit on the pair that it may not meet, it could only stay or swap: it stays.
                where = nodes.places[units.near[c]]
                free[e] = free[e] and where not in (a, b)
                c += 1
            members[e], side[e] = j, s
            e += 1
            j = nodes.following[j]
    sums, load, capacity = np.empty((2, nodes.sums.shape[1])), np.empty(2), np.empty(2)
    for s in range(2):
        i = a if s == 0 else b
        load[s], capacity[s] = nodes.load[i], nodes.capacity[i]
        for t in range(sums.shape[1]):
            sums[s, t] = nodes.sums[i, t]
    return Pair(members, side, free, sums, load, capacity)


@compiled
def put_back(nodes: Nodes, pair: Pair, a: int, b: int) -> None:
    """Make the pair a part of the plan again."""
    nodes.first[a], nodes.first[b] = -1, -1
    for e in range(len(pair.members) - 1, -1, -1):  # backwards, so that lists keep their order
        j, i = pair.members[e], a if pair.side[e] == 0 else b
        nodes.places[j] = i
        nodes.following[j] = nodes.first[i]
        nodes.first[i] = j
    nodes.load[a], nodes.load[b] = pair.load[0], pair.load[1]
    for t in range(nodes.sums.shape[1]):
        nodes.sums[a, t], nodes.sums[b, t] = pair.sums[0, t], pair.sums[1, t]


@compiled
def improve_pair(units: Units, nodes: Nodes, a: int, b: int, method: Method) -> bool:
    """Work on two nodes; keep the result only if their correlation rises."""
    before = correlate(nodes.sums, a, b, units.tiny)
    pair = take_out(units, nodes, a, b)
    work_on(units, pair, method)
    if correlate(pair.sums, 0, 1, units.tiny) <= before + TIE:
        return False
    put_back(nodes, pair, a, b)
    return True
