"""The best assignment of small problems, by an exact solver: the oracle of every other policy.

Rule 1: it shares nothing with them. Rule 2: a problem that it may not finish is refused.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from drover.errors import ProblemError
from drover.herding.problem import Problem
from drover.herding.score import server_loads
from drover.load.arrays import Floats, Ints

MOST: Final = 2_000  # binary variables
MARGIN: Final = 1e-5


def least(problem: Problem) -> Ints:
    """Return an assignment within the limits with the least traffic, (n,), by integer programming.

    x_qj: query q is on server j; y_sj: server j receives source s; y_sj >= x_qj for every source of q.
    """
    n, m, k = problem.n, problem.m, problem.k
    if (n + m) * k > MOST:
        raise ProblemError(
            f"there are {(n + m) * k} variables, but at most {MOST} can be solved exactly. "
            "Choose a policy that searches, such as annealed."
        )
    if not n:
        return np.empty(0, dtype=np.int64)
    # The solver takes a load for one within a limit that is above it by a millionth: if it did, it gets a lower limit.
    found = _solve(problem, problem.limits())
    if (server_loads(problem, found) > problem.limits()).any():
        found = _solve(problem, problem.limits() - MARGIN)
    return found


def _solve(problem: Problem, limits: Floats) -> Ints:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - takes half a second
    from scipy.sparse import coo_array  # noqa: PLC0415 - as above

    n, m, k = problem.n, problem.m, problem.k
    query = np.repeat(np.arange(n), k)  # of x_qj
    server = np.tile(np.arange(k), n)
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
        raise ProblemError(f"no assignment to {k} servers keeps the balance: {found.message}. Raise the slack.")
    return np.asarray(found.x[: n * k].reshape(n, k).argmax(axis=1))
