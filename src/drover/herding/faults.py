"""The one checker of assignments: what is wrong with one, in words.

Rule 1: it knows the problem only, and nothing of how an assignment was found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drover.errors import Fault
from drover.herding.problem import Problem
from drover.herding.score import server_loads
from drover.load.arrays import Floats, Ints


def faults(problem: Problem, servers: Ints, limits: Floats | None = None) -> Iterator[Fault]:
    """Yield what an assignment, (n,), breaks; nothing means that it is sound.

    `limits`, (k,), are the loads that servers may have, those of the problem unless they are given.
    """
    if np.shape(servers) != (problem.n,):
        rule = f"there are {problem.n} queries"
        yield Fault(("servers",), f"of shape {np.shape(servers)}", rule, "Give a server for each.")
        return
    lost = np.flatnonzero((servers < 0) | (servers >= problem.k))
    for q in lost[:10].tolist():
        rule = f"the servers are 0 to {problem.k - 1}"
        yield Fault(("servers", q), str(servers[q]), rule, "Assign the query to one of them.")
    if len(lost):
        return
    allowed = problem.limits() if limits is None else limits
    load = server_loads(problem, servers)
    for j in np.flatnonzero(load > allowed).tolist():
        rule = f"its limit is {allowed[j]:g}"
        yield Fault(("load", j), f"{load[j]:g}", rule, "Assign some of its queries to other servers.")


def online_limits(problem: Problem) -> Floats:
    """Return the loads, (k,), that servers may have after arrivals, eq. (4) [Zong15]: without departures none is above.

    Where a single query is more than the allowance, some server has to take it all the same.
    """
    fair = problem.weight.sum() * problem.share
    largest = float(problem.weight.max()) if problem.n else 0.0
    limits = np.maximum(np.maximum(fair + problem.allowance, (1 + problem.slack) * fair), fair + largest)
    return np.asarray(limits * (1 + 1e-9))
