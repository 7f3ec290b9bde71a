"""The compiled loops over all nodes: the greedy start, a round of pairs, the search for pairs to improve.

Rule 1: as in `correlation/kernels.py`: what changes is `Nodes` alone, and ties are broken by load and index.
"""

from __future__ import annotations

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.correlation.kernels import (
    TIE,
    Method,
    Nodes,
    Units,
    beats,
    compiled,
    correlate,
    improve_pair,
    put_back,
    take_out,
    work_on,
)
from drover.placement.problem import Flags


@compiled
def tally(units: Units, nodes: Nodes) -> None:
    """Fill in lists, sums and loads of empty nodes from the places of units; -1 is nowhere."""
    for j in range(len(nodes.places) - 1, -1, -1):
        if nodes.places[j] >= 0:
            _add(units, nodes, j, nodes.places[j])


@compiled
def _add(units: Units, nodes: Nodes, j: int, i: int) -> None:
    nodes.places[j] = i
    nodes.following[j] = nodes.first[i]
    nodes.first[i] = j
    nodes.load[i] += units.load[j]
    for t in range(nodes.sums.shape[1]):
        nodes.sums[i, t] += units.centred[j, t]


@compiled
def _fits(units: Units, nodes: Nodes, j: int, i: int) -> bool:
    fits = units.allowed[j, i]
    c = units.start[j]
    while c < units.start[j + 1]:
        fits = fits and nodes.places[units.near[c]] != i
        c += 1
    return bool(fits)


@compiled
def _correlate_all(units: Units, nodes: Nodes, i: int, left: Ints, count: int, rho: Floats, sums: Floats) -> None:
    """Fill in the correlation of node i with every unit that is left, and each unit's sum over the nodes."""
    square = 0.0
    for t in range(nodes.sums.shape[1]):
        square += nodes.sums[i, t] * nodes.sums[i, t]
    inverse = 1 / np.sqrt(square) if square > units.tiny * units.tiny else 0.0
    for e in range(count):
        j = left[e]
        dot = 0.0
        for t in range(nodes.sums.shape[1]):
            dot += units.direction[j, t] * nodes.sums[i, t]
        sums[j] += dot * inverse - rho[i, j]
        rho[i, j] = dot * inverse


@compiled
def _lightest(nodes: Nodes, closed: Flags) -> int:
    best = -1
    for i in range(len(nodes.load)):
        if not closed[i] and (best < 0 or nodes.load[i] * nodes.capacity[best] < nodes.load[best] * nodes.capacity[i]):
            best = i
    return best


@compiled
def distribute(units: Units, nodes: Nodes) -> None:
    """Give the lightest node the unplaced unit with the largest score, Fig. 5.6 [Xing06], until all are placed.

    A node that no unit that is left may go to is closed. Units that no open node takes stay at -1.
    """
    m, n = len(nodes.places), len(nodes.load)
    left, count, closed = np.empty(m, dtype=np.int64), 0, np.zeros(n, dtype=np.bool_)
    for j in range(m):
        if nodes.places[j] < 0:
            left[count] = j
            count += 1
    rho, sums = np.zeros((n, m)), np.zeros(m)
    for i in range(n):
        if nodes.first[i] >= 0:
            _correlate_all(units, nodes, i, left, count, rho, sums)
    while count:
        r = _lightest(nodes, closed)
        if r < 0:
            return
        best, top = -1, 0.0
        for e in range(count):
            j = left[e]
            score = sums[j] / n - rho[r, j]
            if beats(units, j, score, left[best] if best >= 0 else -1, top) and _fits(units, nodes, j, r):
                best, top = e, score
        if best < 0:
            closed[r] = True
            continue
        _add(units, nodes, left[best], r)
        count -= 1
        for e in range(best, count):
            left[e] = left[e + 1]
        _correlate_all(units, nodes, r, left, count, rho, sums)


