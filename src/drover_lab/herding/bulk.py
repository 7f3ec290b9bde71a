"""A fast path of two online policies, for problems with unit weights and equal servers.

Rule 1: it returns the same assignment as the general code, in less time.
"""

from __future__ import annotations

import numpy as np

from drover.herding.problem import HerdingProblem
from drover.herding.set_kernels import BITS, EMPTY
from drover.load.arrays import Flags, Ints
from drover_lab.herding import bulk_kernels as kernels
from drover_lab.herding.bulk_kernels import LoadLimits, ServerBits, SubscriptionCounts

BULK = ("least-cost", "rare-first")


def can_assign_in_bulk(problem: HerdingProblem, name: str) -> bool:
    """Return whether a problem can be assigned in bulk: unit weights, equal servers and rates, always an open server.

    Rare-first compares sums of 1 / degree, which bit sets can do for at most two sources.
    """
    if name not in BULK or not problem.n or problem.allowance < 1 or not problem.plain:
        return False
    if not (problem.rate == problem.rate[0]).all() or problem.rate[0] <= 0:
        return False
    return name == "least-cost" or int(np.diff(problem.start).max()) <= 2


def assign_in_bulk(problem: HerdingProblem, name: str) -> Ints:
    """Return the server of each query, (n,), of a problem that `can_assign_in_bulk` accepts."""
    server = np.empty(problem.n, dtype=np.int64)
    limits = limits_of(problem)
    board = server_bits(problem, problem.n)
    kernels.assign(board, problem.start, problem.source, limits, name == "rare-first", server)
    return server


def process_in_bulk(problem: HerdingProblem, name: str, queries: Ints, arrives: Flags) -> Ints:
    """Return the server of each query, (n,), after arrivals and departures, (e,) each; -1 for those that left."""
    server = np.full(problem.n, -1)
    limits = limits_of(problem)
    most = int(np.cumsum(np.where(arrives, 1, -1)).max(initial=0))
    # Twice as many slots as pairs that can be live at once, so that probing stays short.
    places = 1 << (2 * most * int(np.diff(problem.start).max())).bit_length()
    table = SubscriptionCounts(np.full(places, EMPTY), np.zeros(places, dtype=np.int64))
    board = server_bits(problem, most)
    rare = name == "rare-first"
    kernels.process_events(board, problem.start, problem.source, limits, rare, table, queries, arrives, server)
    return server


def limits_of(problem: HerdingProblem) -> LoadLimits:
    """Return the load limits for a server of the problem."""
    return LoadLimits(float(problem.capacity[0]), float(problem.capacity.sum()), problem.slack, problem.allowance)


def server_bits(problem: HerdingProblem, most: int) -> ServerBits:
    """Return servers without queries, for up to `most` queries at once."""
    words = -(-problem.k // BITS)
    levels = np.zeros((kernels.limit_at(limits_of(problem), most) + 2, words), dtype=np.uint64)
    # Bits beyond the last server stay 0, so that no search finds them.
    on_level_0 = np.packbits(np.arange(BITS * words) < problem.k, bitorder="little")
    levels[0] = on_level_0.view("<u8")
    return ServerBits(
        np.zeros(problem.k, dtype=np.int64),
        levels,
        np.zeros(words, dtype=np.uint64),
        np.zeros((problem.m, words), dtype=np.uint64),
        np.zeros(problem.m, dtype=np.int64),
        np.array([0, problem.k, 0]),
        np.zeros(words, dtype=np.uint64),
        np.zeros((int(np.diff(problem.start).max()).bit_length(), words), dtype=np.uint64),
    )
