"""Arrivals and departures of queries, applied to the state of a herd.

Rule 1: a sequence gives the same state as its events one at a time.
Rule 2: a state that is full is replaced by a larger one; callers keep the state that they get back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.errors import ProblemError, nearest
from drover.herding.online import kernels
from drover.herding.online.state import (
    LEAST_TYPES,
    LIVE,
    RANDOM,
    HerdState,
    QueryStore,
    Rules,
    empty_state,
    with_kinds,
    with_pool,
)
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


def number_of(name: str) -> int:
    """Return the number of an online policy."""
    if name not in ONLINE:
        known = ", ".join(ONLINE)
        raise ProblemError(
            f"policy is {name!r}, but there is no online one of that name. {nearest(name, ONLINE)}Known: {known}."
        )
    return ONLINE.index(name)


def play(
    state: HerdState,
    rules: Rules,
    store: QueryStore,
    queries: Ints,
    arrives: Flags,
    draws: Floats,
    *,
    moved: bool = False,
) -> HerdState:
    """Let queries arrive and leave, (e,) each, and return the state: the same one, or one with more room.

    `moved` queries were here before, and do not count as arrivals.
    """
    if rules.policy == LEAST_TYPES:
        state = with_kinds(state, int(arrives.sum()))
    done = 0
    while done < len(queries):
        done += kernels.process_events(state, rules, store, queries[done:], arrives[done:], draws[done:], moved)
        state = state if done == len(queries) else with_pool(state)
    return state


def rebuild_state(rate: Floats, capacity: Floats, store: QueryStore) -> HerdState:
    """Return the state that follows from queries and their servers, computed afresh."""
    state = with_kinds(empty_state(rate, capacity), len(store.server))
    done = 0
    while done < len(store.server):
        done = kernels.restore_assignments(state, store, done)
        state = state if done == len(store.server) else with_pool(state)
    return state


def draws_for(rules: Rules, count: int, rng: Generator) -> Floats:
    """Return a number in [0, 1) for each event, (count,), drawn only for the policy that looks at them."""
    return rng.random(count) if rules.policy == RANDOM else np.zeros(count)


@dataclass(frozen=True, slots=True)
class HerdSnapshot:
    """How things stood at some time."""

    at: float  # steps
    live: int  # queries
    replication: float  # traffic over the rate of the sources that are subscribed to
    imbalance: float  # largest relative load over the mean
    servers: int


def observe(state: HerdState, at: float) -> HerdSnapshot:
    """Return how things stand."""
    subscribed = float(state.rate[state.degree > 0].sum())
    there = state.capacity > 0
    mean = float(state.load.sum() / state.capacity.sum())
    largest = float((state.load[there] / state.capacity[there]).max())
    return HerdSnapshot(
        at,
        int(state.totals[LIVE]),
        float(state.traffic.sum()) / subscribed if subscribed > 0 else np.nan,
        largest / mean if mean > 0 else np.nan,
        int(there.sum()),
    )
