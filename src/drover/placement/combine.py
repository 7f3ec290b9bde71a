"""Policies made of other policies: one for sticky units and one for floating units; large clusters domain by domain.

Rule 1: this module only decides which policy places which units.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import NOWHERE, Flags, PlacementProblem
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import keep_groups, keep_links, repair

DOMAIN: Final = 50  # nodes; COR-GLB takes 10 ms for this many, and 0.2 s for four times as many


def restrict(problem: PlacementProblem, keep: Flags, nodes: Ints | None = None) -> PlacementProblem:
    """Return the problem of some units, (m,), on all nodes or on `nodes`; links that lose an end are dropped.

    A unit that may be on none of these nodes may be on all of them: the caller repairs the complete plan.
    """
    index = np.flatnonzero(keep)
    new = np.full(problem.m, NOWHERE)
    new[index] = np.arange(len(index))
    inside = keep[problem.links.source] & keep[problem.links.target]
    nodes = np.arange(problem.n) if nodes is None else nodes
    allowed = problem.reachable()[np.ix_(index, nodes)]
    # One more entry than nodes: index -1, a unit that is nowhere, must stay -1.
    renumbered = np.full(problem.n + 1, NOWHERE)
    renumbered[nodes] = np.arange(len(nodes))
    return replace(
        problem,
        units=tuple(problem.units[j] for j in index),
        capacity=problem.capacity[nodes],
        bandwidth=problem.bandwidth[nodes],
        coefficients=problem.coefficients[index],
        series=problem.series[index],
        pinned=np.full(len(index), NOWHERE),
        sticky=problem.sticky[index],
        allowed=np.where(allowed.any(axis=1, keepdims=True), allowed, True),
        together=(),
        apart=tuple(tuple(int(new[j]) for j in group if keep[j]) for group in problem.apart),
        state=problem.state[index],
        current=renumbered[problem.current[index]],
        links=keep_links(problem.links, inside, new),
        readers=keep_groups(problem.readers, new),
    )


def place_combined(problem: PlacementProblem, rng: Generator) -> Ints:
    """Place sticky units by ROD as if they were alone, then floating units by COR-GLB: section 8.3 [Xing06]."""
    places = np.full(problem.m, NOWHERE)
    if problem.sticky.any():
        stuck = restrict(problem, problem.sticky)
        places[problem.sticky] = repair(stuck, place_resilient(stuck, rng))
    if problem.sticky.all():
        return places
    return place_correlated(problem, rng, placed=places)


def place_in_domains(problem: PlacementProblem, rng: Generator, size: int = DOMAIN) -> Ints:
    """Place by COR-GLB in two steps: units to domains of at most `size` nodes, then to the nodes of each domain."""
    count = -(-problem.n // size)
    if count == 1:
        return place_correlated(problem, rng)
    # Taking every count-th node in order of capacity gives all domains about the same mix of large and small nodes.
    by_capacity = np.lexsort((np.arange(problem.n), -problem.capacity))
    domains = [np.sort(by_capacity[e::count]) for e in range(count)]
    reachable = problem.reachable()
    whole = restrict(replace(problem, apart=()), np.ones(problem.m, dtype=np.bool_))
    coarse = replace(
        whole,
        capacity=np.array([problem.capacity[nodes].sum() for nodes in domains]),
        bandwidth=np.full(count, np.inf),
        allowed=np.stack([reachable[:, nodes].any(axis=1) for nodes in domains], axis=1),
        current=np.full(problem.m, NOWHERE),
    )
    # Units that must stay apart may share a domain, so only the second step sees these rules.
    chosen = repair(coarse, place_correlated(coarse, rng))
    places = np.full(problem.m, NOWHERE)
    for e, nodes in enumerate(domains):
        inside = chosen == e
        if inside.any():
            places[inside] = nodes[place_correlated(restrict(problem, inside, nodes), rng)]
    return places
