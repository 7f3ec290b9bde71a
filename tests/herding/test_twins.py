"""Kernels decide as their plain twins do, query by query."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.herding import twins
from drover.herding.bulk.assign import BULK, assign_in_bulk, play_in_bulk, takes
from drover.herding.generate import Workload, churn, generate
from drover.herding.greedy import kernels
from drover.herding.greedy.assign import Ties, assign_greedily, fit_levels, types_of
from drover.herding.greedy.levels import kernels as levels
from drover.herding.online.play import ONLINE, draws_for, play, rules_of, store_of
from drover.herding.online.state import empty_state
from drover.herding.problem import Problem
from drover.load.arrays import Flags, Ints
from tests.strategies.herds import SEEDS, herds


def one_by_one(problem: Problem, name: str, queries: Ints, arrives: Flags) -> Ints:
    """What the general engine does with events."""
    rules = rules_of(problem, name)
    store, state = store_of(problem, rules), empty_state(problem.rate, problem.capacity)
    play(state, rules, store, queries, arrives, draws_for(rules, len(queries), default_rng(5)))
    return store.server


@pytest.mark.parametrize("name", ONLINE)
def test_online_policies_equal_their_twins(name: str) -> None:
    @settings(max_examples=30)
    @given(problem=herds(max_queries=40))
    def check(problem: Problem) -> None:
        everybody, all_come = np.arange(problem.n), np.ones(problem.n, dtype=np.bool_)
        found = one_by_one(problem, name, everybody, all_come)
        draws = default_rng(5).random(problem.n)
        assert found.tolist() == twins.assign_online(problem, name, draws).tolist()

    check()


@pytest.mark.parametrize("name", BULK)
@given(problem=herds(max_queries=60, max_servers=70, max_sources=12, plain=True))
@settings(max_examples=40)
def test_bulk_equals_one_by_one(name: str, problem: Problem) -> None:
    if takes(problem, name):
        expected = one_by_one(problem, name, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_))
        assert assign_in_bulk(problem, name).tolist() == expected.tolist()


@pytest.mark.parametrize("name", BULK)
@given(problem=herds(max_queries=60, max_servers=70, max_sources=12, plain=True), seed=SEEDS)
@settings(max_examples=40)
def test_bulk_with_departures_equals_one_by_one(name: str, problem: Problem, seed: int) -> None:
    if takes(problem, name):
        events = churn(problem.n, 10.0, default_rng(seed))
        expected = one_by_one(problem, name, events.query, events.arrives)
        assert play_in_bulk(problem, name, events.query, events.arrives).tolist() == expected.tolist()


@pytest.mark.parametrize("servers", [10, 100, 200])
@pytest.mark.parametrize("name", BULK)
def test_bulk_equals_one_by_one_on_a_large_workload(name: str, servers: int) -> None:
    problem = generate(Workload(queries=20_000, servers=servers), default_rng(servers))
    assert takes(problem, name)
    expected = one_by_one(problem, name, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_))
    assert (assign_in_bulk(problem, name) == expected).all()
    events = churn(problem.n, 5_000.0, default_rng(1))
    expected = one_by_one(problem, name, events.query, events.arrives)
    assert (play_in_bulk(problem, name, events.query, events.arrives) == expected).all()


def test_bulk_takes_only_what_it_can() -> None:
    problem = generate(Workload(queries=50, servers=3), default_rng(0))
    assert takes(problem, "least-cost")
    assert takes(problem, "rare-first")
    assert not takes(problem, "gather")
    assert not takes(replace(problem, allowance=0.0), "least-cost")
    assert not takes(replace(problem, weight=np.full(50, 2.0)), "least-cost")
    assert not takes(replace(problem, capacity=np.array([1.0, 1.0, 2.0])), "least-cost")
    assert not takes(replace(problem, rate=np.arange(1.0, problem.m + 1)), "least-cost")


@pytest.mark.parametrize("whole", [False, True])
@given(problem=herds(max_queries=25), ties=st.sampled_from(["many", "rare"]))
@settings(max_examples=60)
def test_greedy_equals_its_twin(whole: bool, problem: Problem, ties: Ties) -> None:
    found = assign_greedily(problem, whole=whole, ties=ties)
    assert found.tolist() == twins.assign_greedily(problem, whole=whole, ties=ties).tolist()


@pytest.mark.parametrize("whole", [False, True])
@given(problem=herds(max_queries=25), rate=st.sampled_from([0.5, 1.0, 3.0]), ties=st.sampled_from(["many", "rare"]))
@settings(max_examples=60)
def test_greedy_equals_its_twin_if_all_rates_are_one(whole: bool, problem: Problem, rate: float, ties: Ties) -> None:
    even = replace(problem, rate=np.full(problem.m, rate))
    found = assign_greedily(even, whole=whole, ties=ties)
    assert found.tolist() == twins.assign_greedily(even, whole=whole, ties=ties).tolist()


@pytest.mark.parametrize("whole", [False, True])
@given(seed=SEEDS, sources=st.integers(1, 5), servers=st.integers(1, 30), skew=st.sampled_from([1.2, 2.0, 3.0]))
@settings(max_examples=25)
def test_levels_and_heaps_decide_alike(whole: bool, seed: int, sources: int, servers: int, skew: float) -> None:
    workload = Workload(queries=700, servers=servers, sources=sources, skew=skew)
    problem = generate(workload, default_rng(seed))
    types = types_of(problem, "rare")
    assert fit_levels(types, problem.k)
    found = [np.full(problem.n, -1) for _ in range(2)]
    for engine, server in zip((levels, kernels), found, strict=True):
        engine.assign(types, problem.limits(), problem.capacity, whole, server)
    assert found[0].tolist() == found[1].tolist()


def test_levels_are_for_one_rate_and_for_what_fits_into_memory() -> None:
    problem = generate(Workload(queries=200, servers=4), default_rng(1))
    assert fit_levels(types_of(problem, "many"), 4)
    assert not fit_levels(types_of(problem, "many"), 10**9)
    assert not fit_levels(types_of(replace(problem, rate=np.zeros(problem.m)), "many"), 4)
    assert not fit_levels(types_of(replace(problem, rate=np.arange(1.0, problem.m + 1)), "many"), 4)
