from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from numpy.random import default_rng

from drover.placement.problem import PlacementProblem
from drover.placement.resilient import twins
from drover.placement.resilient.place import place_resilient, rate_box
from tests.strategies.problems import problems


@given(problem=problems(ruled=False))
def test_the_kernel_equals_its_twin(problem: PlacementProblem) -> None:
    for lower, upper in ((0.0, np.inf), (0.3, np.inf), (0.1, 2.0)):
        bounded = replace(problem, lower=lower * problem.rates, upper=np.maximum(upper * problem.rates, 1e-3))
        expected = twins.assign(problem.shares(), problem.capacity / problem.capacity.sum(), rate_box(bounded))
        found = place_resilient(bounded, default_rng(0))
        assert found.tolist() == expected.tolist()
