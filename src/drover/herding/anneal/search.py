"""Annealing an assignment: pieces, temperatures and effort.

Rule 1: effort is counted in steps, not in seconds, so that equal seeds give equal assignments on any machine.
Rule 2: the result is within the limits if the start is, and never has more traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.anneal import kernels
from drover.herding.anneal.kernels import Layout, Pieces
from drover.herding.greedy.assign import least_added, least_server_rare
from drover.herding.problem import Problem
from drover.herding.score import server_traffic
from drover.load.arrays import Ints

LARGEST: Final = 8  # pieces are at most this part of the smallest limit
FEW: Final = 2_000  # queries that are moved one by one, too
AMPLE: Final = 1_500  # steps for each piece: with more of them it begins hotter
BOLDEST: Final = 5.0  # times as hot
MOST: Final = 400_000_000  # pairs of a source and a server that are counted, four bytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long to search, and how boldly."""

    steps: int = 100_000_000  # about 20 s
    hot: float = 0.2  # temperature at first, in mean rates of a source
    cold: float = 0.05  # and at last


DEFAULT: Final = Effort()
BRIEF: Final = Effort(steps=1_000_000, hot=0.05, cold=0.05)  # a quarter of a second: downhill, and not much else


def cut(problem: Problem, servers: Ints) -> Ints:
    """Return the piece of each query, (n,): those of one type on one server, cut up if they are many."""
    if not problem.n:
        return np.empty(0, dtype=np.int64)
    kind, largest = problem.types(), problem.limits().min() / LARGEST
    order = np.lexsort((problem.weight, servers, kind))
    group = np.concatenate([[True], (np.diff(kind[order]) != 0) | (np.diff(servers[order]) != 0)])
    load = np.cumsum(problem.weight[order])
    begin = np.maximum.accumulate(np.where(group, load - problem.weight[order], 0.0))
    chunk = ((load - begin - problem.weight[order]) / largest).astype(np.int64)
    piece = np.cumsum(group | np.concatenate([[False], np.diff(chunk) != 0])) - 1
    found = np.empty(problem.n, dtype=np.int64)
    found[order] = piece
    return found


def pieces_of(problem: Problem, piece: Ints) -> Pieces:
    """Return what the kernel has to know of pieces."""
    first = np.unique(piece, return_index=True)[1]  # a query of each piece
    sizes = np.diff(problem.start)[first]
    start = np.concatenate([[0], np.cumsum(sizes)])
    within = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
    source = problem.source[np.repeat(problem.start[first], sizes) + within]
    by_source = np.argsort(source, kind="stable")
    return Pieces(
        start,
        source,
        np.bincount(piece, problem.weight).astype(np.float64),
        np.searchsorted(source[by_source], np.arange(problem.m + 1)),
        np.repeat(np.arange(len(first)), sizes)[by_source],
        problem.rate,
        problem.limits(),
    )


def layout_of(problem: Problem, pieces: Pieces, server: Ints) -> Layout:
    """Return where pieces are, (P,), as the kernel changes it."""
    pairs = pieces.source * problem.k + np.repeat(server, np.diff(pieces.start))
    count = np.bincount(pairs, minlength=problem.m * problem.k).astype(np.int32).reshape(problem.m, problem.k)
    held, size = np.bincount(server, pieces.weight, problem.k), np.bincount(server, minlength=problem.k)
    # A server has at most as many pieces as there are, or as fit if all are as light as the lightest.
    most = np.minimum(len(server), (pieces.limits / pieces.weight.min()).astype(np.int64) + 1)
    first = np.concatenate([[0], np.cumsum(np.maximum(most, size))])
    crowd, spot = np.full(first[-1], -1), np.empty(len(server), dtype=np.int64)
    order = np.argsort(server, kind="stable")
    spot[order] = np.arange(len(server)) - np.repeat(np.cumsum(size) - size, size) + np.repeat(first[:-1], size)
    crowd[spot] = np.arange(len(server))
    return Layout(server.copy(), held.astype(np.float64), count, crowd, spot, first, size)


def improve(problem: Problem, servers: Ints, rng: Generator, effort: Effort = DEFAULT) -> Ints:
    """Return an assignment with less traffic than a sound one, or that one.

    Pieces move as one, since to split a type costs before it pays; where there are few queries, each moves alone later.
    """
    if problem.k == 1 or problem.n < 2 or not effort.steps:
        return servers
    if problem.m * problem.k > MOST:
        raise ProblemError(
            f"there are {problem.m} sources and {problem.k} servers, but at most {MOST:.0e} pairs can be counted. "
            "Choose a policy that does not search, such as mms-rare."
        )
    if problem.n > FEW:
        return _anneal(problem, servers, cut(problem, servers), rng, effort)
    half = replace(effort, steps=max(effort.steps // 2, 1))
    better = _anneal(problem, servers, cut(problem, servers), rng, half)
    return _anneal(problem, better, np.arange(problem.n), rng, half)


def _anneal(problem: Problem, servers: Ints, piece: Ints, rng: Generator, effort: Effort) -> Ints:
    pieces = pieces_of(problem, piece)
    layout = layout_of(problem, pieces, servers[np.unique(piece, return_index=True)[1]])
    scale = float(problem.rate[np.unique(problem.source)].mean())
    seed = np.array([rng.integers(1, 2**62)])
    if scale <= 0:
        return servers
    # Who has more steps for each piece can afford to begin hotter: small problems are left in a corner otherwise.
    boldness = min(max(effort.steps / len(pieces.weight) / AMPLE, 1.0) ** 0.5, BOLDEST)
    grown = kernels.anneal(pieces, layout, seed, effort.steps, boldness * effort.hot * scale, effort.cold * scale)
    return layout.server[piece] if grown < 0 else servers


def anneal(problem: Problem, rng: Generator, effort: Effort = DEFAULT) -> Ints:
    """Assign greedily, then anneal."""
    starts = [least_server_rare(problem, rng), least_added(problem, rng)]
    best = min(starts, key=lambda servers: float(server_traffic(problem, servers).sum()))
    return improve(problem, best, rng, effort)


def polish(problem: Problem, rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the rarest sources first, then anneal briefly and cold."""
    return improve(problem, least_server_rare(problem, rng), rng, BRIEF)
