"""Which servers to empty of which sources, within a budget.

Rule 1: a price is bytes of state, as moving is; a query without any still costs something.
Rule 2: what gains most per price goes first; the traffic never grows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drover.herding.online.state import Rules, State, Store, with_kinds, with_pool
from drover.herding.refine import kernels
from drover.load.arrays import Floats, Ints

GROUP: Final = 16  # queries that are moved at most to spare a server a source; `kernels` has room for 64
ROUNDS: Final = 4  # what was moved makes room for more
HALF: Final = 0.5  # of what it seemed to be worth must be left when its turn comes


def pairs_of(state: State, store: Store) -> tuple[Ints, Ints]:
    """Return the pairs of a source and a server that a few queries make, (p, 3), and the queries they refer to.

    A row is (begin, end, server). Sources that one server holds alone are left out: nothing is saved there.
    """
    here = np.flatnonzero(store.server >= 0)
    sizes = (store.stop - store.start)[here]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    source = store.source[np.repeat(store.start[here], sizes) + within]
    query = np.repeat(here, sizes)
    order = np.lexsort((query, store.server[query], source))
    source, query = source[order], query[order]
    server = store.server[query]
    edge = np.flatnonzero(np.append(np.ones(min(len(query), 1)), (np.diff(source) != 0) | (np.diff(server) != 0)))
    ends = np.append(edge[1:], len(query))
    few = (ends - edge <= GROUP) & (state.size[source[edge]] > 1) & (state.rate[source[edge]] > 0)
    return np.stack([edge[few], ends[few], server[edge[few]]], axis=1), query


class Trial(NamedTuple):
    """What is tried, and what is kept of it."""

    pairs: Ints  # (p, 3)
    queries: Ints
    keep: Floats  # (p,) keep what is worth more
    budget: Floats  # (2,) of price and of queries, which is used up
    worth: Floats  # (p,) what it is worth per price, filled in


def refine(
    state: State, rules: Rules, store: Store, state_bytes: Floats, budget: float, queries: float
) -> tuple[State, Ints]:
    """Move queries within a budget of bytes and of queries; return the state, and the servers before, (N,)."""
    before = store.server.copy()
    price = np.maximum(state_bytes, 1.0)
    state = with_kinds(state, len(store.server))
    left = np.array([budget, queries], dtype=np.float64)
    for _ in range(ROUNDS):
        pairs, members = pairs_of(state, store)
        if not len(pairs) or left[1] < 1:
            break
        count = len(pairs)
        look = Trial(pairs, members, np.full(count, np.inf), np.zeros(2), np.zeros(count))
        state = _try(state, rules, store, price, look)
        order = np.lexsort((np.arange(count), -look.worth))
        order = order[look.worth[order] > 0]
        if not len(order):
            break
        act = Trial(pairs[order], members, HALF * look.worth[order], left, np.zeros(len(order)))
        state = _try(state, rules, store, price, act)
    return state, before


def _try(state: State, rules: Rules, store: Store, price: Floats, trial: Trial) -> State:
    done = 0
    while done < len(trial.pairs):
        done = kernels.try_out(state, rules, store, price, *trial, done)
        state = state if done == len(trial.pairs) else with_pool(state)
    return state
