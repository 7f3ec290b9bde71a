"""Kernels decide as their plain twins do, query by query."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.herding.online.play import ONLINE, draws_for, play
from drover.herding.online.state import empty_state
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Flags, Ints
from drover_lab.herding import twins
from drover_lab.herding.bulk import BULK, assign_in_bulk, can_assign_in_bulk, process_in_bulk
from drover_lab.herding.generate import Workload, churn, generate
from drover_lab.herding.sequences import rules_of, store_of
from tests.strategies.herds import SEEDS, herds


def one_by_one(problem: HerdingProblem, name: str, queries: Ints, arrives: Flags) -> Ints:
    """What the general engine does with events."""
    rules = rules_of(problem, name)
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    play(state, rules, store, queries, arrives, draws_for(rules, len(queries), default_rng(5)))
    return store.server


@pytest.mark.parametrize("name", ONLINE)
def test_online_policies_equal_their_twins(name: str) -> None:
    @settings(max_examples=30)
    @given(problem=herds(max_queries=40))
    def check(problem: HerdingProblem) -> None:
        everybody = np.arange(problem.n)
        all_come = np.ones(problem.n, dtype=np.bool_)
        found = one_by_one(problem, name, everybody, all_come)
        draws = default_rng(5).random(problem.n)
        assert found.tolist() == twins.assign_online(problem, name, draws).tolist()

    check()


@pytest.mark.parametrize("name", BULK)
@given(problem=herds(max_queries=60, max_servers=70, max_sources=12, plain=True))
@settings(max_examples=40)
def test_bulk_equals_one_by_one(name: str, problem: HerdingProblem) -> None:
    if can_assign_in_bulk(problem, name):
        expected = one_by_one(problem, name, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_))
        assert assign_in_bulk(problem, name).tolist() == expected.tolist()


@pytest.mark.parametrize("name", BULK)
@given(problem=herds(max_queries=60, max_servers=70, max_sources=12, plain=True), seed=SEEDS)
@settings(max_examples=40)
def test_bulk_with_departures_equals_one_by_one(name: str, problem: HerdingProblem, seed: int) -> None:
    if can_assign_in_bulk(problem, name):
        events = churn(problem.n, 10.0, default_rng(seed))
        expected = one_by_one(problem, name, events.query, events.arrives)
        assert process_in_bulk(problem, name, events.query, events.arrives).tolist() == expected.tolist()


@pytest.mark.parametrize("servers", [10, 100, 200])
@pytest.mark.parametrize("name", BULK)
def test_bulk_equals_one_by_one_on_a_large_workload(name: str, servers: int) -> None:
    problem = generate(Workload(queries=20_000, servers=servers), default_rng(servers))
    assert can_assign_in_bulk(problem, name)
    expected = one_by_one(problem, name, np.arange(problem.n), np.ones(problem.n, dtype=np.bool_))
    assert (assign_in_bulk(problem, name) == expected).all()
    events = churn(problem.n, 5_000.0, default_rng(1))
    expected = one_by_one(problem, name, events.query, events.arrives)
    assert (process_in_bulk(problem, name, events.query, events.arrives) == expected).all()


def test_bulk_takes_only_what_it_can() -> None:
    problem = generate(Workload(queries=50, servers=3), default_rng(0))
    assert can_assign_in_bulk(problem, "least-cost")
    assert can_assign_in_bulk(problem, "rare-first")
    assert not can_assign_in_bulk(problem, "gather")
    assert not can_assign_in_bulk(replace(problem, allowance=0.0), "least-cost")
    assert not can_assign_in_bulk(replace(problem, weight=np.full(50, 2.0)), "least-cost")
    assert not can_assign_in_bulk(replace(problem, capacity=np.array([1.0, 1.0, 2.0])), "least-cost")
    assert not can_assign_in_bulk(replace(problem, rate=np.arange(1.0, problem.m + 1)), "least-cost")
