"""Assigning by a hypergraph partitioner: Mt-KaHyPar, if it is installed.

Rule 1: no other module needs it. Without it, the error says how to install it.
Rule 2: a vertex is a piece of a type, a net is a source that more than one piece has; the objective is connectivity.
"""

from __future__ import annotations

from types import ModuleType
from typing import Final, Literal

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding.anneal import cut_pieces, pieces_of
from drover_lab.herding.anneal_kernels import Pieces

GRAINS: Final = 1 << 20  # the partitioner counts in whole numbers: so many for the largest


def load_partitioner() -> ModuleType:
    """Return the module `mtkahypar`."""
    try:
        import mtkahypar  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ProblemError(
            "policy is partition, but mtkahypar is not installed. Install drover[partition], or choose annealed."
        ) from error
    found: ModuleType = mtkahypar
    return found


def whole_numbers(values: Floats) -> list[int]:
    """Return values as whole numbers in about the same proportions, at least 1."""
    if (values == np.round(values)).all():
        return [max(int(value), 1) for value in values]
    return [max(round(value), 1) for value in values / values.max() * GRAINS]


def nets_of(pieces: Pieces) -> tuple[list[list[int]], list[int]]:
    """Return the pieces of each source that more than one has, and the rates of these sources."""
    sizes = np.diff(pieces.member_start)
    shared = np.flatnonzero((sizes > 1) & (pieces.rate > 0))
    nets = [pieces.member[pieces.member_start[s] : pieces.member_start[s + 1]].tolist() for s in shared]
    return nets, whole_numbers(pieces.rate[shared]) if len(shared) else []


def partition(problem: HerdingProblem, rng: Generator, preset: Literal["DEFAULT", "QUALITY"] = "QUALITY") -> Ints:
    """Return the server of each query, (n,), on equal servers."""
    partitioner = load_partitioner()
    if not (problem.capacity == problem.capacity[0]).all():
        raise ProblemError(
            "capacity differs between servers, but the policy partition takes equal ones. Choose annealed."
        )
    if problem.k == 1 or problem.n < 2:
        return np.zeros(problem.n, dtype=np.int64)
    piece = cut_pieces(problem, np.zeros(problem.n, dtype=np.int64))
    pieces = pieces_of(problem, piece)
    nets, rates = nets_of(pieces)
    running = partitioner.initialize(1)
    partitioner.set_seed(int(rng.integers(2**31)))
    context = running.context_from_preset(getattr(partitioner.PresetType, preset))
    # The partitioner takes its limit as a share above the mean weight.
    slack = float(problem.limits()[0] / (problem.weight.sum() / problem.k)) - 1
    context.set_partitioning_parameters(problem.k, slack, partitioner.Objective.KM1)
    context.logging = False
    vertices = len(pieces.weight)
    graph = running.create_hypergraph(context, vertices, len(nets), nets, whole_numbers(pieces.weight), rates)
    parts = graph.partition(context)
    found = np.array([parts.block_id(p) for p in range(vertices)], dtype=np.int64)
    return within_limits(problem, found[piece])


def within_limits(problem: HerdingProblem, servers: Ints) -> Ints:
    """Return an assignment whose overfull servers have given their last queries to those with most room.

    The partitioner counts weights in whole numbers of its own, and allows itself to miss the balance it is asked for.
    """
    limits = problem.limits()
    found = servers.copy()
    load = np.bincount(found, problem.weight, problem.k).astype(np.float64)
    for j in np.flatnonzero(load > limits):
        for q in np.flatnonzero(found == j)[::-1]:
            if load[j] <= limits[j]:
                break
            other = int((limits - load).argmax())
            found[q] = other
            load[j] -= problem.weight[q]
            load[other] += problem.weight[q]
    return found
