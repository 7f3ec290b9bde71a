"""The compiled loops over all nodes: the greedy start, a round of pairs, and the search for pairs to improve.

Rule 1: as in `correlation/kernels.py`, only `NodeLists` changes, and ties are broken by load and index.
"""

from __future__ import annotations

import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.correlation.kernels import (
    TIE,
    Method,
    NodeLists,
    Units,
    beats,
    compiled,
    correlate,
    extract_pair,
    improve_pair,
    rebalance_pair,
    store_pair,
)
from drover.placement.problem import Flags


@compiled
def fill_nodes(units: Units, nodes: NodeLists) -> None:
    """Fill in the lists, sums and loads of empty nodes from the places of units; -1 is unplaced."""
    # Backwards, because a unit is inserted at the head of its list: so lists are in ascending order.
    for j in range(len(nodes.places) - 1, -1, -1):
        if nodes.places[j] >= 0:
            _add(units, nodes, j, nodes.places[j])


@compiled
def _add(units: Units, nodes: NodeLists, j: int, i: int) -> None:
    nodes.places[j] = i
    nodes.following[j] = nodes.first[i]
    nodes.first[i] = j
    nodes.load[i] += units.load[j]
    for t in range(nodes.sums.shape[1]):
        nodes.sums[i, t] += units.centred[j, t]


@compiled
def _fits(units: Units, nodes: NodeLists, j: int, i: int) -> bool:
    fits = units.allowed[j, i]
    c = units.start[j]
    while c < units.start[j + 1]:
        fits = fits and nodes.places[units.near[c]] != i
        c += 1
    return bool(fits)


@compiled
def _correlate_all(units: Units, nodes: NodeLists, i: int, left: Ints, count: int, rho: Floats, sums: Floats) -> None:
    """Fill in the correlation of node i with every remaining unit, and each unit's sum over the nodes."""
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
def _lightest(nodes: NodeLists, closed: Flags) -> int:
    best = -1
    for i in range(len(nodes.load)):
        # Cross-multiplied, to avoid divisions in a loop that runs once per unit.
        if not closed[i] and (best < 0 or nodes.load[i] * nodes.capacity[best] < nodes.load[best] * nodes.capacity[i]):
            best = i
    return best


@compiled
def distribute(units: Units, nodes: NodeLists) -> None:
    """Give the lightest node the unplaced unit with the largest score, Fig. 5.6 [Xing06], until all are placed.

    A node is closed once no remaining unit may go to it. Units that no open node takes stay at -1.
    """
    m = len(nodes.places)
    n = len(nodes.load)
    left = np.empty(m, dtype=np.int64)
    count = 0
    closed = np.zeros(n, dtype=np.bool_)
    for j in range(m):
        if nodes.places[j] < 0:
            left[count] = j
            count += 1
    rho = np.zeros((n, m))
    sums = np.zeros(m)
    for i in range(n):
        if nodes.first[i] >= 0:
            _correlate_all(units, nodes, i, left, count, rho, sums)
    while count:
        r = _lightest(nodes, closed)
        if r < 0:
            return
        best = -1
        top = 0.0
        for e in range(count):
            j = left[e]
            score = sums[j] / n - rho[r, j]
            if beats(units, j, score, left[best] if best >= 0 else -1, top) and _fits(units, nodes, j, r):
                best = e
                top = score
        if best < 0:
            closed[r] = True
            continue
        _add(units, nodes, left[best], r)
        count -= 1
        # Close the gap instead of swapping in the last unit: ties within the tolerance depend on the order of
        # candidates.
        for e in range(best, count):
            left[e] = left[e + 1]
        _correlate_all(units, nodes, r, left, count, rho, sums)


@compiled
def run_round(units: Units, nodes: NodeLists, order: Ints, method: Method, epsilon: float) -> int:
    """Pair the first node in `order` with the last, and so on inwards; rebalance pairs that differ by over epsilon.

    The order is by load relative to capacity, the heaviest first. Returns the number of rebalanced pairs.
    """
    n = len(order)
    worked = 0
    for e in range(n // 2):
        a = order[e]
        b = order[n - 1 - e]
        if nodes.load[a] / nodes.capacity[a] - nodes.load[b] / nodes.capacity[b] > epsilon:
            pair = extract_pair(units, nodes, a, b)
            rebalance_pair(units, pair, method)
            store_pair(nodes, pair, a, b)
            worked += 1
    return worked


@compiled
def _least_correlated(units: Units, nodes: NodeLists, i: int, theta: float) -> int:
    """Return the node that correlates least with node i; -1 if no correlation is below theta."""
    best = -1
    least = theta
    for k in range(len(nodes.load)):
        if k != i:
            rho = correlate(nodes.sums, i, k, units.tiny)
            # Within the tolerance, the lower node number wins.
            if rho < least - TIE:
                best = k
                least = rho
    return best


@compiled
def relieve(units: Units, nodes: NodeLists, method: Method, theta: float) -> int:
    """Improve nodes whose load plus its deviation exceeds their capacity, Fig. 5.5 [Xing06]; return their number.

    Each one is paired with the node of least correlation, if that is below theta. The printed figure saves and restores
    node j; it has to be s.
    """
    n = len(nodes.load)
    h = nodes.sums.shape[1]
    improved = 0
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
    """Find the least correlated open pair of node i, -1 if none is open."""
    best = -1
    for k in range(rho.shape[0]):
        if open_pair[i, k] and (best < 0 or rho[i, k] < rho[i, best]):
            best = k
    low[i] = best


@compiled
def _refresh(units: Units, nodes: NodeLists, i: int, other: int, rho: Floats, open_pair: Flags, theta: float) -> None:
    """Update the correlations of a changed node with all nodes but `other`, with which it was rebalanced."""
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
def improve_all(units: Units, nodes: NodeLists, method: Method, theta: float) -> int:
    """Rebalance the least correlated pairs below theta, Fig. 5.7 [Xing06]; keep improvements and return their number.

    A pair without improvement is not tried again until one of its nodes changes; at most n(n - 1)/2 pairs are tried.
    The least pair of every node is cached, so that finding the next one takes n steps, not n^2.
    """
    n = len(nodes.load)
    kept = 0
    rho = np.zeros((n, n))
    open_pair = np.zeros((n, n), dtype=np.bool_)
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
        # A tried pair stays closed until `_refresh` opens it again after a change of one of its nodes.
        open_pair[i, j] = False
        open_pair[j, i] = False
        if improve_pair(units, nodes, i, j, method):
            kept += 1
            _refresh(units, nodes, i, j, rho, open_pair, theta)
            _refresh(units, nodes, j, i, rho, open_pair, theta)
            for k in range(n):
                # Cached minima are stale if they refer to a changed node, or if a changed pair is now smaller.
                if low[k] in (i, j):
                    _rescan(rho, open_pair, k, low)
                for c in (i, j):
                    if open_pair[k, c] and (low[k] < 0 or rho[k, c] < rho[k, low[k]]):
                        low[k] = c
        _rescan(rho, open_pair, i, low)
        _rescan(rho, open_pair, j, low)
    return kept
