"""The measures of a plan, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.feasible import exact_ratio
from drover.load.links import UnitLinks
from drover.placement.problem import PlacementProblem, no_links
from drover.placement.score import hyperplanes, score
from tests.strategies.problems import problems

AB = PlacementProblem(
    units=("a", "b", "c"),
    capacity=np.ones(2),
    coefficients=np.array([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]]),
    rates=np.array([2.0, 4.0]),
    series=np.array([[0.1, 0.3], [0.5, 0.3], [0.6, 0.6]]),
    state=np.array([10.0, 20.0, 40.0]),
    current=np.array([0, 0, 1]),
    links=UnitLinks(("s",), np.array([0]), np.array([2]), np.array([[0.01, 0.0]]), np.array([[8.0, 0.0]])),
)


def test_measures_by_hand() -> None:
    found = score(AB, np.array([0, 1, 1]))
    assert found.overload == pytest.approx(1.0)  # b + c on node 1: 0.4 + 0.6
    assert found.imbalance == pytest.approx(2 / 3)  # 0.2 and 1.0 about 0.6
    assert found.cut_links == 1
    assert found.cut == pytest.approx(16)
    assert found.moved == pytest.approx(20)
    assert found.moved_load == pytest.approx(0.4 / 1.2)
    assert found.headroom == pytest.approx(1 / 1.02)  # node 1: c's 0.6, b's 0.4, and 0.02 for what comes from node 0
    assert math.isinf(found.deviation)  # all loads together are constant, so that no deviation would be possible
    assert found.correlation == pytest.approx(-1)


def test_unknown_measures_are_nan() -> None:
    found = score(PlacementProblem(units=("a",), capacity=np.ones(1)), np.array([0]))
    assert math.isnan(found.feasible)
    assert math.isnan(found.deviation)
    assert math.isnan(found.headroom)


@given(problem=problems(max_units=6, max_nodes=3, ruled=False), seed=st.integers(0, 99))
def test_the_bounds_of_mmad_and_mmpd_hold(problem: PlacementProblem, seed: int) -> None:
    """[Xing06], section 4.2: the product of axis distances, and the ball below the nearest plane, fit in."""
    problem = replace(problem, links=no_links(problem.coefficients.shape[1]))
    weighed = hyperplanes(problem, default_rng(seed).integers(0, problem.n, problem.m))
    if not weighed.shape[1]:
        return
    found = score(problem, default_rng(seed).integers(0, problem.n, problem.m))
    exact = exact_ratio(weighed)
    d = weighed.shape[1]
    assert found.axis_bound <= exact * (1 + 1e-9)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1) * (found.plane_distance / 2) ** d * math.factorial(d)
    assert ball <= exact * (1 + 1e-9)
    assert exact <= 1 + 1e-9
    assert found.feasible == pytest.approx(exact, rel=0.1)
