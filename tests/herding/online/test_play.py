"""Sequences of arrivals and departures, and what can be observed of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.online.play import ONLINE, draws_for, number_of, observe, play, rebuild_state
from drover.herding.online.state import RANDOM, empty_state
from drover.herding.problem import HerdingProblem
from drover_lab.herding.sequences import rules_of, store_of

# Two servers, two sources of rate 1; queries 0 and 1 read source 0, queries 2 and 3 read source 1.
PROBLEM = HerdingProblem(
    start=np.array([0, 1, 2, 3, 4]),
    source=np.array([0, 0, 1, 1]),
    rate=np.ones(2),
    weight=np.ones(4),
    capacity=np.ones(2),
)


@pytest.mark.parametrize("name", ONLINE)
def test_every_policy_has_its_own_number(name: str) -> None:
    assert ONLINE[number_of(name)] == name


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(ProblemError, match=r"no online one of that name. Did you mean gather\?"):
        number_of("gathr")


def test_queries_of_one_source_share_a_server_and_departures_leave_no_trace() -> None:
    rules = rules_of(PROBLEM, "least-cost")
    store = store_of(PROBLEM, rules)
    state = empty_state(PROBLEM.rate, PROBLEM.capacity)
    everyone = np.arange(4)
    state = play(state, rules, store, everyone, np.ones(4, dtype=np.bool_), np.zeros(4))
    assert store.server[0] == store.server[1] != store.server[2] == store.server[3]
    seen = observe(state, 4.0)
    assert (seen.live, seen.servers, seen.replication, seen.imbalance) == (4, 2, 1.0, 1.0)
    state = play(state, rules, store, everyone, np.zeros(4, dtype=np.bool_), np.zeros(4))
    assert observe(state, 8.0).live == 0
    assert (store.server == -1).all()


def test_a_state_computed_from_scratch_equals_the_incremental_one() -> None:
    rules = rules_of(PROBLEM, "least-cost")
    store = store_of(PROBLEM, rules)
    grown = empty_state(PROBLEM.rate, PROBLEM.capacity)
    grown = play(grown, rules, store, np.arange(4), np.ones(4, dtype=np.bool_), np.zeros(4))
    fresh = rebuild_state(PROBLEM.rate, PROBLEM.capacity, store)
    assert fresh.load.tolist() == grown.load.tolist()
    assert fresh.traffic.tolist() == grown.traffic.tolist()
    assert fresh.degree.tolist() == grown.degree.tolist()


def test_only_the_random_policy_draws() -> None:
    generator = default_rng(0)
    before = generator.bit_generator.state
    assert draws_for(rules_of(PROBLEM, "least-cost"), 3, generator).tolist() == [0.0, 0.0, 0.0]
    assert generator.bit_generator.state == before
    rules = rules_of(PROBLEM, "random")
    assert rules.policy == RANDOM
    assert len(set(draws_for(rules, 3, generator).tolist())) == 3
