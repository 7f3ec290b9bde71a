"""Refinement: which servers to relieve of which sources, within a budget.

Rule 1: the price of a move is the query's bytes of state, and at least 1.
Rule 2: the largest gain per price goes first; the traffic never grows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drover.herding import refine_kernels as kernels
from drover.herding.online.state import HerdState, QueryStore, Rules, with_kinds, with_pool
from drover.load.arrays import Floats, Ints

GROUP: Final = 16  # largest number of queries to move for one source of a server; `kernels` has room for 64
ROUNDS: Final = 4  # repeated, because moves make room for further moves
HALF: Final = 0.5  # fraction of the estimated worth that must remain when a pair's turn comes


def pairs_of(state: HerdState, store: QueryStore) -> tuple[Ints, Ints]:
    """Return the pairs of a source and a server that few queries need, (p, 3), and the queries that they refer to.

    A row is (begin, end, server). Sources on a single server are left out, because moving them saves nothing.
    """
    pairs, query, source = grouped(np.flatnonzero(store.server >= 0), store, np.zeros(len(store.server)))
    few = (pairs[:, 1] - pairs[:, 0] <= GROUP) & (state.size[source] > 1) & (state.rate[source] > 0)
    return pairs[few], query


def grouped(here: Ints, store: QueryStore, rank: Floats) -> tuple[Ints, Ints, Ints]:
    """Return all pairs of a source and a server that these queries need, (p, 3), the queries, and the sources, (p,).

    The queries of a pair are in the order of their `rank`, (N,), the smallest first.
    """
    sizes = (store.stop - store.start)[here]
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    source = store.source[np.repeat(store.start[here], sizes) + within]
    query = np.repeat(here, sizes)
    order = np.lexsort((query, rank[query], store.server[query], source))
    source = source[order]
    query = query[order]
    server = store.server[query]
    edge = np.flatnonzero(np.append(np.ones(min(len(query), 1)), (np.diff(source) != 0) | (np.diff(server) != 0)))
    ends = np.append(edge[1:], len(query))[: len(edge)]  # without queries, there is no end either
    return np.stack([edge, ends, server[edge]], axis=1), query, source[edge]


class Trial(NamedTuple):
    """The pairs to try, and what to keep."""

    pairs: Ints  # (p, 3)
    queries: Ints
    keep: Floats  # (p,) keep a pair that is worth more
    budget: Floats  # (2,) remaining price and queries; decreases
    worth: Floats  # (p,) traffic saved per price; filled in


def refine(
    state: HerdState, rules: Rules, store: QueryStore, state_bytes: Floats, budget: float, queries: float
) -> tuple[HerdState, Ints]:
    """Move queries within a budget of bytes and of queries; return the state, and the earlier servers, (N,)."""
    before = store.server.copy()
    # A query without state costs something, too: each move takes effort.
    price = np.maximum(state_bytes, 1.0)
    state = with_kinds(state, len(store.server))
    left = np.array([budget, queries], dtype=np.float64)
    for _ in range(ROUNDS):
        pairs, members = pairs_of(state, store)
        if not len(pairs) or left[1] < 1:
            break
        count = len(pairs)
        # A first pass keeps nothing: it only estimates the worth of each pair, so that the best can go first.
        look = Trial(pairs, members, np.full(count, np.inf), np.zeros(2), np.zeros(count))
        state = _try(state, rules, store, price, look)
        # Ties by index, so that equal inputs give equal moves.
        order = np.lexsort((np.arange(count), -look.worth))
        order = order[look.worth[order] > 0]
        if not len(order):
            break
        act = Trial(pairs[order], members, HALF * look.worth[order], left, np.zeros(len(order)))
        state = _try(state, rules, store, price, act)
    return state, before


def _try(state: HerdState, rules: Rules, store: QueryStore, price: Floats, trial: Trial) -> HerdState:
    done = 0
    while done < len(trial.pairs):
        done = kernels.try_pairs(state, rules, store, price, *trial, done)
        state = state if done == len(trial.pairs) else with_pool(state)
    return state
