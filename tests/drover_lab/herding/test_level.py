from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover_lab.herding import greedy_kernels as kernels
from drover_lab.herding import level_kernels as levels
from drover_lab.herding.generate import Workload, generate
from drover_lab.herding.greedy import fit_levels, types_of
from tests.strategies.herds import SEEDS


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
