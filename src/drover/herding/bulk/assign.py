"""Which problems can be assigned in bulk, and that they are.

Rule 1: whoever asks for an online policy does not see the difference, except in time.
"""

from __future__ import annotations

import numpy as np

from drover.herding.bulk import kernels
from drover.herding.bulk.kernels import Board, Limits, Table
from drover.herding.problem import Problem
from drover.herding.sets.kernels import BITS, EMPTY
from drover.load.arrays import Flags, Ints

BULK = ("least-cost", "rare-first")


def takes(problem: Problem, name: str) -> bool:
    """Return whether a problem can be assigned in bulk: unit weights, equal servers and rates, open servers always.

    Rare first compares sums of 1 / degree, which bits can do for two sources.
    """
    if name not in BULK or not problem.n or problem.allowance < 1 or not problem.plain:
        return False
    if not (problem.rate == problem.rate[0]).all() or problem.rate[0] <= 0:
        return False
    return name == "least-cost" or int(np.diff(problem.start).max()) <= 2


def assign_in_bulk(problem: Problem, name: str) -> Ints:
    """Return the server of each query, (n,), of a problem that `takes` accepts."""
    server, limits = np.empty(problem.n, dtype=np.int64), limits_of(problem)
    board = board_of(problem, problem.n)
    kernels.assign(board, problem.start, problem.source, limits, name == "rare-first", server)
    return server


def play_in_bulk(problem: Problem, name: str, queries: Ints, arrives: Flags) -> Ints:
    """Return the server of each query, (n,), after arrivals and departures, (e,) each; -1 for those that left."""
    server, limits = np.full(problem.n, -1), limits_of(problem)
    most = int(np.cumsum(np.where(arrives, 1, -1)).max(initial=0))
    places = 1 << (2 * most * int(np.diff(problem.start).max())).bit_length()
    table = Table(np.full(places, EMPTY), np.zeros(places, dtype=np.int64))
    board, rare = board_of(problem, most), name == "rare-first"
    kernels.play(board, problem.start, problem.source, limits, rare, table, queries, arrives, server)
    return server


def limits_of(problem: Problem) -> Limits:
    """Return how much load a server of the problem may have."""
    return Limits(float(problem.capacity[0]), float(problem.capacity.sum()), problem.slack, problem.allowance)


def board_of(problem: Problem, most: int) -> Board:
    """Return servers without queries, for up to so many queries at once."""
    words = -(-problem.k // BITS)
    levels = np.zeros((kernels.limit_at(limits_of(problem), most) + 2, words), dtype=np.uint64)
    on_level_0 = np.packbits(np.arange(BITS * words) < problem.k, bitorder="little")
    levels[0] = on_level_0.view("<u8")
    return Board(
        np.zeros(problem.k, dtype=np.int64),
        levels,
        np.zeros(words, dtype=np.uint64),
        np.zeros((problem.m, words), dtype=np.uint64),
        np.zeros(problem.m, dtype=np.int64),
        np.array([0, problem.k, 0]),
        np.zeros(words, dtype=np.uint64),
        np.zeros((int(np.diff(problem.start).max()).bit_length(), words), dtype=np.uint64),
    )
