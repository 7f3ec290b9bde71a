from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.herding.online.play import ONLINE, draws_for, play
from drover.herding.online.state import empty_state
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Flags, Ints
from drover_lab.herding import twins
from drover_lab.herding.sequences import rules_of, store_of
from tests.strategies.herds import herds


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
