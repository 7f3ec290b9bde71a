from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.herding.herd import Herd
from drover.herding.online.play import rebuild_state
from drover.herding.online.state import CAPACITY, LOAD, HerdState, QueryStore, Rules
from drover.herding.online.tie_kernels import limit_of
from drover.herding.problem import HerdingProblem
from drover.herding.relief import groups_on, overloaded, relieve
from drover.load.arrays import Floats
from drover_lab.herding.sequences import rules_of, store_of
from tests.strategies.herds import SEEDS, herds

NO_END = np.inf


def scattered(problem: HerdingProblem, seed: int) -> tuple[HerdState, Rules, QueryStore]:
    """Queries anywhere, most of them on few servers."""
    rules = rules_of(problem, "gather")
    store = store_of(problem, rules)
    rng = default_rng(seed)
    store.server[:] = np.minimum(rng.integers(0, problem.k, problem.n), rng.integers(0, problem.k, problem.n))
    return rebuild_state(problem.rate, problem.capacity, store), rules, store


def limits(state: HerdState, rules: Rules) -> Floats:
    density = state.totals[LOAD] / state.totals[CAPACITY]
    return np.array([limit_of(rules, float(density * size)) for size in state.capacity])


@given(problem=herds(max_queries=80), seed=SEEDS)
@settings(max_examples=60)
def test_a_server_stays_above_its_limit_only_if_its_queries_fit_nowhere_else(
    problem: HerdingProblem, seed: int
) -> None:
    state, rules, store = scattered(problem, seed)
    price = np.maximum(problem.state, 1.0)
    budget = np.array([NO_END, NO_END])
    state, before = relieve(state, rules, store, price, budget)
    fresh = rebuild_state(state.rate, state.capacity, store)
    assert state.load.tolist() == fresh.load.tolist()
    assert state.traffic.tolist() == fresh.traffic.tolist()
    was = rebuild_state(state.rate, state.capacity, _at(store, before))
    donors = set(overloaded(was, rules).tolist())
    assert {int(server) for server in before[before != store.server]} <= donors, "others keep their queries"
    for a in overloaded(state, rules).tolist():
        for q in np.flatnonzero(store.server == a).tolist():
            weight = float(store.weight[q])
            fits = state.load + weight <= limits(state, rules)
            assert set(np.flatnonzero(fits).tolist()) <= {a}


def _at(store: QueryStore, servers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> QueryStore:
    return store._replace(server=servers)


@given(problem=herds(max_queries=80), seed=SEEDS)
@settings(max_examples=60)
def test_relief_keeps_both_budgets_and_fills_no_server_above_its_limit(problem: HerdingProblem, seed: int) -> None:
    state, rules, store = scattered(problem, seed)
    price = np.maximum(problem.state, 1.0)
    most = float(price.sum()) / 3
    budget = np.array([most, 4.0])
    was = set(overloaded(state, rules).tolist())
    state, before = relieve(state, rules, store, price, budget)
    moved = before != store.server
    assert np.count_nonzero(moved) == 4 - budget[1] <= 4
    assert float(price[moved].sum()) == most - budget[0] <= most
    assert set(overloaded(state, rules).tolist()) <= was


def test_queries_that_take_their_source_along_go_first() -> None:
    # Source 0 has 30 queries, sources 1 to 10 have two each. Only whole sources move without more traffic.
    source = [0] * 30 + [1 + query // 2 for query in range(20)]
    herd = Herd(np.ones(11), np.ones(1), default_rng(0), allowance=0.0)
    herd.arrive_many(np.arange(51), np.array(source))
    herd.add_server()
    moves = herd.relieve()
    assert herd.loads.tolist() == [27, 23] or herd.loads.tolist() == [26, 24]
    assert herd.observe().replication <= 12 / 11
    assert {source[move.query] for move in moves} >= set(range(1, 11))
    assert herd.relieve() == ()


def test_a_large_state_stays_if_others_can_go() -> None:
    herd = Herd(np.ones(1), np.ones(1), default_rng(0), allowance=0.0)
    states = [10.0**9 if query % 3 == 0 else 1.0 for query in range(30)]
    herd.arrive_many(np.arange(31), np.zeros(30, dtype=np.int64), state=states)
    herd.add_server()
    moves = herd.relieve()
    assert len(moves) == 15
    assert all(states[move.query] == 1.0 for move in moves)


def test_the_groups_of_a_server_are_its_queries_by_source() -> None:
    problem = HerdingProblem(
        start=np.array([0, 1, 3, 4, 5]), source=np.array([0, 0, 1, 1, 0]), rate=np.ones(2), capacity=np.ones(2)
    )
    rules = rules_of(problem, "gather")
    store = store_of(problem, rules)
    store.server[:] = [0, 0, 0, 1]
    pairs, queries = groups_on(np.array([0]), store, np.array([2.0, 1.0, 1.0, 1.0]))
    assert [(queries[begin:end].tolist(), server) for begin, end, server in pairs.tolist()] == [
        ([1, 0], 0),
        ([1, 2], 0),
    ]


@pytest.mark.parametrize("rates", [[1e6, 1e-3], [0.0, 0.0]])
def test_load_leaves_a_full_server_at_any_rates(rates: list[float]) -> None:
    herd = Herd(np.array(rates), np.ones(1), default_rng(0), allowance=0.0)
    for query in range(20):
        herd.arrive([query % 2])
    herd.add_server()
    herd.relieve()
    assert herd.loads.tolist() == [10, 10]
