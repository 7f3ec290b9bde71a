"""Exact sizes against a library of geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial import ConvexHull, HalfspaceIntersection

from drover.load.arrays import Floats
from drover.load.exact import exact_ratio
from drover.load.feasible import ideal_volume, weights
from tests.strategies.loads import node_loads


def hull_ratio(weighed: Floats) -> float:
    """The same ratio from the corners of the polytope."""
    n, d = weighed.shape
    if d == 1:
        return float(1 / weighed.max())
    halfspaces = np.vstack([np.c_[weighed, -np.ones(n)], np.c_[-np.eye(d), np.zeros(d)]])
    inside = np.full(d, 0.5 / (d * weighed.max()))
    corners = HalfspaceIntersection(halfspaces, inside).intersections
    return float(ConvexHull(corners).volume) * math.factorial(d)


@given(node_loads())
@settings(max_examples=120)
def test_exact_ratios_agree_with_the_hull_of_the_corners(loads: tuple[Floats, Floats]) -> None:
    weighed = weights(*loads)
    assert exact_ratio(weighed) == pytest.approx(hull_ratio(weighed), rel=1e-7)


@given(node_loads())
@settings(max_examples=60)
def test_volumes_in_rows_per_second_agree_with_the_hull(loads: tuple[Floats, Floats]) -> None:
    """The volume formulas end to end: {R >= 0 : L R <= C} as it stands, against weights, ratio and ideal volume."""
    coefficients, capacity = loads
    _n, d = coefficients.shape
    volume = exact_ratio(weights(coefficients, capacity)) * ideal_volume(coefficients.sum(axis=0), capacity)
    limits = np.divide(
        capacity[:, None], coefficients, out=np.full(coefficients.shape, np.inf), where=coefficients > 0
    ).min(axis=0)
    if d == 1:
        assert volume == pytest.approx(limits[0])
        return
    halfspaces = np.vstack([np.c_[coefficients, -capacity], np.c_[-np.eye(d), np.zeros(d)]])
    corners = HalfspaceIntersection(halfspaces, limits / (2 * d)).intersections
    assert volume == pytest.approx(ConvexHull(corners).volume, rel=1e-6)


@pytest.mark.parametrize(
    ("weighed", "expected"),
    [
        pytest.param([[1, 1, 1]], 1.0, id="the ideal set"),
        pytest.param([[1, 1]] * 5, 1.0, id="equal nodes count once"),
        pytest.param([[2, 0], [0, 2]], 0.5, id="a square in the triangle"),
        pytest.param([[3, 0, 0], [0, 3, 0], [0, 0, 3]], 6 / 27, id="a cube in the simplex"),
        pytest.param([[2, 2]], 0.25, id="half the capacity, a quarter of the set"),
        pytest.param([[1, 1], [0.5, 0.5]], 1.0, id="a node that is never full first"),
        pytest.param([[1, 0], [0, 0]], math.inf, id="a stream that loads nobody"),
        pytest.param([[math.inf, 1]], 0.0, id="a node without room"),
        pytest.param([[]], 1.0, id="no dimension at all"),
    ],
)
def test_sizes_that_anyone_can_check(weighed: list[list[float]], expected: float) -> None:
    assert exact_ratio(np.array(weighed, dtype=float)) == pytest.approx(expected)
