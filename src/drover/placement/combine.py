"""Policies made of others: sticky units by one, floating units by another; large clusters domain by domain.

Rule 1: nothing is decided here but who decides on what.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import NOWHERE, Flags, Problem
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import keep_links, repair

DOMAIN: Final = 50  # nodes; COR-GLB takes 10 ms for so many, and 0.2 s for four times as many


def restrict(problem: Problem, keep: Flags, nodes: Ints | None = None) -> Problem:
    """Return the problem of some units, (m,), on all nodes or on `nodes`; links that lose an end are dropped.

    A unit that may be on none of the nodes may be on all of them: whoever asks repairs the whole plan.
    """
    index = np.flatnonzero(keep)
    new = np.full(problem.m, NOWHERE)
    new[index] = np.arange(len(index))
    inside = keep[problem.links.source] & keep[problem.links.target]
    nodes = np.arange(problem.n) if nodes is None else nodes
    allowed = problem.reachable()[np.ix_(index, nodes)]
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
    )


def place_combined(problem: Problem, rng: Generator) -> Ints:
    """Place sticky units by ROD, as if they were all, then floating ones by COR-GLB: section 8.3 [Xing06]."""
    places = np.full(problem.m, NOWHERE)
    if problem.sticky.any():
        stuck = restrict(problem, problem.sticky)
        places[problem.sticky] = repair(stuck, place_resilient(stuck, rng))
    if problem.sticky.all():
        return places
    return place_correlated(problem, rng, placed=places)


def place_in_domains(problem: Problem, rng: Generator, size: int = DOMAIN) -> Ints:
    """Place by COR-GLB in two steps: units to domains of `size` nodes at most, then to the nodes of each."""
    count = -(-problem.n // size)
    if count == 1:
        return place_correlated(problem, rng)
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
    chosen = repair(coarse, place_correlated(coarse, rng))
    places = np.full(problem.m, NOWHERE)
    for e, nodes in enumerate(domains):
        inside = chosen == e
        if inside.any():
            places[inside] = nodes[place_correlated(restrict(problem, inside, nodes), rng)]
    return places
