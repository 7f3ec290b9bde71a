"""The compiled loops of correlation-based placement for one pair of nodes.

Rule 1: functions over arrays; those that change a plan change only `NodeLists`.
Rule 2: plain loops instead of array expressions, which take seconds each to compile and are no faster.
Rule 3: ties within 1e-9 go to the larger mean load, then to the lower index. Operators of one chain correlate exactly,
so without this rule rounding would decide between them.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

TIE = 1e-9
# what to do with a pair of nodes: COR-BAL, COR-RE, COR-SE
BALANCE = 0
REDISTRIBUTE = 1
EXCHANGE = 2
# how to choose a unit
CORRELATION = 0
LARGEST = 1
DRAW = 2

compiled = numba.njit(cache=True, error_model="numpy")


class Units(NamedTuple):
    """The fixed data of the units."""

    centred: Floats  # (m, h) load minus its mean
    direction: Floats  # (m, h) `centred` divided by its length, 0 if the load is constant
    load: Floats  # (m,) mean
    key: Floats  # (m,) random order, for choices by DRAW
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints
    tiny: float  # a length below this is rounding


class NodeLists(NamedTuple):
    """A plan as the loops change it; the units of node i are first[i], following[first[i]], ... until -1."""

    capacity: Floats  # (n,)
    places: Ints  # (m,)
    first: Ints  # (n,)
    following: Ints  # (m,)
    sums: Floats  # (n, h) of centred
    load: Floats  # (n,)


class NodePair(NamedTuple):
    """Two nodes, sides 0 and 1, copied out of the plan."""

    members: Ints  # (q,) units
    side: Ints  # (q,)
    free: Flags  # (q,) whether the unit may change sides
    sums: Floats  # (2, h)
    load: Floats  # (2,)
    capacity: Floats  # (2,)


class Method(NamedTuple):
    """How to rebalance a pair."""

    kind: int  # BALANCE, REDISTRIBUTE or EXCHANGE
    choice: int  # CORRELATION, LARGEST or DRAW
    delta: float  # exchange units with a score above this
    own: bool  # whether an exchange counts a unit's own load in its node's load, as the printed figure does


@compiled
def _rho(units: Units, j: int, sums: Floats, s: int) -> float:
    """Return the correlation of unit j with the load in row s."""
    dot = 0.0
    square = 0.0
    for t in range(sums.shape[1]):
        dot += units.direction[j, t] * sums[s, t]
        square += sums[s, t] * sums[s, t]
    return dot / np.sqrt(square) if square > units.tiny * units.tiny else 0.0


@compiled
def _rho_rest(units: Units, j: int, sums: Floats, s: int) -> float:
    """Return the correlation of unit j with the load in row s without its own load."""
    dot = 0.0
    square = 0.0
    for t in range(sums.shape[1]):
        rest = sums[s, t] - units.centred[j, t]
        dot += units.direction[j, t] * rest
        square += rest * rest
    return dot / np.sqrt(square) if square > units.tiny * units.tiny else 0.0


@compiled
def correlate(sums: Floats, a: int, b: int, tiny: float) -> float:
    """Return the correlation of the loads in two rows, 0 if one is constant."""
    dot = 0.0
    one = 0.0
    other = 0.0
    for t in range(sums.shape[1]):
        dot += sums[a, t] * sums[b, t]
        one += sums[a, t] * sums[a, t]
        other += sums[b, t] * sums[b, t]
    return dot / np.sqrt(one * other) if one > tiny * tiny and other > tiny * tiny else 0.0


@compiled
def beats(units: Units, j: int, score: float, best: int, top: float) -> bool:
    """Return whether unit j goes before the best so far (-1: none): by score, then by load, then by index."""
    if best < 0 or score > top + TIE:
        return True
    if score < top - TIE:
        return False
    return bool(j < best if units.load[j] == units.load[best] else units.load[j] > units.load[best])


@compiled
def _heavier(pair: NodePair) -> int:
    """Return the side with the larger relative load; for equal loads, side 1 gives and side 0 takes."""
    return 0 if pair.load[0] * pair.capacity[1] > pair.load[1] * pair.capacity[0] else 1


@compiled
def _shift(units: Units, pair: NodePair, e: int) -> None:
    """Move member e to the other side."""
    j = pair.members[e]
    s = pair.side[e]
    for t in range(pair.sums.shape[1]):
        pair.sums[s, t] -= units.centred[j, t]
        pair.sums[1 - s, t] += units.centred[j, t]
    pair.load[s] -= units.load[j]
    pair.load[1 - s] += units.load[j]
    pair.side[e] = 1 - s


@compiled
def balance(units: Units, pair: NodePair, choice: int) -> None:
    """Move units one way, Fig. 5.2 [Xing06]: from the heavier side, while they fit into the remaining difference."""
    s = _heavier(pair)
    total = pair.capacity[0] + pair.capacity[1]
    left = (pair.load[s] * pair.capacity[1 - s] - pair.load[1 - s] * pair.capacity[s]) / total
    while True:
        best = -1
        top = 0.0
        for e in range(len(pair.members)):
            j = pair.members[e]
            # Units without load do not reduce the difference.
            if pair.side[e] != s or not pair.free[e] or units.load[j] >= left or units.load[j] <= 0:
                continue
            if choice == CORRELATION:
                score = (_rho_rest(units, j, pair.sums, s) - _rho(units, j, pair.sums, 1 - s)) / 2
            else:
                score = units.load[j] if choice == LARGEST else units.key[j]
            if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                best = e
                top = score
        if best < 0:
            return
        left -= units.load[pair.members[best]]
        _shift(units, pair, best)


@compiled
def _unassign_free(units: Units, pair: NodePair, away: Flags) -> int:
    """Unassign all free units and return their number; `load` and `sums` then cover the units that stay.

    Both are summed anew: the rounding errors of subtraction would decide ties.
    """
    h = pair.sums.shape[1]
    left = 0
    for s in range(2):
        pair.load[s] = 0.0
        for t in range(h):
            pair.sums[s, t] = 0.0
    for e in range(len(pair.members)):
        if pair.free[e]:
            away[e] = True
            left = left + 1
        else:
            pair.load[pair.side[e]] += units.load[pair.members[e]]
            for t in range(h):
                pair.sums[pair.side[e], t] += units.centred[pair.members[e], t]
    return left


@compiled
def redistribute(units: Units, pair: NodePair) -> None:
    """Unassign all free units and assign them again by score, Fig. 5.3 [Xing06]; the lighter side is always next."""
    q = len(pair.members)
    h = pair.sums.shape[1]
    away = np.zeros(q, dtype=np.bool_)
    rho = np.zeros((2, q))
    # Only the side that receives a unit changes its correlations, so the others are kept in `rho`.
    left = _unassign_free(units, pair, away)
    for s in range(2):
        for e in range(q):
            if away[e]:
                rho[s, e] = _rho(units, pair.members[e], pair.sums, s)
    for _ in range(left):
        r = 1 - _heavier(pair)
        best = -1
        top = 0.0
        for e in range(q):
            if away[e]:
                j = pair.members[e]
                score = (rho[1 - r, e] - rho[r, e]) / 2
                if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                    best = e
                    top = score
        pair.side[best] = r
        away[best] = False
        pair.load[r] += units.load[pair.members[best]]
        for t in range(h):
            pair.sums[r, t] += units.centred[pair.members[best], t]
        for e in range(q):
            if away[e]:
                rho[r, e] = _rho(units, pair.members[e], pair.sums, r)


@compiled
def exchange(units: Units, pair: NodePair, method: Method) -> None:
    """Move units with a score above delta to the lighter side, Fig. 5.4 [Xing06], with the sign for X_r corrected."""
    for _ in range(len(pair.members)):  # a bound: units could go back and forth as the heavier side changes
        s = _heavier(pair)
        best = -1
        top = 0.0
        for e in range(len(pair.members)):
            if pair.side[e] == s and pair.free[e]:
                j = pair.members[e]
                here = _rho(units, j, pair.sums, s) if method.own else _rho_rest(units, j, pair.sums, s)
                score = (here - _rho(units, j, pair.sums, 1 - s)) / 2
                if beats(units, j, score, pair.members[best] if best >= 0 else -1, top):
                    best = e
                    top = score
        if best < 0 or top <= method.delta:
            return
        _shift(units, pair, best)


@compiled
def rebalance_pair(units: Units, pair: NodePair, method: Method) -> None:
    """Rebalance a pair by the given method."""
    if method.kind == REDISTRIBUTE:
        redistribute(units, pair)
    else:
        balance(units, pair, method.choice)
    if method.kind == EXCHANGE:
        exchange(units, pair, method)
    if method.kind != BALANCE:
        balance(units, pair, method.choice)


@compiled
def _count(nodes: NodeLists, i: int) -> int:
    count = 0
    j = nodes.first[i]
    while j >= 0:
        count += 1
        j = nodes.following[j]
    return count


@compiled
def extract_pair(units: Units, nodes: NodeLists, a: int, b: int) -> NodePair:
    """Copy two nodes out of the plan."""
    count = _count(nodes, a) + _count(nodes, b)
    members = np.empty(count, dtype=np.int64)
    side = np.empty(count, dtype=np.int64)
    free = np.empty(count, dtype=np.bool_)
    e = 0
    for s in range(2):
        j = nodes.first[a if s == 0 else b]
        while j >= 0:
            free[e] = units.movable[j] and units.allowed[j, a] and units.allowed[j, b]
            c = units.start[j]
            while c < units.start[j + 1]:
                # A conflict with a unit on either node leaves only staying or swapping with it, so the unit stays.
                where = nodes.places[units.near[c]]
                free[e] = free[e] and where not in (a, b)
                c += 1
            members[e] = j
            side[e] = s
            e += 1
            j = nodes.following[j]
    sums = np.empty((2, nodes.sums.shape[1]))
    load = np.empty(2)
    capacity = np.empty(2)
    for s in range(2):
        i = a if s == 0 else b
        load[s] = nodes.load[i]
        capacity[s] = nodes.capacity[i]
        for t in range(sums.shape[1]):
            sums[s, t] = nodes.sums[i, t]
    return NodePair(members, side, free, sums, load, capacity)


@compiled
def store_pair(nodes: NodeLists, pair: NodePair, a: int, b: int) -> None:
    """Write a pair back into the plan."""
    nodes.first[a] = -1
    nodes.first[b] = -1
    for e in range(len(pair.members) - 1, -1, -1):  # backwards, so that the lists keep their order
        j = pair.members[e]
        i = a if pair.side[e] == 0 else b
        nodes.places[j] = i
        nodes.following[j] = nodes.first[i]
        nodes.first[i] = j
    nodes.load[a] = pair.load[0]
    nodes.load[b] = pair.load[1]
    for t in range(nodes.sums.shape[1]):
        nodes.sums[a, t] = pair.sums[0, t]
        nodes.sums[b, t] = pair.sums[1, t]


@compiled
def improve_pair(units: Units, nodes: NodeLists, a: int, b: int, method: Method) -> bool:
    """Rebalance two nodes; keep the result only if their correlation rises."""
    before = correlate(nodes.sums, a, b, units.tiny)
    pair = extract_pair(units, nodes, a, b)
    rebalance_pair(units, pair, method)
    if correlate(pair.sums, 0, 1, units.tiny) <= before + TIE:
        return False
    store_pair(nodes, pair, a, b)
    return True
