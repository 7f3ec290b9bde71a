"""Simple placement policies without a load model: the baseline for all other policies.

Rule 1: each takes a fused problem and a generator, and returns places. It proposes only reachable nodes.
"""

from __future__ import annotations

import zlib
from collections import deque

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.placement.problem import NOWHERE, Flags, PlacementProblem
from drover.placement.rules import Conflicts, owners


def place_randomly(problem: PlacementProblem, rng: Generator) -> Ints:
    """Assign the units in random order, each to the node with the fewest units, as in [Xing06]."""
    return assign_in_order(problem, rng.permutation(problem.m), load=np.ones(problem.m))


def place_in_turn(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Assign the units to the nodes in turn; a unit that may not go to its node goes to the next one that it may."""
    ahead = (np.arange(problem.n) - np.arange(problem.m)[:, None]) % problem.n  # (m, n) steps from the node in turn
    return np.asarray(np.where(problem.reachable(), ahead, problem.n).argmin(axis=1))


def place_by_hash(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Assign each unit by a hash of its name, as Spark does with keys."""
    reachable = problem.reachable()
    places = []
    for name, nodes in zip(problem.units, reachable, strict=True):
        # The hash chooses among the reachable nodes only. So a rule for one unit does not move the others.
        found = np.flatnonzero(nodes)
        places.append(found[zlib.crc32(name.encode()) % len(found)])
    return np.array(places, dtype=np.int64)


def place_largest_first(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Assign the unit with the largest load to the node with the least relative load, and so on (LLF)."""
    order = np.lexsort((np.arange(problem.m), -problem.load))
    return assign_in_order(problem, order)


def place_balanced_randomly(problem: PlacementProblem, rng: Generator) -> Ints:
    """Assign the units in random order, each to the node with the least relative load (RAND of [Xing05])."""
    return assign_in_order(problem, rng.permutation(problem.m))


def place_by_rate(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Place as LLF does, but by the peak load of each unit: measured, or at the upper bounds on rates (Max-Rate)."""
    peak = problem.load
    if problem.coefficients.shape[1] and np.isfinite(problem.upper).all():
        peak = problem.coefficients @ problem.upper
    elif problem.series.shape[1]:
        peak = problem.series.max(axis=1)
    return assign_in_order(problem, np.lexsort((np.arange(problem.m), -peak)), load=peak)


def place_connected(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Keep connected units together: fill the least loaded node with them up to the average load, then the next.

    Units are connected by a link, or because they read the same source: on one node, they share its rows.
    """
    sources = _sources_of(problem)
    reachable = problem.reachable()
    conflicts = Conflicts.of(problem)
    load = problem.load
    places = np.full(problem.m, NOWHERE)
    loads = np.zeros(problem.n)
    average = load.sum() / problem.capacity.sum()
    for start in range(problem.m):
        if places[start] != NOWHERE:
            continue
        node = _least(loads / problem.capacity, _open(places, reachable[start], conflicts.of_unit(start)))
        queue = deque([start])
        known: set[int] = set()  # groups of readers in the queue: once is enough, because a node only fills up
        while queue:
            j = queue.popleft()
            # The first unit goes to the node even if it is larger than the average. The tolerance absorbs rounding of
            # the sums.
            fits = loads[node] + load[j] <= average * problem.capacity[node] * (1 + 1e-9) or j == start
            if places[j] != NOWHERE or not fits or not _open(places, reachable[j], conflicts.of_unit(j))[node]:
                continue
            places[j] = node
            loads[node] = loads[node] + load[j]
            queue += _neighbours(problem, j, fresh := {*sources.get(j, ())} - known)
            known |= fresh
    return places


def place_whole(problem: PlacementProblem, _rng: Generator) -> Ints:
    """Put each query graph on one node, the largest first on the least loaded: `connected` of [Xing05].

    Units that read the same source belong to one graph. Where rules forbid this, `repair` moves
    single units, and the rest of the graph stays.
    """
    linked = zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True)
    graph = owners(problem.m, (*linked, *problem.readers))
    load = np.bincount(graph, problem.load)
    node = np.zeros(len(load), dtype=np.int64)
    loads = np.zeros(problem.n)
    for whole in np.lexsort((np.arange(len(load)), -load)):
        node[whole] = int((loads / problem.capacity).argmin())
        loads[node[whole]] += load[whole]
    return node[graph]


def assign_in_order(
    problem: PlacementProblem, order: Ints, places: Ints | None = None, load: Floats | None = None
) -> Ints:
    """Give the units, in that order, each to the open node with the least relative load; others stay in `places`.

    `load`, (m,), is the load to balance; it defaults to the mean load.
    """
    load = problem.load if load is None else load
    reachable = problem.reachable()
    conflicts = Conflicts.of(problem)
    places = np.full(problem.m, NOWHERE) if places is None else places.copy()
    there = places != NOWHERE
    loads = np.bincount(places[there], load[there], problem.n).astype(np.float64)
    for j in order:
        places[j] = _least(loads / problem.capacity, _open(places, reachable[j], conflicts.of_unit(int(j))))
        loads[places[j]] += load[j]
    return places


def place_unplaced(problem: PlacementProblem, places: Ints) -> Ints:
    """Return places in which units without an allowed node are assigned again, largest first."""
    lost = places == NOWHERE
    lost |= ~problem.reachable()[np.arange(problem.m), places]
    order = np.lexsort((np.arange(problem.m), -problem.load))
    return assign_in_order(problem, order[lost[order]], np.where(lost, NOWHERE, places))


def _open(places: Ints, reachable: Flags, near: Ints) -> Flags:
    """Return the nodes that a unit may go to; all reachable ones if conflicts leave none, because `repair` follows."""
    mask = reachable.copy()
    taken = places[near]
    mask[taken[taken != NOWHERE]] = False
    return np.asarray(mask if mask.any() else reachable)


def _least(relative: Floats, mask: Flags) -> int:
    return int(np.where(mask, relative, np.inf).argmin())


def _sources_of(problem: PlacementProblem) -> dict[int, list[int]]:
    """Return the groups of readers that each unit belongs to."""
    found: dict[int, list[int]] = {}
    for number, group in enumerate(problem.readers):
        for j in group:
            found.setdefault(j, []).append(number)
    return found


def _neighbours(problem: PlacementProblem, j: int, groups: set[int]) -> list[int]:
    """Return the units that a link connects with unit j, then those of some groups of readers."""
    links = problem.links
    linked = np.concatenate([links.target[links.source == j], links.source[links.target == j]])
    return [*(int(q) for q in linked), *(q for group in sorted(groups) for q in problem.readers[group])]
