from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.herding.problem import HerdingProblem
from drover_lab.herding import twins
from drover_lab.herding.greedy import Ties, assign_greedily
from tests.strategies.herds import herds


@pytest.mark.parametrize("whole", [False, True])
@given(problem=herds(max_queries=25), ties=st.sampled_from(["many", "rare"]))
@settings(max_examples=60)
def test_greedy_equals_its_twin(whole: bool, problem: HerdingProblem, ties: Ties) -> None:
    found = assign_greedily(problem, whole=whole, ties=ties)
    assert found.tolist() == twins.assign_greedily(problem, whole=whole, ties=ties).tolist()


@pytest.mark.parametrize("whole", [False, True])
@given(problem=herds(max_queries=25), rate=st.sampled_from([0.5, 1.0, 3.0]), ties=st.sampled_from(["many", "rare"]))
@settings(max_examples=60)
def test_greedy_equals_its_twin_if_all_rates_are_one(
    whole: bool, problem: HerdingProblem, rate: float, ties: Ties
) -> None:
    even = replace(problem, rate=np.full(problem.m, rate))
    found = assign_greedily(even, whole=whole, ties=ties)
    assert found.tolist() == twins.assign_greedily(even, whole=whole, ties=ties).tolist()
