"""Measures of an assignment, and a lower bound on its traffic.

Rule 1: everything is computed from the assignment by plain numpy, so that kernels can be checked against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class AssignmentScore:
    """The measures of an assignment."""

    traffic: float  # total rate of the sources that each server receives, summed over servers
    replication: float  # traffic divided by the rate of all subscribed sources; NaN if that is 0
    largest: float  # largest traffic of a server
    imbalance: float  # largest relative load divided by the mean, 1 if all are equal
    moved: float  # bytes of state of the queries that moved
    moves: int  # number of queries that moved


def server_loads(problem: HerdingProblem, servers: Ints) -> Floats:
    """Return the load of each server, (k,)."""
    return np.bincount(servers, problem.weight, problem.k).astype(np.float64)


def server_traffic(problem: HerdingProblem, servers: Ints) -> Floats:
    """Return the total rate of the sources that each server receives, (k,)."""
    # A server receives a source once, however many of its queries subscribe to it.
    pairs = np.unique(problem.source * problem.k + np.repeat(servers, np.diff(problem.start)))
    return np.bincount(pairs % problem.k, problem.rate[pairs // problem.k], problem.k).astype(np.float64)


def subscribed_rate(problem: HerdingProblem) -> float:
    """Return the rate of all sources with subscribers: the least possible traffic."""
    return float(problem.rate[np.unique(problem.source)].sum())


def replication(problem: HerdingProblem, servers: Ints) -> float:
    """Return the traffic divided by the rate of all subscribed sources."""
    least = subscribed_rate(problem)
    return float(server_traffic(problem, servers).sum()) / least if least > 0 else math.nan


def score(problem: HerdingProblem, servers: Ints, before: Ints | None = None) -> AssignmentScore:
    """Return the measures of a valid assignment, (n,), and of the moves from an earlier one."""
    traffic = server_traffic(problem, servers)
    least = subscribed_rate(problem)
    load = server_loads(problem, servers)
    mean = float(load.sum() / problem.capacity.sum())
    moved = np.zeros(problem.n, dtype=np.bool_) if before is None else (before != servers) & (before >= 0)
    return AssignmentScore(
        traffic=float(traffic.sum()),
        replication=float(traffic.sum()) / least if least > 0 else math.nan,
        largest=float(traffic.max()),
        imbalance=float((load / problem.capacity).max()) / mean if mean > 0 else 1.0,
        moved=float(problem.state[moved].sum()),
        moves=int(moved.sum()),
    )


def least_traffic(problem: HerdingProblem) -> float:
    """Return a lower bound on the traffic within the limits: sum of w ceil(load of a source / largest limit).

    The queries of a source need at least this number of servers. The bound ignores that sources compete for servers.
    """
    load = np.bincount(problem.source, np.repeat(problem.weight, np.diff(problem.start)), problem.m)
    if not problem.n:
        return 0.0
    return float(problem.rate @ np.ceil(load / problem.limits().max() * (1 - 1e-12)))
