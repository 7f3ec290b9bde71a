"""All queries of a problem, assigned by an online policy: in the order given, or as they come and go.

Rule 1: the result equals what a herd would do, one query at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from drover.herding.online.play import HerdSnapshot, draws_for, number_of, observe, play
from drover.herding.online.state import LEAST_TYPES, QueryStore, Rules, empty_state
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Ints
from drover_lab.herding.bulk import assign_in_bulk, can_assign_in_bulk
from drover_lab.herding.generate import QueryEvents


def rules_of(problem: HerdingProblem, name: str) -> Rules:
    """Return the rules of a policy, with the balance of the problem."""
    return Rules(number_of(name), problem.slack, problem.allowance)


def store_of(problem: HerdingProblem, rules: Rules) -> QueryStore:
    """Return the queries of a problem, none assigned yet; types are computed only for a policy that counts them."""
    counted = rules.policy == LEAST_TYPES
    kind = problem.types() if counted else np.full(problem.n, -1)
    start = problem.start[:-1].copy()
    stop = problem.start[1:].copy()
    return QueryStore(start, stop, problem.source.copy(), problem.weight.copy(), kind, np.full(problem.n, -1))


def assign_online(problem: HerdingProblem, name: str, rng: Generator) -> Ints:
    """Return the server of each query, (n,), if they arrive in order and none leaves."""
    rules = rules_of(problem, name)
    if can_assign_in_bulk(problem, name):
        return assign_in_bulk(problem, name)
    store = store_of(problem, rules)
    everybody = np.arange(problem.n)
    state = empty_state(problem.rate, problem.capacity)
    play(state, rules, store, everybody, np.ones(problem.n, dtype=np.bool_), draws_for(rules, problem.n, rng))
    return store.server


def watch(
    problem: HerdingProblem, name: str, events: QueryEvents, rng: Generator, looks: int = 20
) -> Iterator[HerdSnapshot]:
    """Apply events and yield `looks` snapshots, evenly spaced over the events."""
    rules = rules_of(problem, name)
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    draws = draws_for(rules, len(events.query), rng)
    ends = np.linspace(0, len(events.query), looks + 1).astype(np.int64)
    for begin, end in pairwise(ends.tolist()):
        now = slice(begin, end)
        state = play(state, rules, store, events.query[now], events.arrives[now], draws[now])
        yield observe(state, float(events.at[end - 1]) if end else 0.0)
