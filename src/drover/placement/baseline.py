"""Placing without a model: what every other policy is compared with.

Rule 1: each takes a fused problem and a generator, and returns places; a node that is not reachable is not proposed.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.placement.problem import NOWHERE, Flags, Problem
from drover.placement.rules import Conflicts, owners


def place_randomly(problem: Problem, rng: Generator) -> Ints:
    """Take the units in random order, each to the node with the fewest units, as in [Xing06]."""
    return deal(problem, rng.permutation(problem.m), load=np.ones(problem.m))


def place_in_turn(problem: Problem, _rng: Generator) -> Ints:
    """Deal the units out in turn; one that may not go to the next node goes to the first after it that it may."""
    ahead = (np.arange(problem.n) - np.arange(problem.m)[:, None]) % problem.n  # (m, n) steps from the node in turn
    return np.asarray(np.where(problem.reachable(), ahead, problem.n).argmin(axis=1))


def place_by_hash(problem: Problem, _rng: Generator) -> Ints:
    """Put each unit where a hash of its name says: what Spark does with keys."""
    reachable = problem.reachable()
    places = []
    for name, nodes in zip(problem.units, reachable, strict=True):
        found = np.flatnonzero(nodes)
        places.append(found[zlib.crc32(name.encode()) % len(found)])
    return np.array(places, dtype=np.int64)


def place_largest_first(problem: Problem, _rng: Generator) -> Ints:
    """Give the unit with the largest load to the node with the least relative load (LLF)."""
    order = np.lexsort((np.arange(problem.m), -problem.load))
    return deal(problem, order)


def place_balanced_randomly(problem: Problem, rng: Generator) -> Ints:
    """Take the units in random order, each to the node with the least relative load (RAND of [Xing05])."""
    return deal(problem, rng.permutation(problem.m))


def place_by_rate(problem: Problem, _rng: Generator) -> Ints:
    """Place as LLF does, but by the load of each unit at its peak: as seen, or at the upper bounds (Max-Rate)."""
    peak = problem.load
    if problem.coefficients.shape[1] and np.isfinite(problem.upper).all():
        peak = problem.coefficients @ problem.upper
    elif problem.series.shape[1]:
        peak = problem.series.max(axis=1)
    return deal(problem, np.lexsort((np.arange(problem.m), -peak)), load=peak)


def place_connected(problem: Problem, _rng: Generator) -> Ints:
    """Keep neighbours together: fill the least loaded node with linked units up to the average load, then the next."""
    reachable, conflicts = problem.reachable(), Conflicts.of(problem)
    load, places, loads = problem.load, np.full(problem.m, NOWHERE), np.zeros(problem.n)
    average = load.sum() / problem.capacity.sum()
    for start in range(problem.m):
        if places[start] != NOWHERE:
            continue
        node = _least(loads / problem.capacity, _open(places, reachable[start], conflicts.of_unit(start)))
        queue = [start]
        while queue:
            j = queue.pop(0)
            fits = loads[node] + load[j] <= average * problem.capacity[node] * (1 + 1e-9) or j == start
            if places[j] != NOWHERE or not fits or not _open(places, reachable[j], conflicts.of_unit(j))[node]:
                continue
            places[j], loads[node] = node, loads[node] + load[j]
            queue += _neighbours(problem, j)
    return places


def place_whole(problem: Problem, _rng: Generator) -> Ints:
    """Put each query graph whole on one node, the largest first on the least loaded: `connected` of [Xing05].

    Where rules forbid it, the unit goes elsewhere and the rest of its graph stays.
    """
    graph = owners(problem.m, tuple(zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True)))
    load = np.bincount(graph, problem.load)
    node, loads = np.zeros(len(load), dtype=np.int64), np.zeros(problem.n)
    for whole in np.lexsort((np.arange(len(load)), -load)):
        node[whole] = int((loads / problem.capacity).argmin())
        loads[node[whole]] += load[whole]
    return node[graph]


def deal(problem: Problem, order: Ints, places: Ints | None = None, load: Floats | None = None) -> Ints:
    """Give the units, in that order, each to the open node with the least relative load; others stay in `places`.

    `load`, (m,), is what is balanced, the mean load unless it is given.
    """
    load = problem.load if load is None else load
    reachable, conflicts = problem.reachable(), Conflicts.of(problem)
    places = np.full(problem.m, NOWHERE) if places is None else places.copy()
    there = places != NOWHERE
    loads = np.bincount(places[there], load[there], problem.n).astype(np.float64)
    for j in order:
        places[j] = _least(loads / problem.capacity, _open(places, reachable[j], conflicts.of_unit(int(j))))
        loads[places[j]] += load[j]
    return places


def settle(problem: Problem, places: Ints) -> Ints:
    """Return places in which units that are nowhere, or where they may not be, are dealt out largest first."""
    lost = places == NOWHERE
    lost |= ~problem.reachable()[np.arange(problem.m), places]
    order = np.lexsort((np.arange(problem.m), -problem.load))
    return deal(problem, order[lost[order]], np.where(lost, NOWHERE, places))


def _open(places: Ints, reachable: Flags, near: Ints) -> Flags:
    """Return the mask of nodes a unit may go to; all reachable ones if conflicts leave none: `repair` mends it."""
    mask = reachable.copy()
    taken = places[near]
    mask[taken[taken != NOWHERE]] = False
    return np.asarray(mask if mask.any() else reachable)


def _least(relative: Floats, mask: Flags) -> int:
    return int(np.where(mask, relative, np.inf).argmin())


def _neighbours(problem: Problem, j: int) -> list[int]:
    links = problem.links
    found = np.concatenate([links.target[links.source == j], links.source[links.target == j]])
    return [int(q) for q in found]
