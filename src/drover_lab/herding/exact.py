"""The best assignment of a small problem by integer programming: the oracle for all other policies.

Rule 1: it shares no code with them. Rule 2: a problem that could take too long is refused.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding.score import server_loads

MOST: Final = 2_000  # limit on binary variables
MARGIN: Final = 1e-5  # by how much to lower the limits for the second try


def assign_exactly(problem: HerdingProblem) -> Ints:
    """Return an assignment, (n,), with the least traffic within the limits, by integer programming.

    x_qj: query q is on server j; y_sj: server j receives source s; y_sj >= x_qj for every source of q.
    """
    n = problem.n
    m = problem.m
    k = problem.k
    if (n + m) * k > MOST:
        raise ProblemError(
            f"there are {(n + m) * k} variables, but the exact solver takes at most {MOST}. "
            "Choose a policy that searches, such as annealed."
        )
    if not n:
        return np.empty(0, dtype=np.int64)
    # The solver accepts a load that exceeds its limit by a millionth. If it does, solve again with a lower limit.
    found = _solve(problem, problem.limits())
    if (server_loads(problem, found) > problem.limits()).any():
        found = _solve(problem, problem.limits() - MARGIN)
    return found


def _solve(problem: HerdingProblem, limits: Floats) -> Ints:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - the import takes half a second
    from scipy.sparse import coo_array  # noqa: PLC0415 - as above

    n = problem.n
    m = problem.m
    k = problem.k
    query = np.repeat(np.arange(n), k)  # query of each x_qj
    server = np.tile(np.arange(k), n)
    # Each query is on exactly one server; each load is within its limit; sources are where their queries are.
    once = coo_array((np.ones(n * k), (query, np.arange(n * k))), shape=(n, (n + m) * k))
    load = coo_array((problem.weight[query], (server, np.arange(n * k))), shape=(k, (n + m) * k))
    edge_query = np.repeat(np.arange(n), np.diff(problem.start))
    x = (edge_query[:, None] * k + np.arange(k)).ravel()
    y = (n * k + problem.source[:, None] * k + np.arange(k)).ravel()
    row = np.arange(len(x))
    values = np.concatenate([np.ones(len(x)), -np.ones(len(x))])
    needs = coo_array((values, (np.concatenate([row, row]), np.concatenate([x, y]))), shape=(len(x), (n + m) * k))
    cost = np.concatenate([np.zeros(n * k), np.repeat(problem.rate, k)])
    constraints = [
        LinearConstraint(once, 1, 1),
        LinearConstraint(load, -np.inf, limits),
        LinearConstraint(needs, -np.inf, 0),
    ]
    found = milp(cost, constraints=constraints, integrality=np.ones(len(cost)), bounds=Bounds(0, 1))
    if found.x is None:
        raise ProblemError(f"no assignment to {k} servers is within the limits: {found.message}. Increase the slack.")
    return np.asarray(found.x[: n * k].reshape(n, k).argmax(axis=1))
