from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.herding.herd import Herd
from drover.herding.online.play import play, rebuild_state
from drover.herding.online.state import HerdState, QueryStore, Rules, empty_state
from drover.herding.problem import HerdingProblem
from drover.herding.refine import GROUP, pairs_of, refine
from drover.load.arrays import Ints
from drover_lab.herding.score import server_traffic
from drover_lab.herding.sequences import rules_of, store_of
from tests.strategies.herds import SEEDS, herds


def assigned(problem: HerdingProblem, name: str, seed: int) -> tuple[HerdState, Rules, QueryStore]:
    rules = rules_of(problem, name)
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    draws = default_rng(seed).random(problem.n)
    arrives = np.ones(problem.n, dtype=np.bool_)
    return play(state, rules, store, np.arange(problem.n), arrives, draws), rules, store


def traffic(problem: HerdingProblem, servers: Ints) -> float:
    return float(server_traffic(problem, servers).sum())


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_the_traffic_never_grows_and_the_state_stays_exact(problem: HerdingProblem, seed: int) -> None:
    state, rules, store = assigned(problem, "random", seed)
    state, before = refine(state, rules, store, problem.state, np.inf, np.inf)
    assert traffic(problem, store.server) <= traffic(problem, before)
    fresh = rebuild_state(state.rate, state.capacity, store)
    assert state.load.tolist() == fresh.load.tolist()
    assert state.traffic.tolist() == fresh.traffic.tolist()


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_budgets_of_bytes_and_of_queries_are_kept(problem: HerdingProblem, seed: int) -> None:
    budget = float(problem.state.sum()) / 3
    state, rules, store = assigned(problem, "random", seed)
    _, before = refine(state, rules, store, problem.state, budget, 2)
    moved = before != store.server
    assert np.count_nonzero(moved) <= 2
    assert float(problem.state[moved].sum()) <= budget


@pytest.mark.parametrize(("queries", "moves"), [(np.inf, 1), (0, 0)])
def test_one_query_that_keeps_a_source_on_a_server_moves_to_the_others(queries: float, moves: int) -> None:
    herd = Herd(np.array([1.0, 5.0]), np.ones(2), default_rng(0), "least-cost")
    for _ in range(4):
        herd.arrive([0, 1])
    odd = herd.arrive([1]).query
    for query in range(5):
        herd.relocate(query, 1 if query == odd else 0)
    found = herd.refine(queries=queries)
    assert [(move.query, move.source, move.target) for move in found] == [(odd, 1, 0)][:moves]


def test_pairs_name_the_few_queries_that_need_a_source_on_a_server() -> None:
    many = GROUP + 1
    problem = HerdingProblem(
        start=np.arange(many + 4),
        source=np.array([0] * (many + 1) + [1, 2]),
        rate=np.array([1.0, 1.0, 0.0]),
        capacity=np.ones(2),
    )
    rules = rules_of(problem, "least-cost")
    store = store_of(problem, rules)
    store.server[:] = [0] * many + [1, 0, 1]
    state = rebuild_state(problem.rate, problem.capacity, store)
    pairs, queries = pairs_of(state, store)
    assert [(queries[begin:end].tolist(), server) for begin, end, server in pairs.tolist()] == [([many], 1)]
