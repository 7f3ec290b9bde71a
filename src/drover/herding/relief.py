"""Relief: which queries leave servers that are above their limit, within a budget.

Rule 1: a server that joins is filled by arrivals and by relief alone: it makes the limits of the others lower.
Rule 2: the price of a move is as for `refine`. The largest gain per price goes first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drover.herding import relief_kernels as kernels
from drover.herding.online.state import CAPACITY, LOAD, HerdState, QueryStore, Rules, with_kinds, with_pool
from drover.herding.online.tie_kernels import limit_of
from drover.herding.refine import HALF, grouped
from drover.load.arrays import Floats, Ints

STEEPER: Final = 4.0  # factor of the toll, if no pair is worth its price
TOLLS: Final = 32  # such steps; enough for any rates


def overloaded(state: HerdState, rules: Rules) -> Ints:
    """Return the servers that are above their limit, (o,)."""
    fair = state.totals[LOAD] / state.totals[CAPACITY] * state.capacity
    limits = np.array([limit_of(rules, float(share)) for share in fair])
    return np.flatnonzero((state.capacity > 0) & (state.load > limits))


def groups_on(servers: Ints, store: QueryStore, price: Floats) -> tuple[Ints, Ints]:
    """Return the pairs of a source and one of these servers, (p, 3), and the queries that they refer to.

    A row is (begin, end, server). The queries of a pair are in the order of their weight per price, largest first.
    """
    here = np.flatnonzero(np.isin(store.server, servers))
    pairs, query, _ = grouped(here, store, -store.weight / price)
    return pairs, query


class ReliefTrial(NamedTuple):
    """The pairs to try, and what to keep."""

    pairs: Ints  # (p, 3)
    queries: Ints
    toll: float  # traffic that a unit of load above a limit is worth
    keep: Floats  # (p,) keep a pair that is worth more
    budget: Floats  # (2,) remaining price and queries; decreases
    worth: Floats  # (p,) gain per price; filled in


def relieve(state: HerdState, rules: Rules, store: QueryStore, price: Floats, budget: Floats) -> tuple[HerdState, Ints]:
    """Move queries within a `budget`, (2,), of price and of queries; return the state, and the earlier servers, (N,).

    The budget decreases by what is moved.
    """
    before = store.server.copy()
    state = with_kinds(state, len(store.server))
    # What a unit of load costs on average. Among equal prices traffic decides; the toll, only whether to move at all.
    toll = max(float(state.traffic.sum()) / max(float(state.totals[LOAD]), 1.0), 1e-9)
    tolls = 0
    while len(donors := overloaded(state, rules)) and budget[1] >= 1 and tolls < TOLLS:
        pairs, queries = groups_on(donors, store, price)
        count = len(pairs)
        # A first pass keeps nothing: it only estimates the worth of each pair, so that the best can go first.
        look = ReliefTrial(pairs, queries, toll, np.full(count, np.inf), np.zeros(2), np.zeros(count))
        state = _try(state, rules, store, price, look)
        order = np.lexsort((np.arange(count), -look.worth))
        order = order[look.worth[order] > 0]
        if not len(order):
            toll *= STEEPER
            tolls += 1
            continue
        now = store.server.copy()
        act = ReliefTrial(pairs[order], queries, toll, HALF * look.worth[order], budget, np.zeros(len(order)))
        state = _try(state, rules, store, price, act)
        if (store.server == now).all():  # what is left of the budget does not pay for any of them
            break
    return state, before


def _try(state: HerdState, rules: Rules, store: QueryStore, price: Floats, trial: ReliefTrial) -> HerdState:
    done = 0
    while done < len(trial.pairs):
        done = kernels.try_relief(state, rules, store, price, *trial, done)
        state = state if done == len(trial.pairs) else with_pool(state)
    return state
