"""The rules of a problem as policies use them: fused units, lists of conflicts, and repair of proposals.

Rule 1: a policy sees a fused problem, in which units that stay together are one unit, so it cannot separate them.
Rule 2: a policy may propose a plan that breaks a rule. `repair` changes little of it, or explains why it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints
from drover.load.links import UnitLinks
from drover.placement.problem import NOWHERE, Flags, Groups, PlacementProblem

STEPS: Final = 100_000  # limit of the search for a valid plan, which is a graph colouring problem and hard in general


@dataclass(frozen=True, slots=True, eq=False)
class Conflicts:
    """Which units may not share a node, as adjacency lists: those of unit j are near[start[j] : start[j + 1]]."""

    start: Ints  # (m + 1,)
    near: Ints  # (entries,) units

    @classmethod
    def of(cls, problem: PlacementProblem) -> Conflicts:
        """Return the pairs that the groups of a problem keep apart."""
        if not problem.apart:
            return cls(np.zeros(problem.m + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
        near: list[set[int]] = [set() for _ in range(problem.m)]
        for group in problem.apart:
            for j in group:
                near[j].update(group)
        listed = [sorted(found - {j}) for j, found in enumerate(near)]
        start = np.concatenate([[0], np.cumsum([len(found) for found in listed])]).astype(np.int64)
        return cls(start, np.array([q for found in listed for q in found], dtype=np.int64))

    def of_unit(self, j: int) -> Ints:
        """Return the units that may not be on the node of unit j."""
        return np.asarray(self.near[self.start[j] : self.start[j + 1]])


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """A problem in which groups of units are fused into one, and the way back."""

    problem: PlacementProblem
    owner: Ints  # (m,) fused unit that contains unit j of the original problem

    def spread(self, places: Ints) -> Ints:
        """Return the places of the fused units as places of the original units."""
        return np.asarray(places[self.owner])


def owners(m: int, groups: Groups) -> Ints:
    """Return, (m,), the class of each unit if the units of each group are joined; numbered by first member."""
    root = list(range(m))

    def find(j: int) -> int:
        while root[j] != j:
            # Path halving keeps the trees flat without recursion.
            root[j] = j = root[root[j]]
        return j

    for group in groups:
        for j in group[1:]:
            one = find(group[0])
            other = find(j)
            root[max(one, other)] = min(one, other)
    return np.unique(np.array([find(j) for j in range(m)], dtype=np.int64), return_inverse=True)[1].astype(np.int64)


def fuse(problem: PlacementProblem, groups: Groups | None = None) -> Fused:
    """Return the problem with the units of each group fused; without `groups`, only those that must stay together."""
    owner = owners(problem.m, (*problem.together, *(groups or ())))
    fused = int(owner.max(initial=-1)) + 1
    if fused == problem.m:
        return Fused(replace(problem, together=()), owner)
    members = [np.flatnonzero(owner == unit) for unit in range(fused)]
    # Fused units inherit the rules of all their members.
    apart = tuple(tuple(int(owner[j]) for j in group) for group in problem.apart)
    for group, found in zip(problem.apart, apart, strict=True):
        if len(set(found)) < len(found):
            names = ", ".join(problem.units[j] for j in group)
            raise ProblemError(f"apart has {names}, but together joins two of them. Drop one of the two rules.")
    reachable = problem.reachable()
    allowed = np.array([reachable[rows].all(axis=0) for rows in members]).reshape(fused, problem.n)
    for rows in (members[unit] for unit in np.flatnonzero(~allowed.any(axis=1))):
        names = ", ".join(problem.units[j] for j in rows)
        raise ProblemError(
            f"together has {names}, but no node is allowed for all of them. Allow a common node, or drop the rule."
        )
    made = replace(
        problem,
        units=tuple("+".join(problem.units[j] for j in rows) for rows in members),
        coefficients=_sums(problem.coefficients, members),
        series=_sums(problem.series, members),
        state=_sums(problem.state, members),
        pinned=_agreed(problem.pinned, members),
        sticky=np.array([problem.sticky[rows].any() for rows in members]),
        allowed=allowed,
        current=_agreed(problem.current, members),
        together=(),
        apart=apart,
        links=_between(problem.links, owner),
        readers=keep_groups(problem.readers, owner),
    )
    return Fused(made, owner)


def _sums(values: Floats, members: list[Ints]) -> Floats:
    return np.array([values[rows].sum(axis=0) for rows in members]).reshape(len(members), *values.shape[1:])


def _agreed(places: Ints, members: list[Ints]) -> Ints:
    """Return the node of the first member that has one, (fused,)."""
    found = [places[rows][places[rows] != NOWHERE] for rows in members]
    return np.array([nodes[0] if len(nodes) else NOWHERE for nodes in found], dtype=np.int64)


def keep_groups(groups: Groups, number: Ints) -> Groups:
    """Return groups with their units renumbered by `number`, (m,); units with -1, and groups of one unit, are gone."""
    found = (tuple(dict.fromkeys(int(number[j]) for j in group if number[j] != NOWHERE)) for group in groups)
    return tuple(dict.fromkeys(group for group in found if len(group) > 1))


def _between(links: UnitLinks, owner: Ints) -> UnitLinks:
    """Return the links whose ends are still different units."""
    return keep_links(links, owner[links.source] != owner[links.target], owner)


def keep_links(links: UnitLinks, kept: Flags, number: Ints) -> UnitLinks:
    """Return the kept links, (g,), with their units renumbered by `number`, (m,)."""
    streams = tuple(stream for stream, keep in zip(links.streams, kept, strict=True) if keep)
    ends = (number[links.source[kept]], number[links.target[kept]])
    return UnitLinks(streams, *ends, links.communication[kept], links.bandwidth[kept])


def repair(problem: PlacementProblem, places: Ints) -> Ints:
    """Return a plan that keeps the rules of a fused problem and follows the proposal wherever possible.

    Units that break no rule stay. Of the others, the one with the fewest allowed nodes goes first, to its proposed node
    or to the least loaded one. If that leads to no plan, all units with conflicts are placed again.
    """
    reachable = problem.reachable()
    conflicts = Conflicts.of(problem)
    places = np.array(places, dtype=np.int64)
    lost = (places == NOWHERE) | ~reachable[np.arange(problem.m), places]
    wrong = [int(j) for j in np.flatnonzero(lost)]
    wrong += _clashing(places, conflicts, set(wrong)) if problem.apart else []
    if not wrong:
        return places
    # First only the units that break a rule move; if that fails, all units with conflicts may.
    tied = {j for j in range(problem.m) if len(conflicts.of_unit(j))}
    for again in (set(wrong), set(wrong) | tied):
        found = _backtrack(problem, places, sorted(again), reachable, conflicts)
        if found is not None:
            return found
    groups = "; ".join(", ".join(problem.units[j] for j in group) for group in problem.apart)
    raise ProblemError(
        f"apart has {groups}, but no plan for {problem.n} nodes was found that keeps them apart on allowed nodes. "
        "Add nodes, allow more of them, or make the groups smaller."
    )


def _clashing(places: Ints, conflicts: Conflicts, known: set[int]) -> list[int]:
    """Return the units to move so that no two of the others clash: the later one of each pair."""
    found: set[int] = set()
    for j in range(len(places)):
        before = (q for q in conflicts.of_unit(j) if q < j and q not in known and q not in found)
        if j not in known and any(places[q] == places[j] for q in before):
            found.add(j)
    return sorted(found)


def relabel(problem: PlacementProblem, places: Ints) -> Ints:
    """Return the same plan with equal nodes renumbered so that as little as possible moves from the current plan.

    Nodes are equal if they have the same capacity and bandwidth and allow the same units. Without this, a plan made
    from scratch would move nearly everything, only because it numbers its nodes in another order.
    """
    there = problem.current != NOWHERE
    if not there.any() or problem.n == 1:
        return places
    kept = np.zeros(
        (problem.n, problem.n)
    )  # (n, n) share of state that stays if node i becomes node k; load breaks ties
    weight = problem.state / max(float(problem.state.sum()), 1e-300) + 1e-3 * problem.load / max(
        problem.load.sum(), 1e-300
    )
    np.add.at(kept, (places[there], problem.current[there]), weight[there])
    columns = np.vstack([problem.capacity, problem.bandwidth, problem.reachable().astype(np.float64)]).T
    kind = np.unique(columns, axis=0, return_inverse=True)[1].ravel()
    # Worse than any gain: nodes of different kinds are never exchanged.
    kept[kind[:, None] != kind[None, :]] = -1e6
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - the import takes half a second, which only this function needs

    old, new = linear_sum_assignment(-kept)
    name = np.empty(problem.n, dtype=np.int64)
    name[old] = new
    return np.asarray(name[places])


def _backtrack(
    problem: PlacementProblem, proposed: Ints, free: list[int], reachable: Flags, conflicts: Conflicts
) -> Ints | None:
    places = proposed.copy()
    load = problem.load
    places[free] = NOWHERE
    busy = np.bincount(places[places >= 0], load[places >= 0], problem.n) / problem.capacity
    steps = 0
    stack: list[tuple[int, list[int]]] = []

    def options(j: int) -> list[int]:
        taken = set(places[conflicts.of_unit(j)].tolist())
        # The proposed node first: a repair should change little of the proposal (rule 2).
        order = sorted(range(problem.n), key=lambda i: (i != proposed[j], busy[i], i))
        return [i for i in order if reachable[j, i] and i not in taken]

    while True:
        left = [j for j in free if places[j] == NOWHERE]
        if not left:
            return places
        # The unit with the fewest options first: dead ends show early.
        j, nodes = min(((j, options(j)) for j in left), key=lambda entry: (len(entry[1]), -load[entry[0]], entry[0]))
        stack.append((j, nodes))
        while stack and not stack[-1][1]:  # a dead end: undo the last unit that has another node to try
            stack.pop()
            if stack:
                j = stack[-1][0]
                busy[places[j]] -= load[j] / problem.capacity[places[j]]
                places[j] = NOWHERE
        steps += 1
        if not stack or steps > STEPS:
            return None
        j, nodes = stack[-1]
        places[j] = nodes.pop(0)
        busy[places[j]] += load[j] / problem.capacity[places[j]]
