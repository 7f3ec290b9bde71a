"""The checker of assignments: it lists the rules that one breaks.

Rule 1: it depends on the problem alone, and not on how an assignment was found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from drover.errors import Fault
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding.score import server_loads


def faults(problem: HerdingProblem, servers: Ints, limits: Floats | None = None) -> Iterator[Fault]:
    """Yield each rule that an assignment, (n,), breaks; none means that it is sound.

    `limits`, (k,), are the allowed loads of servers; they default to those of the problem.
    """
    if np.shape(servers) != (problem.n,):
        rule = f"there are {problem.n} queries"
        yield Fault(("servers",), f"of shape {np.shape(servers)}", rule, "Set one server per query.")
        return
    lost = np.flatnonzero((servers < 0) | (servers >= problem.k))
    for q in lost[:10].tolist():
        rule = f"the servers are 0 to {problem.k - 1}"
        yield Fault(("servers", q), str(servers[q]), rule, "Assign the query to one of them.")
    # Loads cannot be added up for servers that do not exist.
    if len(lost):
        return
    allowed = problem.limits() if limits is None else limits
    load = server_loads(problem, servers)
    for j in np.flatnonzero(load > allowed).tolist():
        rule = f"its limit is {allowed[j]:g}"
        yield Fault(("load", j), f"{load[j]:g}", rule, "Assign some of its queries to other servers.")


def online_limits(problem: HerdingProblem) -> Floats:
    """Return the allowed loads, (k,), of servers after arrivals, eq. (4) [Zong15]. Without departures none is above.

    If a single query is larger than the allowance, some server has to take it anyway.
    """
    fair = problem.weight.sum() * problem.share
    largest = float(problem.weight.max()) if problem.n else 0.0
    # The tolerance absorbs the rounding of the sums.
    limits = np.maximum(np.maximum(fair + problem.allowance, (1 + problem.slack) * fair), fair + largest)
    return np.asarray(limits * (1 + 1e-9))
