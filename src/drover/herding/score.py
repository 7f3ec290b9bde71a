"""How good an assignment is, and how good one can be.

Rule 1: everything is computed afresh from the assignment, by plain numpy: this is what all kernels are measured by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drover.herding.problem import Problem
from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Score:
    """The measures of an assignment."""

    traffic: float  # rate of the sources that servers receive, summed over servers
    replication: float  # traffic over the rate of the sources that are subscribed to; NaN if that is 0
    largest: float  # largest traffic of a server
    imbalance: float  # largest relative load over the mean, 1 if all are equal
    moved: float  # bytes of state of queries that are elsewhere than before
    moves: int  # and their number


def server_loads(problem: Problem, servers: Ints) -> Floats:
    """Return the load of each server, (k,)."""
    return np.bincount(servers, problem.weight, problem.k).astype(np.float64)


def server_traffic(problem: Problem, servers: Ints) -> Floats:
    """Return the rate of the sources that each server receives, (k,)."""
    pairs = np.unique(problem.source * problem.k + np.repeat(servers, np.diff(problem.start)))
    return np.bincount(pairs % problem.k, problem.rate[pairs // problem.k], problem.k).astype(np.float64)


def subscribed(problem: Problem) -> float:
    """Return the rate of all sources that somebody subscribes to: the least traffic there can be."""
    return float(problem.rate[np.unique(problem.source)].sum())


def replication(problem: Problem, servers: Ints) -> float:
    """Return the traffic over the rate of the sources that are subscribed to."""
    least = subscribed(problem)
    return float(server_traffic(problem, servers).sum()) / least if least > 0 else math.nan


def score(problem: Problem, servers: Ints, before: Ints | None = None) -> Score:
    """Return the measures of a sound assignment, (n,), and what moves from another one."""
    traffic, least = server_traffic(problem, servers), subscribed(problem)
    load = server_loads(problem, servers)
    mean = float(load.sum() / problem.capacity.sum())
    moved = np.zeros(problem.n, dtype=np.bool_) if before is None else (before != servers) & (before >= 0)
    return Score(
        traffic=float(traffic.sum()),
        replication=float(traffic.sum()) / least if least > 0 else math.nan,
        largest=float(traffic.max()),
        imbalance=float((load / problem.capacity).max()) / mean if mean > 0 else 1.0,
        moved=float(problem.state[moved].sum()),
        moves=int(moved.sum()),
    )


def least_traffic(problem: Problem) -> float:
    """Return a bound that no assignment within the limits is below: sum of w ceil(load of a source / largest limit).

    Whoever subscribes to a source needs so many servers; that they could be shared by several sources is left out.
    """
    load = np.bincount(problem.source, np.repeat(problem.weight, np.diff(problem.start)), problem.m)
    if not problem.n:
        return 0.0
    return float(problem.rate @ np.ceil(load / problem.limits().max() * (1 - 1e-12)))
