from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.arrays import Floats
from drover.placement.correlation import kernels, twins
from drover.placement.correlation.kernels import Method, NodePair
from drover.placement.correlation.place import node_lists, unit_arrays
from drover.placement.problem import PlacementProblem

UNITS = st.integers(2, 14)


SEEDS = st.integers(0, 10**6)


def random_problem(m: int, n: int, seed: int, h: int = 7) -> PlacementProblem:
    rng = default_rng(seed)
    series = rng.random((m, h)) * rng.uniform(0.5, 2, (m, 1))
    series[rng.random(m) < 0.1] = 0.7  # constant
    capacity = rng.choice([1.0, 1.0, 2.0], n)
    return PlacementProblem(units=tuple(f"u{j}" for j in range(m)), capacity=capacity, series=series)


def work(
    problem: PlacementProblem, sides: tuple[list[int], list[int]], kind: int, delta: float
) -> tuple[set[int], set[int]]:
    units = unit_arrays(problem, np.ones(problem.m, dtype=np.bool_), default_rng(0))
    places = np.array([0 if j in sides[0] else 1 for j in range(problem.m)])
    nodes = node_lists(problem, units, places)
    pair: NodePair = kernels.extract_pair(units, nodes, 0, 1)
    kernels.rebalance_pair(units, pair, Method(kind, kernels.CORRELATION, delta, False))
    kernels.store_pair(nodes, pair, 0, 1)
    fresh = node_lists(problem, units, nodes.places)  # what was kept up to date is what it would be, worked out anew
    np.testing.assert_allclose(nodes.sums, fresh.sums, atol=1e-9)
    np.testing.assert_allclose(nodes.load, fresh.load, atol=1e-12)
    return set(np.flatnonzero(nodes.places == 0).tolist()), set(np.flatnonzero(nodes.places == 1).tolist())


@given(m=UNITS, seed=SEEDS, cut=st.integers(0, 14))
def test_the_pair_kernel_equals_its_twin(m: int, seed: int, cut: int) -> None:
    problem = random_problem(m, 2, seed)
    sides = list(range(min(cut, m))), list(range(min(cut, m), m))
    expected = twins.balance(problem.series, sides, problem.capacity)
    assert work(problem, sides, kernels.BALANCE, 0) == (set(expected[0]), set(expected[1]))
    expected = twins.redistribute(problem.series, sides, problem.capacity)
    assert work(problem, sides, kernels.REDISTRIBUTE, 0) == (set(expected[0]), set(expected[1]))
    expected = twins.exchange(problem.series, sides, problem.capacity, 0.2)
    assert work(problem, sides, kernels.EXCHANGE, 0.2) == (set(expected[0]), set(expected[1]))


@given(seed=SEEDS, h=st.integers(2, 9))
def test_the_score_of_a_pair_is_the_general_score_of_two_nodes(seed: int, h: int) -> None:
    rng = default_rng(seed)
    unit, one, other = rng.random((3, h))
    rho = np.array([twins.cor(unit, one), twins.cor(unit, other)])
    general: Floats = rho.mean() - rho
    assert general[1] == pytest.approx((rho[0] - rho[1]) / 2)
    assert general[0] == pytest.approx((rho[1] - rho[0]) / 2)
