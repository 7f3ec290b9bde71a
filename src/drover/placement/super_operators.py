"""Super-operators: tiny units are fused, so that plans of thousands of units need few hops [Xing05].

Rule 1: LEAST is the only threshold. A unit is tiny if its shares of all load, of the loads of all streams and of all
state are below it. So neither an idle stream nor much state ends up in one super-operator.
Rule 2: a super-operator has at most twice LEAST of each, or what its one larger unit has and LEAST more. Only units
with the same rules are fused: as sticky as each other, on the same nodes, and neither pinned nor kept apart. So fusing
rules out no plan of the other units.
Rule 3: the lightest is fused first: along a link, or else with a reader of the same source, or else with any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Floats, Ints
from drover.placement.policy import FROM_CURRENT, propose
from drover.placement.problem import NOWHERE, Groups, PlacementProblem
from drover.placement.rules import Fused, fuse
from drover.placement.score import node_loads
from drover.placement.search.fewest_moves import BalanceTarget, even_out

LEAST: Final = 0.02  # of what each node has if all have the same: then a node has at most some fifty super-operators
LOSS: Final = 0.1  # of the headroom that super-operators may cost, for the hops that they save
MANY: Final = 100  # units; fewer are placed one by one
COMPARED: Final = 1000  # units up to which the plan without super-operators is made, too, if these cost much headroom
ALONE: Final = -1
# These policies are defined unit by unit, or keep whole graphs together anyway.
BY_UNIT: Final = frozenset({"round-robin", "hash", "random", "balanced-random", "connected", "whole"})


def propose_fused(problem: PlacementProblem, name: str, rng: Generator, alone: Collection[str] = ()) -> Ints:
    """Return the plan, (m,), that a policy proposes for super-operators; units in `alone` are in none.

    If it may cost more than LOSS of the headroom, a few moves make it more even. If that is not enough, and there are
    not too many units, the plan without super-operators is made, too.
    """
    stay = name in FROM_CURRENT
    # Without a current plan, policies that need one start from whole graphs, and a super-operator may join several.
    if name in BY_UNIT or (stay and (problem.current == NOWHERE).all()):
        return propose(problem, name, rng)
    fused = fuse_tiny(problem, stay=stay, alone=alone)
    if fused.problem.m == problem.m:
        return propose(problem, name, rng)
    # A copy, so that the plan without super-operators is the one that the policy makes by itself.
    found = propose(fused.problem, name, deepcopy(rng))
    best = least_fullest(problem)
    if not stay and fullest(fused.problem, found) * (1 - LOSS) > best:
        found = evened(fused.problem, found)
    places = fused.spread(found)
    least = fullest(problem, places) * (1 - LOSS)
    if problem.m > COMPARED or least <= best:
        return places
    plain = propose(problem, name, rng)
    return plain if fullest(problem, plain) < least else places


def evened(problem: PlacementProblem, places: Ints) -> Ints:
    """Return a plan, (m,), that few moves have made more even at present rates, which ROD ignores."""
    even = problem.load.sum() / problem.capacity.sum()
    target = BalanceTarget(epsilon=LOSS * even / 2, goal=LOSS * even / 4)
    return even_out(replace(problem, series=np.repeat(problem.load[:, None], 2, axis=1)), places, target)


def fullest(problem: PlacementProblem, places: Ints) -> float:
    """Return the largest load of a node over its capacity."""
    return float((node_loads(problem, places) / problem.capacity).max())


def least_fullest(problem: PlacementProblem) -> float:
    """Return a bound that no plan is below: an even load, or the largest unit on the largest node."""
    load = problem.load
    return float(max(load.sum() / problem.capacity.sum(), load.max(initial=0.0) / problem.capacity.max()))


def fuse_tiny(problem: PlacementProblem, *, stay: bool, alone: Collection[str] = (), least: float = LEAST) -> Fused:
    """Return the problem with its tiny units fused, and those that must stay together.

    With `stay`, only units on the same current node are fused, so that none of them has to move.
    """
    first = fuse(problem)
    if first.problem.m <= MANY:
        return first
    single = np.zeros(first.problem.m, dtype=np.bool_)
    single[first.owner[[unit in alone for unit in problem.units]]] = True
    rules = rules_of(first.problem, stay=stay)
    rules[single] = ALONE
    second = fuse(first.problem, super_operators(first.problem, rules, least))
    return Fused(second.problem, second.owner[first.owner])


def rules_of(problem: PlacementProblem, *, stay: bool) -> Ints:
    """Return, (m,), a number for what rules say about each unit; ALONE if its place may matter by itself."""
    columns = [problem.sticky[:, None], problem.allowed, problem.current[:, None] if stay else problem.sticky[:, None]]
    found = np.unique(np.hstack(columns), axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    found[problem.pinned != NOWHERE] = ALONE
    found[[j for group in problem.apart for j in group]] = ALONE
    return found


def super_operators(problem: PlacementProblem, rules: Ints, least: float = LEAST) -> Groups:
    """Return the groups of units to fuse; units with different `rules`, (m,), or with ALONE are in none together."""
    clusters = _Clusters.of(problem, rules, least)
    while clusters.tiny:
        _, one, version = heappop(clusters.tiny)
        if version != clusters.version[one]:
            continue  # it has grown since
        clusters.version[one] += 1
        other = next(clusters.partners(one), None)
        # Without a partner, no other tiny cluster has its rules.
        if other is not None:
            clusters.join(other, one)
    return clusters.groups()


def shares_of_units(problem: PlacementProblem) -> Floats:
    """Return, (m, 3), each unit's share of all load, of the loads of all streams, and of all state, times n."""
    streams = problem.shares()
    each = streams.mean(axis=1) if streams.shape[1] else np.zeros(problem.m)
    found = np.stack([problem.load, each, problem.state], axis=1)
    return np.asarray(found * problem.n / np.maximum(found.sum(axis=0), np.finfo(np.float64).tiny))


