"""The feasible set: its size, its bounds, and what never makes it larger."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import LoadError
from drover.load.arrays import Floats
from drover.load.feasible import (
    axis_bound,
    axis_distance,
    estimate,
    exact_ratio,
    face_points,
    feasible_ratio,
    floor_point,
    ideal_volume,
    plane_bound,
    plane_distance,
    remaining_ratio,
    remaining_weights,
    weights,
)
from tests.strategies.loads import node_loads

Loads = tuple[Floats, Floats]


@pytest.mark.parametrize(
    ("coefficients", "capacity", "expected"),
    [
        pytest.param([[4, 2]], [1], [[1, 1]], id="a lone node has the ideal weights"),
        pytest.param([[4, 0], [0, 2]], [1, 1], [[2, 0], [0, 2]], id="a stream on one of two nodes weighs 2 there"),
        pytest.param([[3, 1], [1, 1]], [3, 1], [[1, 2 / 3], [1, 2]], id="a share that follows capacity weighs 1"),
        pytest.param([[4, 0], [4, 0]], [1, 1], [[1], [1]], id="a stream that loads nobody is dropped"),
        pytest.param([[0, 0]], [1], [[]], id="nothing is left of a network without load"),
        pytest.param([[1], [0], [0]], [1, 1, 1], [[3], [0], [0]], id="empty nodes weigh nothing"),
    ],
)
def test_weights(coefficients: list[list[float]], capacity: list[float], expected: list[list[float]]) -> None:
    found = weights(np.array(coefficients, dtype=float), np.array(capacity, dtype=float))
    np.testing.assert_allclose(found, np.array(expected, dtype=float))


def test_weights_of_some_units_are_relative_to_all() -> None:
    placed = np.array([[1.0, 0.0], [0.0, 0.0]])
    found = weights(placed, np.ones(2), totals=np.array([4.0, 2.0]))
    np.testing.assert_allclose(found, [[0.5, 0.0], [0.0, 0.0]])


@given(node_loads())
def test_weights_average_to_one_by_capacity(loads: Loads) -> None:
    coefficients, capacity = loads
    np.testing.assert_allclose(capacity @ weights(coefficients, capacity) / capacity.sum(), 1.0)


@pytest.mark.parametrize(
    ("totals", "capacity", "expected"),
    [
        pytest.param([2], [1, 3], 2.0, id="one stream: how fast it may be"),
        pytest.param([1, 2], [4], 4.0, id="two streams: half of the rectangle"),
        pytest.param([1, 0], [4], 4.0, id="a stream without load has no say"),
        pytest.param([1, 1, 1], [1, 1], 8 / 6, id="three streams: a sixth of the box"),
    ],
)
def test_the_ideal_volume(totals: list[float], capacity: list[float], expected: float) -> None:
    assert ideal_volume(np.array(totals, dtype=float), np.array(capacity, dtype=float)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("capacity", "said"),
    [
        pytest.param([1.0, 0.0], "capacity of node 1 is 0, but must be above 0", id="zero"),
        pytest.param([-1.0, 1.0], "capacity of node 0 is -1", id="negative"),
        pytest.param([1.0, math.nan], "capacity of node 1 is nan", id="not a number"),
        pytest.param([1.0], r"there are 2 nodes. Give one number per node", id="too few"),
    ],
)
def test_impossible_capacities_are_refused(capacity: list[float], said: str) -> None:
    with pytest.raises(LoadError, match=said):
        weights(np.ones((2, 2)), np.array(capacity))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("count", [1, 100, 128])
def test_points_lie_on_the_ideal_face(d: int, count: int) -> None:
    points = face_points(d, count, seed=3)
    assert points.shape == (count, d)
    assert (points >= 0).all()
    np.testing.assert_allclose(points.sum(axis=1), 1.0)
    np.testing.assert_array_equal(points, face_points(d, count, seed=3))


@pytest.mark.parametrize("d", [2, 3, 6])
def test_points_are_spread_evenly(d: int) -> None:
    points = face_points(d, 2048, seed=1)
    np.testing.assert_allclose(points.mean(axis=0), 1 / d, atol=2e-3)
    spread = (d - 1) / (d * d * (d + 1))  # variance of a coordinate that is uniform on the face
    np.testing.assert_allclose(points.var(axis=0), spread, rtol=0.03)


@given(node_loads())
@settings(max_examples=60)
def test_the_estimate_agrees_with_the_exact_ratio(loads: Loads) -> None:
    weighed = weights(*loads)
    points = face_points(weighed.shape[1], 4096, seed=5)
    assert feasible_ratio(weighed, points) == pytest.approx(exact_ratio(weighed), abs=5e-3)


@given(node_loads())
@settings(max_examples=60)
def test_the_ratio_lies_between_its_bounds_and_one(loads: Loads) -> None:
    weighed = weights(*loads)
    ratio = exact_ratio(weighed)
    assert axis_bound(weighed) <= ratio + 1e-9
    assert plane_bound(weighed) <= ratio + 1e-9
    assert ratio <= 1 + 1e-9


@given(node_loads())
def test_balanced_nodes_reach_the_ideal(loads: Loads) -> None:
    coefficients, capacity = loads
    balanced = weights(np.outer(capacity, coefficients.sum(axis=0)), capacity)
    assert exact_ratio(balanced) == pytest.approx(1.0)
    assert feasible_ratio(balanced, face_points(balanced.shape[1], 64, seed=0)) == pytest.approx(1.0)
    np.testing.assert_allclose(axis_distance(balanced), 1.0)


@given(node_loads(), st.integers(0, 4), st.integers(0, 3), st.floats(0.0, 5.0))
@settings(max_examples=60)
def test_more_load_never_enlarges_the_set(loads: Loads, i: int, k: int, more: float) -> None:
    coefficients, capacity = loads
    heavier = coefficients.copy()
    heavier[i % len(heavier), k % heavier.shape[1]] += more
    assert volume(heavier, capacity) <= volume(coefficients, capacity) * (1 + 1e-9)


@given(node_loads(), st.integers(0, 4), st.floats(0.1, 1.0))
@settings(max_examples=60)
def test_less_capacity_never_enlarges_the_set(loads: Loads, i: int, share: float) -> None:
    coefficients, capacity = loads
    smaller = capacity.copy()
    smaller[i % len(smaller)] *= share
    assert volume(coefficients, smaller) <= volume(coefficients, capacity) * (1 + 1e-9)


def volume(coefficients: Floats, capacity: Floats) -> float:
    """The size of the feasible set in tuples per second."""
    return exact_ratio(weights(coefficients, capacity)) * ideal_volume(coefficients.sum(axis=0), capacity)


@pytest.mark.parametrize(
    ("weighed", "planes", "axes"),
    [
        pytest.param([[1, 1]], [2**-0.5], [1, 1], id="the ideal plane"),
        pytest.param([[2, 0], [0, 2]], [0.5, 0.5], [0.5, 0.5], id="a stream per node"),
        pytest.param([[3, 4], [0, 0]], [0.2, math.inf], [1 / 3, 1 / 4], id="an empty node is infinitely far"),
        pytest.param([[3.0], [7e-311]], [1 / 3, math.inf], [1 / 3], id="so is one with next to no load"),
    ],
)
def test_distances(weighed: list[list[float]], planes: list[float], axes: list[float]) -> None:
    array = np.array(weighed, dtype=float)
    np.testing.assert_allclose(plane_distance(array), planes)
    np.testing.assert_allclose(axis_distance(array), axes)


def test_distances_from_a_floor() -> None:
    weighed = np.array([[2.0, 0.0], [0.0, 2.0]])
    floor = np.array([0.25, 0.75])
    np.testing.assert_allclose(plane_distance(weighed, floor), [0.25, -0.25])
    np.testing.assert_allclose(axis_distance(weighed, floor), [0.25, -0.25])


@pytest.mark.parametrize(
    ("weighed", "floor", "expected"),
    [
        pytest.param([[1, 1]], [0.5, 0.25], 1.0, id="a lone node stays ideal above any floor"),
        pytest.param([[2, 0], [0, 2]], [0.25, 0.25], 0.5, id="a square of 1/4 in a triangle of 1/8"),
        pytest.param([[2, 0], [0, 2]], [0.0, 0.0], 0.5, id="no floor, no change"),
        pytest.param([[2, 0], [0, 2]], [0.6, 0.1], 0.0, id="a floor that overloads a node leaves nothing"),
        pytest.param([[1, 1]], [0.6, 0.6], 0.0, id="a floor above the ideal face leaves nothing"),
    ],
)
def test_the_remaining_set(weighed: list[list[float]], floor: list[float], expected: float) -> None:
    array = np.array(weighed, dtype=float)
    point = np.array(floor)
    assert exact_ratio(remaining_weights(array, point)) == pytest.approx(expected)
    assert remaining_ratio(array, point, face_points(2, 4096, seed=0)) == pytest.approx(expected, abs=1e-4)


@given(node_loads(streams=3), st.data())
@settings(max_examples=40)
def test_the_remaining_set_equals_a_count_of_points(loads: Loads, data: st.DataObject) -> None:
    weighed = weights(*loads)
    d = weighed.shape[1]
    floor = np.array(data.draw(st.lists(st.floats(0.0, 0.2), min_size=d, max_size=d)))
    cube = default_rng(1).exponential(size=(20_000, d + 1))
    inside = cube[:, :d] / cube.sum(axis=1, keepdims=True)  # uniform in the ideal simplex
    above = inside[(inside >= floor).all(axis=1)]
    assume(len(above) > 4_000)
    counted = (above @ weighed.T <= 1).all(axis=1).mean()
    assert exact_ratio(remaining_weights(weighed, floor)) == pytest.approx(counted, abs=0.04)


def test_a_floor_in_rates_becomes_a_point() -> None:
    point = floor_point(np.array([10.0, 5.0, 2.0]), np.array([0.1, 0.0, 0.5]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(point, [0.25, 0.25])


def test_intervals_hold_the_exact_ratio_about_as_often_as_they_say() -> None:
    rng = default_rng(7)
    held = []
    for trial in range(60):
        d = int(rng.integers(2, 5))
        weighed = weights(rng.random((4, d)), np.ones(4))
        found = estimate(weighed, seed=trial, count=256)
        held.append(found.low <= exact_ratio(weighed) <= found.high)
    assert np.mean(held) >= 0.85


def test_one_dimension_needs_no_random_points() -> None:
    found = estimate(np.array([[2.0], [0.0]]), seed=0)
    assert (found.ratio, found.low, found.high) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("d", [2, 5])
def test_the_estimate_deviates_by_less_than_a_thousandth(d: int) -> None:
    """4096 points, ten nodes, random trees' worth of spread: the deviation over 32 scramblings."""
    weighed = weights(default_rng(d).uniform(0.1, 1.0, size=(10, d)), np.ones(10))
    ratios = [feasible_ratio(weighed, face_points(d, 4096, seed)) for seed in range(32)]
    assert np.std(ratios) <= 1e-3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        pytest.param(lambda: exact_ratio(np.ones((2, 9))), "9 dimensions, but its exact size", id="exact in many"),
        pytest.param(lambda: face_points(0, 8, 0), "8 points in 0 dimensions", id="no dimension"),
        pytest.param(lambda: estimate(np.ones((1, 2)), 0, scramblings=1), "needs at least 2", id="one scrambling"),
    ],
)
def test_a_set_that_cannot_be_computed_is_refused(call: object, said: str) -> None:
    assert callable(call)
    with pytest.raises(LoadError, match=said):
        call()


def test_many_streams_are_supported() -> None:
    d = 300
    ideal = np.ones((2, d))
    assert feasible_ratio(ideal, face_points(d, 16, seed=0)) == pytest.approx(1.0)
    assert 0 <= plane_bound(ideal) <= axis_bound(ideal) == 1.0
    assert ideal_volume(np.full(d, 1.0), np.ones(2)) >= 0.0


def test_a_network_without_load_fills_nothing() -> None:
    nothing = weights(np.zeros((2, 3)), np.ones(2))
    assert nothing.shape == (2, 0)
    assert (exact_ratio(nothing), plane_bound(nothing), axis_bound(nothing)) == (1.0, 1.0, 1.0)
    assert estimate(nothing, seed=0).ratio == 1.0


def test_partial_plans_may_be_unbounded() -> None:
    partial = weights(np.array([[1.0, 0.0]]), np.ones(1), totals=np.array([2.0, 1.0]))
    assert exact_ratio(partial) == math.inf
