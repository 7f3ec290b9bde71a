"""Assigning queries that are all known, by rules of thumb of the text [Zong15] and by none.

Rule 1: each takes a problem and a generator, and returns the server of each query, (n,), within the limits.
Rule 2: as many queries of a type as fit go together, the lightest first: so whatever is left fits somewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.problem import Problem
from drover.load.arrays import Floats, Ints


def queries_by_type(problem: Problem) -> list[Ints]:
    """Return the queries of each type, the lightest first."""
    if not problem.n:
        return []
    kind = problem.types()
    order = np.lexsort((np.arange(problem.n), problem.weight, kind))
    return np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)


def fitting(problem: Problem, queries: Ints, room: float) -> int:
    """Return how many of the queries, in order, fit into the room that a server has left."""
    return int(np.searchsorted(np.cumsum(problem.weight[queries]), room, side="right"))


def pack_types(problem: Problem, _rng: Generator) -> Ints:
    """Fill one server after the other with the types that have most load (MQP).

    The text's threshold is negative as soon as (k - 1) nu >= 1, so each server is filled to its share of what is left,
    by whole types where the limit allows; the last servers take what remains.
    """
    groups = queries_by_type(problem)
    groups.sort(key=lambda queries: -float(problem.weight[queries].sum()))
    limits, server = problem.limits(), np.full(problem.n, -1)
    load = np.zeros(problem.k)
    left, capacity, at = float(problem.weight.sum()), float(problem.capacity.sum()), 0
    for j in range(problem.k):
        threshold = left * problem.capacity[j] / capacity
        while at < len(groups) and load[j] < threshold * (1 - 1e-12):
            taken = fitting(problem, groups[at], limits[j] - load[j])
            server[groups[at][:taken]] = j
            load[j] += problem.weight[groups[at][:taken]].sum()
            groups[at] = groups[at][taken:]
            if len(groups[at]):
                break
            at += 1
        left, capacity = left - load[j], capacity - problem.capacity[j]
    return settle_rest(problem, server, load, limits)


def settle_rest(problem: Problem, server: Ints, load: Floats, limits: Floats) -> Ints:
    """Assign queries without a server to the one with most room."""
    for q in np.flatnonzero(server < 0):
        j = int((limits - load).argmax())
        server[q] = j
        load[j] += problem.weight[q]
    return server


def draw_types(problem: Problem, rng: Generator) -> Ints:
    """Assign all queries of a drawn type to a drawn server with room, then go on with the next (OffRand)."""
    groups = queries_by_type(problem)
    room, server = problem.limits(), np.full(problem.n, -1)
    there = np.ones(problem.k, dtype=np.bool_)  # servers that have taken part of a type are full, and drop out
    for t in rng.permutation(len(groups)):
        queries, tried = groups[t], there.copy()
        while len(queries):
            found = np.flatnonzero(tried)
            if not len(found):  # of heavy queries none may fit where others still do
                found, tried = np.flatnonzero(room >= problem.weight[queries[0]]), np.ones(problem.k, dtype=np.bool_)
                there |= tried
            j = int(rng.choice(found))
            taken = fitting(problem, queries, room[j])
            server[queries[:taken]] = j
            room[j] -= problem.weight[queries[:taken]].sum()
            queries, tried[j] = queries[taken:], False
            there[j] &= not len(queries)
    return server


def split_sources(problem: Problem, _rng: Generator) -> Ints:
    """Give the source with the highest rate to the server with most room, and so on (Fig. 2 [Zong15]).

    For queries with one source each; the traffic is at most twice the least.
    """
    sizes = np.diff(problem.start)
    if (sizes > 1).any():
        q = int(np.flatnonzero(sizes > 1)[0])
        raise ProblemError(
            f"query {q} has {sizes[q]} sources, but the policy single-source takes queries with one. "
            "Choose another policy, such as mms-rare."
        )
    groups = queries_by_type(problem)
    groups.sort(key=lambda queries: -float(problem.rate[problem.source[problem.start[queries[0]]]]))
    room, server = problem.limits(), np.full(problem.n, -1)
    for group in groups:
        queries = group
        while len(queries):
            j = int(room.argmax())
            taken = max(fitting(problem, queries, room[j]), 1)
            server[queries[:taken]] = j
            room[j] -= problem.weight[queries[:taken]].sum()
            queries = queries[taken:]
    return server
