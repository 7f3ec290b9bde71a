"""The compiled loop of resilient placement.

Rule 1: pure functions over arrays; `assign` equals its plain twin in `twins.py`.
"""

from __future__ import annotations

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

# how to choose a node of class I
DISTANCE = 0
DRAW = 1
CUTS = 2
SLACK = 1e-12  # a weight above 1 by less is rounding
TIE = 1e-9

compiled = numba.njit(cache=True, error_model="numpy")  # "numpy" omits a branch for every division
part = numba.njit(cache=True, error_model="numpy", forceinline=True)  # a call costs more than these do


@part
def _open_nodes(j: int, places: Ints, allowed: Flags, start: Ints, near: Ints, found: Ints) -> int:
    """Fill in the nodes that unit j may go to, or all allowed ones if conflicts leave none; return their number."""
    n = allowed.shape[1]
    count = 0
    for i in range(n):
        if allowed[j, i]:
            found[count] = i
            count += 1
    if start[j] == start[j + 1]:
        return count
    kept = 0
    for c in range(count):
        clash = False
        for e in range(start[j], start[j + 1]):
            clash = clash or places[near[e]] == found[c]
        if not clash:
            found[c], found[kept] = found[kept], found[c]
            kept += 1
    return kept or count


@part
def _cut(j: int, i: int, places: Ints, link_start: Ints, linked: Ints) -> int:
    """Count the links from unit j to units on other nodes than i."""
    count = 0
    for e in range(link_start[j], link_start[j + 1]):
        if places[linked[e]] >= 0 and places[linked[e]] != i:
            count += 1
    return count


@compiled
def assign(
    shares: Floats,
    portion: Floats,
    order: Ints,
    places: Ints,
    allowed: Flags,
    start: Ints,
    near: Ints,
    link_start: Ints,
    linked: Ints,
    box: Floats,
    draws: Floats,
    choice: int,
) -> None:
    """Place the units in this order by ROD, Fig. 4.9 [Xing06]; fills in `places`, (m,), where -1 is unplaced.

    `shares` is lo_jk / l_k, (m, d); `portion` is C_i / C_T, (n,). Units that are already placed count. `box`, (3, d),
    has the lower and upper bounds of the rates as points of the ideal set, and the squared length of each axis.
    """
    m, d = shares.shape
    n = len(portion)
    weight = np.zeros((n, d))
    sums = np.zeros((n, 3))  # squared length, load at the lower bound, load at the upper bound
    full = np.zeros(n, dtype=np.bool_)  # whether some weight is above 1; weights never fall
    found = np.empty(n, dtype=np.int64)
    distance = np.empty(n)
    first = np.empty(n, dtype=np.bool_)
    inverse = 1 / portion
    loaded = np.empty(d, dtype=np.int64)  # the streams that load the unit
    parts = np.empty(d)  # its shares of them
    for j in range(m):
        if places[j] >= 0:
            _add(j, places[j], shares, portion, weight, sums, box, full)
    for j in order:
        q = 0
        for k in range(d):
            if shares[j, k] > 0:
                loaded[q] = k
                parts[q] = shares[j, k]
                q += 1
        count = _open_nodes(j, places, allowed, start, near, found)
        for c in range(count):
            i = found[c]
            below = not full[i]
            square = sums[i, 0]
            at = sums[i, 1]
            most = sums[i, 2]
            scale = inverse[i]
            for e in range(q):
                k = loaded[e]
                share = parts[e] * scale
                below = below and weight[i, k] + share <= 1 + SLACK
                square += box[2, k] * share * (2 * weight[i, k] + share)
                at += share * box[0, k]
                most += share * box[1, k]
            # A node that no rates within the bounds can overload costs nothing, either.
            first[c] = below or most <= 1 + SLACK
            # Comparing squared distances gives the same result and needs no square root.
            distance[c] = (1 - at) * (1 - at) / square if at < 1 and square > 0 else 1 - at
        i = _choose(j, found, distance, first, count, places, link_start, linked, draws[j], choice)
        places[j] = i
        _add(j, i, shares, portion, weight, sums, box, full)


@part
def _add(
    j: int,
    i: int,
    shares: Floats,
    portion: Floats,
    weight: Floats,
    sums: Floats,
    box: Floats,
    full: Flags,
) -> None:
    for k in range(shares.shape[1]):
        if shares[j, k] > 0:
            share = shares[j, k] / portion[i]
            sums[i, 0] += box[2, k] * share * (2 * weight[i, k] + share)
            sums[i, 1] += share * box[0, k]
            sums[i, 2] += share * box[1, k]
            weight[i, k] += share
            full[i] = full[i] or weight[i, k] > 1 + SLACK


@part
def _choose(
    j: int,
    found: Ints,
    distance: Floats,
    first: Flags,
    count: int,
    places: Ints,
    link_start: Ints,
    linked: Ints,
    draw: float,
    choice: int,
) -> int:
    """Return a node of class I by `choice`, if there is one; otherwise the node whose plane stays farthest away."""
    firsts = 0
    for c in range(count):
        firsts += first[c]
    if firsts and choice == DRAW:
        left = int(draw * firsts)
        for c in range(count):
            if first[c]:
                if left == 0:
                    return int(found[c])
                left -= 1
    best = -1
    fewest = 0
    far = 0.0
    for c in range(count):
        if firsts and not first[c]:
            continue
        cuts = _cut(j, found[c], places, link_start, linked) if firsts and choice == CUTS else 0
        # Distances are squared here, so the tolerance of the twin's distances counts twice.
        nearer = distance[c] > far + 2 * TIE * abs(far)
        if best < 0 or cuts < fewest or (cuts == fewest and nearer):
            best = found[c]
            fewest = cuts
            far = distance[c]
    return best