Entry = tuple[float, int, int]  # size, cluster, and its version, so that old entries are known


@dataclass(slots=True)
class _Clusters:
    """The clusters as they grow; a cluster has the number of one of its units."""

    least: float
    size: Floats  # (m, 3)
    limit: Floats  # (m, 3) up to which a cluster may grow
    rule: list[int]
    linked: list[set[int]]
    read: list[set[int]]  # groups of readers
    owner: list[int]
    version: list[int]
    tiny: list[Entry] = field(default_factory=list)  # all tiny clusters, as a heap
    with_rule: dict[int, list[Entry]] = field(default_factory=dict)  # those with a rule
    with_source: dict[tuple[int, int], list[Entry]] = field(default_factory=dict)  # those that also read a source

    @classmethod
    def of(cls, problem: PlacementProblem, rules: Ints, least: float) -> _Clusters:
        """Return the clusters of one unit each."""
        size = shares_of_units(problem)
        linked: list[set[int]] = [set() for _ in range(problem.m)]
        for one, other in zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True):
            linked[one].add(other)
            linked[other].add(one)
        read: list[set[int]] = [set() for _ in range(problem.m)]
        for number, group in enumerate(problem.readers):
            for j in group:
                read[j].add(number)
        units = list(range(problem.m))
        limit = np.maximum(size, least) + least
        found = cls(least, size, limit, rules.tolist(), linked, read, units, [0] * problem.m)
        for one in range(problem.m):
            found.offer(one)
        return found

    def offer(self, one: int) -> None:
        """Let a cluster be found if it is tiny, and forget its earlier sizes."""
        self.version[one] += 1
        if self.rule[one] == ALONE or not (self.size[one] < self.least).all():
            return
        entry = (float(self.size[one].max()), one, self.version[one])
        heappush(self.tiny, entry)
        heappush(self.with_rule.setdefault(self.rule[one], []), entry)
        for number in self.read[one]:
            heappush(self.with_source.setdefault((self.rule[one], number), []), entry)

    def partners(self, one: int) -> Iterator[int]:
        """Yield clusters that a tiny one, which is not offered any more, may be fused with, the best first."""
        near = [other for other in self.linked[one] if self.rule[other] == self.rule[one] and self._fit(one, other)]
        yield from sorted(near, key=lambda other: (float(self.size[other].max()), other))
        heaps = [self.with_source.get((self.rule[one], number), []) for number in sorted(self.read[one])]
        for heap in (*heaps, self.with_rule[self.rule[one]]):
            while heap and heap[0][2] != self.version[heap[0][1]]:
                heappop(heap)
            if heap:
                yield heap[0][1]

    def _fit(self, one: int, other: int) -> bool:
        """Return whether two clusters stay within their limit together; two tiny ones always do."""
        limit = np.maximum(self.limit[one], self.limit[other])
        return bool((self.size[one] + self.size[other] <= limit).all())

    def join(self, one: int, other: int) -> None:
        """Merge the second cluster into the first."""
        self.owner[other] = one
        self.size[one] += self.size[other]
        self.limit[one] = np.maximum(self.limit[one], self.limit[other])
        self.read[one] |= self.read[other]
        for beside in self.linked[other]:
            self.linked[beside].discard(other)
            if beside != one:
                self.linked[beside].add(one)
                self.linked[one].add(beside)
        self.offer(one)

    def groups(self) -> Groups:
        """Return the clusters with more than one unit."""
        found: dict[int, list[int]] = {}
        for j in range(len(self.owner)):
            root = j
            while self.owner[root] != root:
                root = self.owner[root]
            self.owner[j] = root  # shortens the path of later units
            found.setdefault(root, []).append(j)
        return tuple(tuple(units) for units in found.values() if len(units) > 1)
