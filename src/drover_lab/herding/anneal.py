"""Simulated annealing of an assignment: pieces, temperatures and effort.

Rule 1: effort is counted in steps, not in seconds, so that equal seeds give equal assignments on any machine.
Rule 2: the result is within the limits if the start is, and never has more traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Ints
from drover_lab.herding import anneal_kernels as kernels
from drover_lab.herding.anneal_kernels import PiecePlacement, Pieces
from drover_lab.herding.greedy import least_added, least_server_rare
from drover_lab.herding.score import server_traffic

LARGEST: Final = 8  # the load of a piece is at most the smallest limit divided by this
FEW: Final = 2_000  # number of queries up to which each one also moves alone
AMPLE: Final = 1_500  # steps per piece above which the search starts hotter
BOLDEST: Final = 5.0  # highest factor by which it starts hotter
MOST: Final = 400_000_000  # limit on pairs of a source and a server, which take four bytes each


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnealingEffort:
    """How long to search, and at which temperatures."""

    steps: int = 100_000_000  # about 20 s
    hot: float = 0.2  # initial temperature, in mean rates of a source
    cold: float = 0.05  # final temperature


DEFAULT: Final = AnnealingEffort()
# A quarter of a second: it accepts hardly any step that increases the traffic.
BRIEF: Final = AnnealingEffort(steps=1_000_000, hot=0.05, cold=0.05)


def cut_pieces(problem: HerdingProblem, servers: Ints) -> Ints:
    """Return the piece of each query, (n,): queries of one type on one server, split if their load is large."""
    if not problem.n:
        return np.empty(0, dtype=np.int64)
    kind = problem.types()
    largest = problem.limits().min() / LARGEST
    order = np.lexsort((problem.weight, servers, kind))
    group = np.concatenate([[True], (np.diff(kind[order]) != 0) | (np.diff(servers[order]) != 0)])
    load = np.cumsum(problem.weight[order])
    # The cumulative load before each group, so that chunks are counted from its start.
    begin = np.maximum.accumulate(np.where(group, load - problem.weight[order], 0.0))
    chunk = ((load - begin - problem.weight[order]) / largest).astype(np.int64)
    piece = np.cumsum(group | np.concatenate([[False], np.diff(chunk) != 0])) - 1
    found = np.empty(problem.n, dtype=np.int64)
    found[order] = piece
    return found


def pieces_of(problem: HerdingProblem, piece: Ints) -> Pieces:
    """Return the arrays of pieces for the kernel."""
    first = np.unique(piece, return_index=True)[1]  # one query of each piece
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


def layout_of(problem: HerdingProblem, pieces: Pieces, server: Ints) -> PiecePlacement:
    """Return the servers of pieces, (P,), as arrays that the kernel changes in place."""
    pairs = pieces.source * problem.k + np.repeat(server, np.diff(pieces.start))
    count = np.bincount(pairs, minlength=problem.m * problem.k).astype(np.int32).reshape(problem.m, problem.k)
    held = np.bincount(server, pieces.weight, problem.k)
    size = np.bincount(server, minlength=problem.k)
    # A server holds at most all pieces, or as many of the lightest weight as fit.
    most = np.minimum(len(server), (pieces.limits / pieces.weight.min()).astype(np.int64) + 1)
    first = np.concatenate([[0], np.cumsum(np.maximum(most, size))])
    crowd = np.full(first[-1], -1)
    spot = np.empty(len(server), dtype=np.int64)
    order = np.argsort(server, kind="stable")
    spot[order] = np.arange(len(server)) - np.repeat(np.cumsum(size) - size, size) + np.repeat(first[:-1], size)
    crowd[spot] = np.arange(len(server))
    return PiecePlacement(server.copy(), held.astype(np.float64), count, crowd, spot, first, size)


def improve(problem: HerdingProblem, servers: Ints, rng: Generator, effort: AnnealingEffort = DEFAULT) -> Ints:
    """Return an assignment with less traffic than a valid one, or the given one.

    Pieces move as a whole, because splitting a type first costs traffic and pays only later. If there are few queries,
    a second pass moves each one alone.
    """
    if problem.k == 1 or problem.n < 2 or not effort.steps:
        return servers
    if problem.m * problem.k > MOST:
        raise ProblemError(
            f"there are {problem.m} sources and {problem.k} servers, but annealing counts at most {MOST:.0e} pairs. "
            "Choose a policy that does not search, such as mms-rare."
        )
    if problem.n > FEW:
        return _anneal(problem, servers, cut_pieces(problem, servers), rng, effort)
    half = replace(effort, steps=max(effort.steps // 2, 1))
    better = _anneal(problem, servers, cut_pieces(problem, servers), rng, half)
    return _anneal(problem, better, np.arange(problem.n), rng, half)


def _anneal(problem: HerdingProblem, servers: Ints, piece: Ints, rng: Generator, effort: AnnealingEffort) -> Ints:
    pieces = pieces_of(problem, piece)
    layout = layout_of(problem, pieces, servers[np.unique(piece, return_index=True)[1]])
    scale = float(problem.rate[np.unique(problem.source)].mean())
    seed = np.array([rng.integers(1, 2**62)])
    if scale <= 0:
        return servers
    # With more steps per piece, start hotter: small problems would otherwise stay in a local optimum.
    boldness = min(max(effort.steps / len(pieces.weight) / AMPLE, 1.0) ** 0.5, BOLDEST)
    grown = kernels.anneal(pieces, layout, seed, effort.steps, boldness * effort.hot * scale, effort.cold * scale)
    return layout.server[piece] if grown < 0 else servers


def anneal(problem: HerdingProblem, rng: Generator, effort: AnnealingEffort = DEFAULT) -> Ints:
    """Assign greedily, then anneal."""
    starts = [least_server_rare(problem, rng), least_added(problem, rng)]
    best = min(starts, key=lambda servers: float(server_traffic(problem, servers).sum()))
    return improve(problem, best, rng, effort)


def polish(problem: HerdingProblem, rng: Generator) -> Ints:
    """Assign by the least traffic of the server, the rarest sources first, then anneal briefly at a low temperature."""
    return improve(problem, least_server_rare(problem, rng), rng, BRIEF)
