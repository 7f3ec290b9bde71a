"""IC and MMS, and MMS with another order of ties.

Rule 1: ties decide much (see docs/herding.md), so their order is written down: by `rank`, then the least relative load.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.herding.greedy import kernels
from drover.herding.greedy.kernels import Types
from drover.herding.problem import Problem
from drover.load.arrays import Floats, Ints

Ties: TypeAlias = Literal["many", "rare"]  # the type with most load first, or with the rarest sources


def types_of(problem: Problem, ties: Ties) -> Types:
    """Return the types of a problem."""
    kind = problem.types()
    query = np.lexsort((np.arange(problem.n), problem.weight, kind))
    first = np.searchsorted(kind[query], np.arange(int(kind.max()) + 2))
    sizes = np.diff(problem.start)[query[first[:-1]]]
    start = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
    source = problem.source[np.repeat(problem.start[query[first[:-1]]], sizes) + within]
    rank = ranks(problem, kind, start, source, ties)
    whole = np.add.reduceat(problem.rate[source], start[:-1])
    order = np.lexsort((np.arange(len(rank)), rank, whole))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    of = np.repeat(np.arange(len(rank)), sizes)  # the type of each entry of `source`
    member = np.lexsort((place[of], source))
    member_start = np.searchsorted(source[member], np.arange(problem.m + 1))
    parts = (start, source, first, query, problem.weight, whole, order, rank, problem.rate)
    return Types(*parts, member_start, of[member], source[member])


def ranks(problem: Problem, kind: Ints, start: Ints, source: Ints, ties: Ties) -> Ints:
    """Return which type goes first among those that cost the same, (T,): the lower; equal ones are equal."""
    if ties == "many":
        value: Floats = -np.bincount(kind, problem.weight).astype(np.float64)
    else:
        value = np.add.reduceat(problem.degrees()[source], start[:-1]).astype(np.float64)
    return np.unique(value, return_inverse=True)[1]


def assign_greedily(problem: Problem, *, whole: bool, ties: Ties) -> Ints:
    """Return the server of each query, (n,), by the pair of type and server that costs least, again and again."""
    server = np.full(problem.n, -1)
    if problem.n:
        types, limits = types_of(problem, ties), problem.limits()
        kernels.assign(types, limits, problem.capacity, whole, server)
    return server


def least_added(problem: Problem, _rng: Generator) -> Ints:
    """Assign by the least added traffic, the larger type first (IC)."""
    return assign_greedily(problem, whole=False, ties="many")


def least_server(problem: Problem, _rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the larger type first (MMS)."""
    return assign_greedily(problem, whole=True, ties="many")


def least_server_rare(problem: Problem, _rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the type with the rarest sources first."""
    return assign_greedily(problem, whole=True, ties="rare")