@compiled
def run_round(units: Units, nodes: Nodes, order: Ints, method: Method, epsilon: float) -> int:
    """Pair the first node in `order` with the last, and so on inwards; work on pairs whose loads differ by more.

    The order is by load relative to capacity, the heaviest first. Returns how many pairs were worked on.
    """
    n, worked = len(order), 0
    for e in range(n // 2):
        a, b = order[e], order[n - 1 - e]
        if nodes.load[a] / nodes.capacity[a] - nodes.load[b] / nodes.capacity[b] > epsilon:
            pair = take_out(units, nodes, a, b)
            work_on(units, pair, method)
            put_back(nodes, pair, a, b)
            worked += 1
    return worked


@compiled
def _least_correlated(units: Units, nodes: Nodes, i: int, theta: float) -> int:
    """Return the node that correlates least with node i, -1 if none does so by less than theta."""
    best, least = -1, theta
    for k in range(len(nodes.load)):
        if k != i:
            rho = correlate(nodes.sums, i, k, units.tiny)
            if rho < least - TIE:
                best, least = k, rho
    return best


@compiled
def relieve(units: Units, nodes: Nodes, method: Method, theta: float) -> int:
    """Improve nodes whose load plus its deviation exceeds their capacity, Fig. 5.5 [Xing06]; return how many were.

    Each is paired with the node it correlates with least, if that is below theta. The printed figure saves and restores
    node j; it has to be s.
    """
    n, h, improved = len(nodes.load), nodes.sums.shape[1], 0
    for i in range(n):
        square = 0.0
        for t in range(h):
            square += nodes.sums[i, t] * nodes.sums[i, t]
        deviation = np.sqrt(square / h)
        if nodes.load[i] + deviation <= nodes.capacity[i]:
            continue
        s = _least_correlated(units, nodes, i, theta)
        if s >= 0 and improve_pair(units, nodes, i, s, method):
            improved += 1
    return improved


@compiled
def _rescan(rho: Floats, open_pair: Flags, i: int, low: Ints) -> None:
    """Find the least correlated of the pairs of node i that are open, -1 if none is."""
    best = -1
    for k in range(rho.shape[0]):
        if open_pair[i, k] and (best < 0 or rho[i, k] < rho[i, best]):
            best = k
    low[i] = best


@compiled
def _refresh(units: Units, nodes: Nodes, i: int, other: int, rho: Floats, open_pair: Flags, theta: float) -> None:
    """Correlate a changed node with all but the one it changed with."""
    for k in range(len(nodes.load)):
        if k not in (i, other):
            rho[i, k] = correlate(nodes.sums, i, k, units.tiny)
            rho[k, i] = rho[i, k]
            open_pair[i, k] = rho[i, k] < theta
            open_pair[k, i] = open_pair[i, k]


@compiled
def _least_pair(rho: Floats, low: Ints) -> int:
    """Return the node with the least correlated open pair, -1 if there is none."""
    best = -1
    for k in range(len(low)):
        if low[k] >= 0 and (best < 0 or rho[k, low[k]] < rho[best, low[best]]):
            best = k
    return best


@compiled
def improve_all(units: Units, nodes: Nodes, method: Method, theta: float) -> int:
    """Work on the least correlated pairs below theta, Fig. 5.7 [Xing06], keeping rises; return how many were kept.

    A pair that did not rise is not tried again until one of its nodes changes; at most n(n - 1)/2 pairs are tried. The
    least pair of every node is remembered, so that finding the next one takes n steps, not n^2.
    """
    n, kept = len(nodes.load), 0
    rho, open_pair = np.zeros((n, n)), np.zeros((n, n), dtype=np.bool_)
    low = np.empty(n, dtype=np.int64)
    for i in range(n):
        _refresh(units, nodes, i, i, rho, open_pair, theta)
    for i in range(n):
        _rescan(rho, open_pair, i, low)
    for _ in range(n * (n - 1) // 2):
        i = _least_pair(rho, low)
        if i < 0:
            return kept
        j = low[i]
        open_pair[i, j], open_pair[j, i] = False, False
        if improve_pair(units, nodes, i, j, method):
            kept += 1
            _refresh(units, nodes, i, j, rho, open_pair, theta)
            _refresh(units, nodes, j, i, rho, open_pair, theta)
            for k in range(n):
                if low[k] in (i, j):
                    _rescan(rho, open_pair, k, low)
                for c in (i, j):
                    if open_pair[k, c] and (low[k] < 0 or rho[k, c] < rho[k, low[k]]):
                        low[k] = c
        _rescan(rho, open_pair, i, low)
        _rescan(rho, open_pair, j, low)
    return kept
