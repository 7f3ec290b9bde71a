"""Assigning arrivals whose popularity is known, section 5.2.1 [Zong15]: what is to come is assigned beforehand.

Rule 1: popularity is a history of queries; it is assigned offline, and a query of a type goes to a server with the
probability that queries of its type in the history have been assigned to it. Rule 2: balance comes first: a query whose
server is not open, or whose type is new, is assigned as if nothing were known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.online.play import play, store_of
from drover.herding.online.state import WISH, Rules, empty_state
from drover.herding.policy import assign
from drover.herding.problem import Problem
from drover.load.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """For each type of a history, where its queries should go."""

    servers: dict[bytes, Ints]  # by sources: the servers that have queries of the type
    shares: dict[bytes, Floats]  # and the cumulated part of the type's load on each of them

    def wish(self, sources: Ints, draw: float) -> int:
        """Return the server for a query, drawn with a number in [0, 1), or -1 if its type is new."""
        known = self.servers.get(sources.tobytes())
        if known is None:
            return -1
        return int(known[min(int(np.searchsorted(self.shares[sources.tobytes()], draw, side="right")), len(known) - 1)])


def reserve(history: Problem, rng: Generator, policy: str = "mms-rare") -> Reservation:
    """Return where queries of the types in a history should go, by an offline policy."""
    assigned = assign(history, policy, rng)
    servers: dict[bytes, Ints] = {}
    shares: dict[bytes, Floats] = {}
    kind = history.types()
    order = np.argsort(kind, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1) if history.n else []:
        load = np.bincount(assigned[group], history.weight[group], history.k)
        there = np.flatnonzero(load)
        key = history.sources_of(int(group[0])).tobytes()
        servers[key], shares[key] = there, np.cumsum(load[there]) / load.sum()
    return Reservation(servers, shares)


def assign_reserved(problem: Problem, reserved: Reservation, rng: Generator) -> Ints:
    """Return the server of each query, (n,), in order of arrival, within the limits of online policies."""
    last = max((int(servers.max()) for servers in reserved.servers.values()), default=0)
    if last >= problem.k:
        raise ProblemError(
            f"the reservation knows server {last}, but there are {problem.k} servers. Reserve again for these."
        )
    rules = Rules(WISH, problem.slack, problem.allowance)
    draws = rng.random(problem.n)
    wishes = [float(reserved.wish(problem.sources_of(q), draws[q])) for q in range(problem.n)]
    store, state = store_of(problem, rules), empty_state(problem.rate, problem.capacity)
    play(state, rules, store, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_), np.array(wishes))
    return store.server
