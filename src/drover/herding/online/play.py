"""Whole sequences of arrivals and departures, for experiments and for policies that are asked for everything at once.

Rule 1: what comes out is what a herd would have done, one query at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.herding.bulk.assign import assign_in_bulk, takes
from drover.herding.generate import Events
from drover.herding.online import kernels
from drover.herding.online.state import (
    LEAST_TYPES,
    LIVE,
    RANDOM,
    Rules,
    State,
    Store,
    empty_state,
    with_kinds,
    with_pool,
)
from drover.herding.problem import Problem
from drover.load.arrays import Flags, Floats, Ints

ONLINE: Final[tuple[str, ...]] = (  # in the order of the numbers in `state`
    "least-cost",
    "rare-first",
    "gather",
    "least-source",
    "least-types",
    "random",
    "round-robin",
    "hash",
)


def rules_of(problem: Problem, name: str) -> Rules:
    """Return how a policy chooses, with the balance that the problem asks for."""
    return Rules(number_of(name), problem.slack, problem.allowance)


def number_of(name: str) -> int:
    """Return the number of an online policy."""
    if name not in ONLINE:
        known = ", ".join(ONLINE)
        raise ProblemError(
            f"policy is {name!r}, but there is no online one of that name. {nearest(name, ONLINE)}Known: {known}."
        )
    return ONLINE.index(name)


def store_of(problem: Problem, rules: Rules) -> Store:
    """Return the queries of a problem, none of which is here yet; types are worked out only if they are counted."""
    counted = rules.policy == LEAST_TYPES
    kind = problem.types() if counted else np.full(problem.n, -1)
    start, stop = problem.start[:-1].copy(), problem.start[1:].copy()
    return Store(start, stop, problem.source.copy(), problem.weight.copy(), kind, np.full(problem.n, -1))


def play(
    state: State, rules: Rules, store: Store, queries: Ints, arrives: Flags, draws: Floats, *, moved: bool = False
) -> State:
    """Let queries arrive and leave, (e,) each, and return the state: the same one, or one with more room.

    `moved` queries were here before, and do not count as arrivals.
    """
    if rules.policy == LEAST_TYPES:
        state = with_kinds(state, int(arrives.sum()))
    done = 0
    while done < len(queries):
        done += kernels.play(state, rules, store, queries[done:], arrives[done:], draws[done:], moved)
        state = state if done == len(queries) else with_pool(state)
    return state


def settled(rate: Floats, capacity: Floats, store: Store) -> State:
    """Return the state that follows from queries and their servers, computed afresh."""
    state, done = with_kinds(empty_state(rate, capacity), len(store.server)), 0
    while done < len(store.server):
        done = kernels.settle(state, store, done)
        state = state if done == len(store.server) else with_pool(state)
    return state


def draws_for(rules: Rules, count: int, rng: Generator) -> Floats:
    """Return a number in [0, 1) for each event, (count,), drawn only for the policy that looks at them."""
    return rng.random(count) if rules.policy == RANDOM else np.zeros(count)


def assign_online(problem: Problem, name: str, rng: Generator) -> Ints:
    """Return the server of each query, (n,), if they come in order and none leaves."""
    rules = rules_of(problem, name)
    if takes(problem, name):
        return assign_in_bulk(problem, name)
    store, everybody = store_of(problem, rules), np.arange(problem.n)
    state = empty_state(problem.rate, problem.capacity)
    play(state, rules, store, everybody, np.ones(problem.n, dtype=np.bool_), draws_for(rules, problem.n, rng))
    return store.server


@dataclass(frozen=True, slots=True)
class Moment:
    """How things stood at some time."""

    at: float  # steps
    live: int  # queries
    replication: float  # traffic over the rate of the sources that are subscribed to
    imbalance: float  # largest relative load over the mean
    servers: int


def observe(state: State, at: float) -> Moment:
    """Return how things stand."""
    subscribed = float(state.rate[state.degree > 0].sum())
    there = state.capacity > 0
    mean = float(state.load.sum() / state.capacity.sum())
    largest = float((state.load[there] / state.capacity[there]).max())
    return Moment(
        at,
        int(state.totals[LIVE]),
        float(state.traffic.sum()) / subscribed if subscribed > 0 else np.nan,
        largest / mean if mean > 0 else np.nan,
        int(there.sum()),
    )


def watch(problem: Problem, name: str, events: Events, rng: Generator, looks: int = 20) -> Iterator[Moment]:
    """Play events and yield how things stand, `looks` times, evenly spread over the events."""
    rules = rules_of(problem, name)
    store, state = store_of(problem, rules), empty_state(problem.rate, problem.capacity)
    draws = draws_for(rules, len(events.query), rng)
    ends = np.linspace(0, len(events.query), looks + 1).astype(np.int64)
    for begin, end in pairwise(ends.tolist()):
        now = slice(begin, end)
        state = play(state, rules, store, events.query[now], events.arrives[now], draws[now])
        yield observe(state, float(events.at[end - 1]) if end else 0.0)
