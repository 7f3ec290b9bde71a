"""Assignment of arrivals whose popularity is known, section 5.2.1 [Zong15].

Rule 1: popularity is a history of queries, which is assigned offline. A new query goes to a server with the fraction of
its type that the offline assignment put there. Rule 2: balance comes first: a query whose server is full, or whose type
is new, is assigned as if nothing were known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError
from drover.herding.online.play import play
from drover.herding.online.state import RESERVED, Rules, empty_state
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding.policy import assign
from drover_lab.herding.sequences import store_of


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """The servers for each type of a history."""

    servers: dict[bytes, Ints]  # by sources of a type: the servers that have queries of it
    shares: dict[bytes, Floats]  # and the cumulative share of the type's load on each of them

    def server_for(self, sources: Ints, draw: float) -> int:
        """Return the server for a query, chosen by a number in [0, 1), or -1 if its type is new."""
        known = self.servers.get(sources.tobytes())
        if known is None:
            return -1
        return int(known[min(int(np.searchsorted(self.shares[sources.tobytes()], draw, side="right")), len(known) - 1)])


def reserve(history: HerdingProblem, rng: Generator, policy: str = "mms-rare") -> Reservation:
    """Return the preferred servers for the types of a history, by an offline policy."""
    assigned = assign(history, policy, rng)
    servers: dict[bytes, Ints] = {}
    shares: dict[bytes, Floats] = {}
    kind = history.types()
    order = np.argsort(kind, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1) if history.n else []:
        load = np.bincount(assigned[group], history.weight[group], history.k)
        # Only servers that have queries of the type, so that a draw never hits an empty share.
        there = np.flatnonzero(load)
        key = history.sources_of(int(group[0])).tobytes()
        servers[key] = there
        shares[key] = np.cumsum(load[there]) / load.sum()
    return Reservation(servers, shares)


def assign_reserved(problem: HerdingProblem, reserved: Reservation, rng: Generator) -> Ints:
    """Return the server of each query, (n,), in order of arrival, within the limits of online policies."""
    last = max((int(servers.max()) for servers in reserved.servers.values()), default=0)
    if last >= problem.k:
        raise ProblemError(
            f"the reservation names server {last}, but there are {problem.k} servers. Call `reserve` again for these."
        )
    rules = Rules(RESERVED, problem.slack, problem.allowance)
    draws = rng.random(problem.n)
    preferred = [float(reserved.server_for(problem.sources_of(q), draws[q])) for q in range(problem.n)]
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    play(state, rules, store, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_), np.array(preferred))
    return store.server
