"""Offline policies of [Zong15]: simple rules, and a random baseline.

Rule 1: each takes a problem and a generator, and returns the server of each query, (n,), within the limits.
Rule 2: as many queries of a type as fit go together, the lightest first, so that the remaining ones fit somewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints


def queries_by_type(problem: HerdingProblem) -> list[Ints]:
    """Return the queries of each type, lightest first."""
    if not problem.n:
        return []
    kind = problem.types()
    order = np.lexsort((np.arange(problem.n), problem.weight, kind))
    return np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)


def fitting(problem: HerdingProblem, queries: Ints, room: float) -> int:
    """Return how many of the queries, in order, fit into the remaining room of a server."""
    return int(np.searchsorted(np.cumsum(problem.weight[queries]), room, side="right"))


def pack_types(problem: HerdingProblem, _rng: Generator) -> Ints:
    """Fill one server after the other with the types of largest load (MQP).

    The text's threshold is negative as soon as (k - 1) nu >= 1. So each server is filled to its share of what is left,
    by whole types where the limit allows. The last servers take the rest.
    """
    groups = queries_by_type(problem)
    groups.sort(key=lambda queries: -float(problem.weight[queries].sum()))
    limits = problem.limits()
    server = np.full(problem.n, -1)
    load = np.zeros(problem.k)
    left = float(problem.weight.sum())
    capacity = float(problem.capacity.sum())
    at = 0
    for j in range(problem.k):
        threshold = left * problem.capacity[j] / capacity
        # The tolerance absorbs rounding: a server that has reached its share takes no further type.
        while at < len(groups) and load[j] < threshold * (1 - 1e-12):
            taken = fitting(problem, groups[at], limits[j] - load[j])
            server[groups[at][:taken]] = j
            load[j] += problem.weight[groups[at][:taken]].sum()
            groups[at] = groups[at][taken:]
            if len(groups[at]):
                break
            at += 1
        left = left - load[j]
        capacity = capacity - problem.capacity[j]
    return assign_rest(problem, server, load, limits)


def assign_rest(problem: HerdingProblem, server: Ints, load: Floats, limits: Floats) -> Ints:
    """Assign queries without a server to the one with most room."""
    for q in np.flatnonzero(server < 0):
        j = int((limits - load).argmax())
        server[q] = j
        load[j] += problem.weight[q]
    return server


def draw_types(problem: HerdingProblem, rng: Generator) -> Ints:
    """Assign all queries of a random type to a random server with room, then continue with the next (OffRand)."""
    groups = queries_by_type(problem)
    room = problem.limits()
    server = np.full(problem.n, -1)
    there = np.ones(problem.k, dtype=np.bool_)  # a server that took only part of a type is full, and drops out
    for t in rng.permutation(len(groups)):
        queries = groups[t]
        tried = there.copy()
        while len(queries):
            found = np.flatnonzero(tried)
            if not len(
                found
            ):  # heavy queries may fit nowhere while lighter ones still do, so full servers are tried again
                found = np.flatnonzero(room >= problem.weight[queries[0]])
                tried = np.ones(problem.k, dtype=np.bool_)
                there |= tried
            j = int(rng.choice(found))
            taken = fitting(problem, queries, room[j])
            server[queries[:taken]] = j
            room[j] -= problem.weight[queries[:taken]].sum()
            queries = queries[taken:]
            tried[j] = False
            there[j] &= not len(queries)
    return server


def split_sources(problem: HerdingProblem, _rng: Generator) -> Ints:
    """Assign the source with the highest rate to the server with most room, and so on (Fig. 2 [Zong15]).

    For queries with one source each. The traffic is at most twice the minimum.
    """
    sizes = np.diff(problem.start)
    if (sizes > 1).any():
        q = int(np.flatnonzero(sizes > 1)[0])
        raise ProblemError(
            f"query {q} has {sizes[q]} sources, but the policy single-source needs exactly one. "
            "Choose another policy, such as mms-rare."
        )
    groups = queries_by_type(problem)
    groups.sort(key=lambda queries: -float(problem.rate[problem.source[problem.start[queries[0]]]]))
    room = problem.limits()
    server = np.full(problem.n, -1)
    for group in groups:
        queries = group
        while len(queries):
            j = int(room.argmax())
            # At least one query, so that the loop ends; the limits leave room for it on the server with most room.
            taken = max(fitting(problem, queries, room[j]), 1)
            server[queries[:taken]] = j
            room[j] -= problem.weight[queries[:taken]].sum()
            queries = queries[taken:]
    return server
