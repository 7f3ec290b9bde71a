"""Clusters: joined where links cost much, within bounds, in both orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.load.arrays import Ints
from drover.load.links import UnitLinks
from drover.placement.baseline import place_connected
from drover.placement.faults import faults
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.cluster import (
    ORDERS,
    ClusteringThresholds,
    abundant,
    cluster,
    nearest_plane,
    place_clustered,
)
from drover.placement.resilient.place import place_resilient
from drover.placement.rules import fuse
from drover.placement.score import feasible, hyperplanes
from drover_lab.placement.instances import tree_problem
from tests.strategies.problems import problems


def chain(communication: list[float], through: list[float] | None = None, **fields: object) -> PlacementProblem:
    """Units a, b, c ... of load 1 in a row, on two nodes, and what the links between them cost."""
    g = len(communication)
    links = UnitLinks(
        tuple("abcdefgh"[:g]),
        np.arange(g),
        np.arange(1, g + 1),
        np.array(communication)[:, None],
        np.array(through or [0.0] * g)[:, None],
    )
    given = {"capacity": np.ones(2), "coefficients": np.ones((g + 1, 1)), "links": links}
    return PlacementProblem(units=tuple("abcdefgh"[: g + 1]), **(given | fields))  # type: ignore[arg-type]  # fields by name


@pytest.mark.parametrize(
    ("costs", "thresholds", "expected"),
    [
        pytest.param(
            [0.1, 0.9, 0.1], ClusteringThresholds(communication=0.5, weight=2), ((1, 2),), id="the dear link is joined"
        ),
        pytest.param([0.1, 0.9, 0.1], ClusteringThresholds(communication=1.0, weight=2), (), id="none is dear enough"),
        pytest.param(
            [0.9, 0.9, 0.9], ClusteringThresholds(communication=0.5, weight=1.0), (), id="none is light enough"
        ),
        pytest.param(
            [0.6, 0.9, 0.6],
            ClusteringThresholds(communication=0.5, weight=1.4),
            ((1, 2),),
            id="a cluster counts with its load",
        ),
        pytest.param(
            [0.6, 0.1, 0.9],
            ClusteringThresholds(communication=0.5, weight=2, order="weight-first"),
            ((0, 1), (2, 3)),
            id="in pairs",
        ),
    ],
)
def test_clusters_by_hand(
    costs: list[float], thresholds: ClusteringThresholds, expected: tuple[tuple[int, ...], ...]
) -> None:
    assert cluster(chain(costs), thresholds) == expected


def test_the_order_decides_which_units_are_joined_first() -> None:
    """b-c is the dearest link, c-d the lightest; psi leaves room for one of them."""
    problem = chain([0.0, 3.0, 2.0], coefficients=np.array([[1.0], [2.0], [1.0], [1.0]]))
    found = [cluster(problem, ClusteringThresholds(communication=0.5, weight=1.5, order=order)) for order in ORDERS]
    assert found == [((1, 2),), ((2, 3),)]


@pytest.mark.parametrize(("first", "expected"), [("communication", ((0, 1),)), ("bandwidth", ((1, 2),))])
def test_both_orders_use_both_ratios(first: str, expected: tuple[tuple[int, ...], ...]) -> None:
    problem = chain([2.0, 0.0], [0.0, 2.0])
    thresholds = ClusteringThresholds(communication=0.5, bandwidth=0.5, weight=1.5, first=first)
    assert cluster(problem, thresholds) == expected


def test_units_that_stay_apart_are_not_joined() -> None:
    assert cluster(chain([9.0], apart=((0, 1),)), ClusteringThresholds(communication=0.5, weight=9)) == ()
    assert cluster(chain([9.0], pinned=np.array([0, 1])), ClusteringThresholds(communication=0.5, weight=9)) == ()


@pytest.mark.parametrize(
    ("bandwidth", "total", "expected"),
    [
        pytest.param(np.inf, np.inf, True, id="no limit"),
        pytest.param(3.0, np.inf, True, id="more than any unit needs"),
        pytest.param(1.5, np.inf, False, id="less than the middle unit needs"),
        pytest.param(3.0, 1.0, False, id="less than all links together need"),
    ],
)
def test_abundance(bandwidth: float, total: float, *, expected: bool) -> None:
    problem = chain([0.0, 0.0], [1.0, 1.0], bandwidth=np.full(2, bandwidth), total_bandwidth=total)
    assert abundant(problem) == expected


def test_bandwidth_adds_hyperplanes() -> None:
    """a | b: 1 byte per tuple is cut; y = r * 2 / 2, so node limits of 4 are 1/4, and the total of 2 is 1/2."""
    problem = chain([0.0], [1.0], bandwidth=np.full(2, 4.0), total_bandwidth=2.0)
    assert hyperplanes(problem, np.array([0, 1])).ravel() == pytest.approx([1, 1, 0.25, 0.25, 0.5])
    assert hyperplanes(problem, np.array([0, 0])).ravel() == pytest.approx([2, 0, 0, 0, 0])


@pytest.mark.parametrize("level", [0.3, 1.0])
def test_clusters_pay_off_where_links_are_expensive(level: float) -> None:
    """[Xing06], Fig. 6.8: with communication, clustered plans are above plain ROD and above connected ones."""
    found = []
    for seed in range(3):
        problem = tree_problem(seed, size=20)
        cost = level * problem.coefficients[problem.links.target]
        problem = replace(problem, links=replace(problem.links, communication=cost))
        policies = (place_clustered, place_resilient, place_connected)
        found.append([feasible(problem, place(problem, default_rng(0))) for place in policies])
    clustered, plain, connected = np.mean(found, axis=0)
    assert clustered > plain
    assert clustered > connected


def with_lower_bounds(seed: int) -> PlacementProblem:
    """A graph with expensive links, whose streams always have rates that fill 0.4 of all capacity together."""
    problem = tree_problem(seed, size=20)
    totals = problem.coefficients.sum(axis=0)
    shares = 0.4 * default_rng(seed).dirichlet(np.ones(len(totals)))
    cost = 0.5 * problem.coefficients[problem.links.target]
    links = replace(problem.links, communication=cost)
    return replace(problem, links=links, lower=shares * problem.capacity.sum() / totals)


def test_clusterings_are_compared_by_their_distance_from_the_lower_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """[Xing06], 4.4.4. Compared by the distance from the origin, plans keep room where rates never are."""

    def from_the_origin(problem: PlacementProblem, places: Ints) -> float:
        return nearest_plane(replace(problem, lower=np.zeros_like(problem.lower)), places)

    found = []
    for seed in range(6):
        problem = with_lower_bounds(seed)
        sizes = []
        for criterion in (nearest_plane, from_the_origin):
            monkeypatch.setattr("drover.placement.resilient.cluster.nearest_plane", criterion)
            sizes.append(feasible(problem, place_clustered(problem, default_rng(0))))
        found.append(sizes)
    above, origin = np.mean(found, axis=0)
    assert above > 1.5 * origin


@pytest.mark.parametrize(
    ("lower", "distance"),
    [
        pytest.param(0.0, 1 / 2, id="the origin"),
        pytest.param(0.25, 1 / 4, id="half way"),
        pytest.param(0.75, -0.5, id="the lower bound alone is half a node too much"),
    ],
)
def test_the_distance_is_from_the_lower_bound(lower: float, distance: float) -> None:
    """Two units of load 1 on one of two nodes: W is 2, and the lower bound is the point y = r * 2 / 2."""
    problem = chain([0.0], lower=np.array([lower]))
    assert nearest_plane(problem, np.array([0, 0])) == pytest.approx(distance)


@given(problem=problems())
@settings(max_examples=30)
def test_a_clustered_plan_is_valid(problem: PlacementProblem) -> None:
    fused = fuse(problem).problem
    places = place_clustered(fused, default_rng(0))
    assert list(faults(fused, places)) == []


def test_free_links_give_no_clusters() -> None:
    problem = tree_problem(1, size=10)
    assert place_clustered(problem, default_rng(0)).tolist() == place_resilient(problem, default_rng(0)).tolist()
    assert nearest_plane(problem, place_clustered(problem, default_rng(0))) > 0
