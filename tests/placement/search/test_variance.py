from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.arrays import Ints
from drover.placement.problem import PlacementProblem
from drover.placement.search import variance_kernels as kernels
from drover.placement.search.steady import (
    Steadiness,
    features,
    variance_problem,
    variance_state,
)
from tests.strategies.problems import problems

QUICK = Steadiness(kicks=3)


def objective(problem: PlacementProblem, places: Ints, settings: Steadiness) -> float:
    seen = features(problem, settings)
    sums = np.zeros((problem.n, seen.shape[1]))
    np.add.at(sums, places, seen)
    return float(((sums**2).sum(axis=1) / problem.capacity).sum())


@given(problem=problems(), seed=st.integers(0, 99))
def test_a_gain_equals_the_decrease_of_the_objective(problem: PlacementProblem, seed: int) -> None:
    rng = default_rng(seed)
    field = variance_problem(problem, QUICK, np.ones(problem.m, dtype=np.bool_))
    state = variance_state(field, rng.integers(0, problem.n, problem.m))
    for _ in range(5):
        before = objective(problem, state.places, QUICK)
        assert kernels.value(field, state) == pytest.approx(before)
        j, q = (int(drawn) for drawn in rng.integers(0, problem.m, 2))
        a = int(state.places[j])
        b = int(state.places[q])
        if a == b:
            b = int(rng.integers(0, problem.n))
            gain = kernels.move_gain(field, state, j, b) if a != b else 0.0
        else:
            gain = kernels.swap_gain(field, state, j, q)
            kernels.carry_out(field, state, q, a)
        kernels.carry_out(field, state, j, b)
        assert before - objective(problem, state.places, QUICK) == pytest.approx(gain, abs=1e-9 * max(before, 1e-9))
