"""Compiled exhaustive search: every plan, or every plan that may still be the best.

Rule 1: depth first, units in the given order, nodes by index; the first of equal plans wins.
"""

from __future__ import annotations

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.search.kernels import LEAST, SearchProblem, fits, power_sum

compiled = numba.njit(cache=True, error_model="numpy")


@compiled
def _largest(loads: Floats, floors: Floats, before: Floats, after: Floats, b: int) -> None:
    """Fill in the largest load at each point after a unit was added to node b; `loads` already contains it."""
    scale = 1 / max(1 - floors[b], LEAST)
    for p in range(len(before)):
        after[p] = max(before[p], loads[b, p] * scale)


@compiled
def _add(problem: SearchProblem, loads: Floats, floors: Floats, j: int, b: int, sign: float) -> None:
    floors[b] += sign * problem.floor[j] * problem.inverse[b]
    for p in range(loads.shape[1]):
        loads[b, p] += sign * problem.rays[j, p] * problem.inverse[b]


@compiled
def _reach(problem: SearchProblem, largest: Floats, work: Floats) -> float:
    """Return the size of the feasible set for these largest loads; `work` is overwritten."""
    work[0] = np.maximum(largest, 1e-300)  # a load of zero would divide by zero
    return power_sum(work, problem.cap, problem.d)


@compiled
def branch(problem: SearchProblem, order: Ints, symmetric: bool) -> Ints:
    """Return the places with the largest feasible set, by branch and bound; -1 if no plan keeps the rules.

    Loads only grow as units are added. So the feasible set of a partial plan bounds that of every plan made from it.
    """
    m = len(order)
    n = len(problem.inverse)
    count = problem.rays.shape[1]
    places = np.full(m, -1)
    best = np.full(m, -1)
    top = -1.0
    loads = np.zeros((n, count))
    floors = np.zeros(n)
    largest = np.zeros((m + 1, count))
    work = np.empty((2, count))
    tried = np.full(m + 1, -1)
    used = np.zeros(m + 1, dtype=np.int64)
    depth = 0
    while depth >= 0:
        if depth == m:
            best[:] = places
            depth -= 1
            continue
        j = order[depth]
        if places[j] >= 0:
            _add(problem, loads, floors, j, places[j], -1.0)
            places[j] = -1
        tried[depth] += 1
        b = tried[depth]
        # Symmetry: of the nodes without units, only the first is tried, because the others would give equal plans.
        if b >= n or (symmetric and b > used[depth]):
            tried[depth] = -1
            depth -= 1
            continue
        if not fits(problem, places, j, b, -1):
            continue
        places[j] = b
        _add(problem, loads, floors, j, b, 1.0)
        _largest(loads, floors, largest[depth], largest[depth + 1], b)
        reach = _reach(problem, largest[depth + 1], work)
        # The tolerance keeps the first of equal plans, whatever rounding does.
        if reach > top * (1 + 1e-12):
            used[depth + 1] = max(used[depth], b + 1)
            depth += 1
            top = reach if depth == m else top
    return best


@compiled
def enumerate_plans(gram: Floats, inverse: Floats, problem: SearchProblem, symmetric: bool) -> Ints:
    """Return the places with the least F = sum_i s_i' K s_i / C_i, by trying all plans."""
    m = len(gram)
    n = len(inverse)
    places = np.full(m, -1)
    best = np.full(m, -1)
    least = np.inf
    part = np.zeros(m + 1)  # F of the units placed so far
    tried = np.full(m + 1, -1)
    used = np.zeros(m + 1, dtype=np.int64)
    depth = 0
    while depth >= 0:
        if depth == m:
            if part[m] < least * (1 - 1e-12):
                least = part[m]
                best[:] = places
            depth -= 1
            continue
        places[depth] = -1
        tried[depth] += 1
        b = tried[depth]
        if b >= n or (symmetric and b > used[depth]):
            tried[depth] = -1
            depth -= 1
            continue
        if not fits(problem, places, depth, b, -1):
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
