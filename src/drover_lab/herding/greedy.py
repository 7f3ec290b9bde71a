"""The greedy policies IC and MMS, and MMS with another order of ties.

Rule 1: ties decide much (see docs/explanation/herding.md), so their order is written down: by `rank`, then the least
relative load.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding import greedy_kernels as kernels
from drover_lab.herding import level_kernels as levels
from drover_lab.herding.greedy_kernels import Types

MOST: Final = (
    4_000_000_000  # limit on bits for levels; larger problems use heaps, which need less memory and are slower
)
Ties: TypeAlias = Literal["many", "rare"]  # the type with most load first, or the type with the rarest sources


def types_of(problem: HerdingProblem, ties: Ties) -> Types:
    """Return the types of a problem, numbered in the order in which ties are broken."""
    kind = problem.types()
    some = np.unique(kind, return_index=True)[1]  # one query of each type
    sizes = np.diff(problem.start)[some]
    start, source = gather(problem.start[:-1][some], sizes, problem.source)
    rank = ranks(problem, kind, start, source, ties)
    by_rank = np.argsort(rank, kind="stable")
    number = np.empty_like(by_rank)
    number[by_rank] = np.arange(len(by_rank))
    start, source = gather(start[:-1][by_rank], sizes[by_rank], source)
    query = np.lexsort((problem.weight, number[kind]))
    first = np.searchsorted(number[kind][query], np.arange(len(rank) + 1))
    whole = np.add.reduceat(problem.rate[source], start[:-1])
    order = np.argsort(whole, kind="stable")
    of = np.repeat(np.arange(len(rank)), sizes[by_rank])  # the type of each entry of `source`
    by_whole = np.empty_like(order)
    by_whole[order] = np.arange(len(order))
    member = np.lexsort((by_whole[of], source))
    member_start = np.searchsorted(source[member], np.arange(problem.m + 1))
    parts = (start, source, first, query, problem.weight, whole, order, rank[by_rank], problem.rate)
    return Types(*parts, member_start, of[member], source[member])


def gather(begin: Ints, sizes: Ints, values: Ints) -> tuple[Ints, Ints]:
    """Return pieces of an array one after the other, and where each starts, with the end of the last, (T + 1,)."""
    start = np.concatenate([[0], np.cumsum(sizes)])
    return start, values[np.repeat(begin - start[:-1], sizes) + np.arange(start[-1])]


def ranks(problem: HerdingProblem, kind: Ints, start: Ints, source: Ints, ties: Ties) -> Ints:
    """Return the rank, (T,), that breaks ties between types of equal cost: the lower goes first; ranks can be equal."""
    if ties == "many":
        value: Floats = -np.bincount(kind, problem.weight).astype(np.float64)
    else:
        value = np.add.reduceat(problem.degrees()[source], start[:-1]).astype(np.float64)
    return np.unique(value, return_inverse=True)[1]


def fit_levels(types: Types, k: int) -> bool:
    """Return whether all sources have the same rate, and the levels of all servers fit into memory."""
    rates = types.rate[types.source]
    deepest = int(np.diff(types.start).max())
    one_rate = bool(rates[0] > 0 and (rates == rates[0]).all())
    return one_rate and k * (deepest + 1) * len(types.rank) <= MOST


def assign_greedily(problem: HerdingProblem, *, whole: bool, ties: Ties) -> Ints:
    """Return the server of each query, (n,), by repeatedly choosing the pair of type and server with the least cost."""
    server = np.full(problem.n, -1)
    if problem.n:
        types = types_of(problem, ties)
        assign = levels.assign if fit_levels(types, problem.k) else kernels.assign
        assign(types, problem.limits(), problem.capacity, whole, server)
    return server


def least_added(problem: HerdingProblem, _rng: Generator) -> Ints:
    """Assign by the least added traffic, the larger type first (IC)."""
    return assign_greedily(problem, whole=False, ties="many")


def least_server(problem: HerdingProblem, _rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the larger type first (MMS)."""
    return assign_greedily(problem, whole=True, ties="many")


def least_server_rare(problem: HerdingProblem, _rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the type with the rarest sources first."""
    return assign_greedily(problem, whole=True, ties="rare")
