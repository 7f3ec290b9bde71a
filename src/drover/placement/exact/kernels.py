"""The compiled oracle: every plan, or every plan that may still be the best.

Rule 1: depth first, units in a given order, nodes by index; the first of equal plans wins.
"""

from __future__ import annotations

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.search.kernels import LEAST, Field, fits, power_sum

compiled = numba.njit(cache=True, error_model="numpy")


@compiled
def _largest(loads: Floats, floors: Floats, before: Floats, after: Floats, b: int) -> None:
    """Fill in the largest load at each point after a unit came to node b, which is in `loads` already."""
    scale = 1 / max(1 - floors[b], LEAST)
    for p in range(len(before)):
        after[p] = max(before[p], loads[b, p] * scale)


@compiled
def _add(field: Field, loads: Floats, floors: Floats, j: int, b: int, sign: float) -> None:
    floors[b] += sign * field.floor[j] * field.inverse[b]
    for p in range(loads.shape[1]):
        loads[b, p] += sign * field.rays[j, p] * field.inverse[b]


@compiled
def branch(field: Field, order: Ints, symmetric: bool) -> Ints:
    """Return the places with the largest feasible set, by branch and bound; -1 if no plan keeps the rules.

    Loads only grow as units are added, so what a partial plan reaches bounds what can be made of it.
    """
    m, n, count = len(order), len(field.inverse), field.rays.shape[1]
    places, best, top = np.full(m, -1), np.full(m, -1), -1.0
    loads, floors = np.zeros((n, count)), np.zeros(n)
    largest, work = np.zeros((m + 1, count)), np.empty((2, count))
    tried, used = np.full(m + 1, -1), np.zeros(m + 1, dtype=np.int64)
    depth = 0
    while depth >= 0:
        if depth == m:
            best[:], depth = places, depth - 1
            continue
        j = order[depth]
        if places[j] >= 0:
            _add(field, loads, floors, j, places[j], -1.0)
            places[j] = -1
        tried[depth] += 1
        b = tried[depth]
        if b >= n or (symmetric and b > used[depth]):
            tried[depth] = -1
            depth -= 1
            continue
        if not fits(field, places, j, b, -1):
            continue
        places[j] = b
        _add(field, loads, floors, j, b, 1.0)
        _largest(loads, floors, largest[depth], largest[depth + 1], b)
        work[0] = np.maximum(largest[depth + 1], 1e-300)
        reach = power_sum(work, field.cap, field.d)
        if reach > top * (1 + 1e-12):
            used[depth + 1] = max(used[depth], b + 1)
            depth += 1
            top = reach if depth == m else top
    return best


@compiled
def count_through(gram: Floats, inverse: Floats, field: Field, symmetric: bool) -> Ints:
    """Return the places with the least F = sum_i s_i' K s_i / C_i, by looking at all plans."""
    m, n = len(gram), len(inverse)
    places, best, least = np.full(m, -1), np.full(m, -1), np.inf
    part = np.zeros(m + 1)  # F of the units before
    tried, used = np.full(m + 1, -1), np.zeros(m + 1, dtype=np.int64)
    depth = 0
    while depth >= 0:
        if depth == m:
            if part[m] < least * (1 - 1e-12):
                least, best[:] = part[m], places
            depth -= 1
            continue
        places[depth] = -1
        tried[depth] += 1
        b = tried[depth]
        if b >= n or (symmetric and b > used[depth]):
            tried[depth] = -1
            depth -= 1
            continue
        if not fits(field, places, depth, b, -1):
            continue
        added = gram[depth, depth]
        for q in range(depth):
            if places[q] == b:
                added += 2 * gram[depth, q]
        places[depth] = b
        part[depth + 1] = part[depth] + added * inverse[b]
        used[depth + 1] = max(used[depth], b + 1)
        depth += 1
    return best
