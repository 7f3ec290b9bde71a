"""The simple policies, each by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.random import default_rng

from drover.load.links import UnitLinks
from drover.placement.baseline import (
    place_balanced_randomly,
    place_by_hash,
    place_by_rate,
    place_connected,
    place_in_turn,
    place_largest_first,
    place_randomly,
    place_whole,
)
from drover.placement.problem import PlacementProblem


def loads(*values: float, nodes: int = 2, **fields: object) -> PlacementProblem:
    series = np.repeat(np.array(values)[:, None], 2, axis=1)
    given = {"units": tuple("abcdefgh"[: len(values)]), "capacity": np.ones(nodes), "series": series}
    return PlacementProblem(**(given | fields))  # type: ignore[arg-type]  # fields by name


def rows(*pairs: tuple[int, int]) -> UnitLinks:
    """Links between units, that cost nothing."""
    source, target = np.array(pairs, dtype=np.int64).T
    return UnitLinks(("s",) * len(pairs), source, target, np.zeros((len(pairs), 0)), np.zeros((len(pairs), 0)))


def test_units_are_dealt_out_in_turn_over_the_nodes_they_may_be_on() -> None:
    allowed = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 0]]) > 0
    assert place_in_turn(loads(1, 1, 1, 1, nodes=3, allowed=allowed), default_rng(0)).tolist() == [0, 2, 2, 1]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        pytest.param(loads(1, 3, 2), [1, 0, 1], id="the largest first, the others to the lighter node"),
        pytest.param(loads(2, 2, 2), [0, 1, 0], id="equal loads by index"),
        pytest.param(loads(3, 3, 3, capacity=np.array([2.0, 1.0])), [0, 1, 0], id="lightness is relative to capacity"),
        pytest.param(loads(3, 2, 1, apart=((0, 1), (1, 2))), [0, 1, 0], id="what stays apart is kept apart"),
        pytest.param(loads(3, 2, 1, pinned=np.array([1, 1, -1])), [1, 1, 0], id="pins come first"),
    ],
)
def test_largest_load_first(problem: PlacementProblem, expected: list[int]) -> None:
    assert place_largest_first(problem, default_rng(0)).tolist() == expected


def test_max_rate_balances_peaks_not_means() -> None:
    series = np.array([[4.0, 0.0], [2.5, 2.5], [0.0, 1.0], [2.0, 0.0]])  # peaks 4, 2.5, 1, 2; means 2, 2.5, 0.5, 1
    problem = PlacementProblem(units=tuple("abcd"), capacity=np.ones(2), series=series)
    assert place_by_rate(problem, default_rng(0)).tolist() == [0, 1, 0, 1]
    bounded = PlacementProblem(
        units=("a", "b", "c"), capacity=np.ones(2), coefficients=np.eye(3), upper=np.array([1.0, 9.0, 2.0])
    )
    assert place_by_rate(bounded, default_rng(0)).tolist() == [1, 0, 1]


def test_random_plans_have_as_many_units_on_every_node() -> None:
    for seed in range(5):
        places = place_randomly(loads(9, 1, 1, 1, 1, 1, nodes=3), default_rng(seed))
        assert set(Counter(places.tolist()).values()) == {2}


def test_balanced_random_plans_differ_by_seed_and_are_balanced() -> None:
    found = [place_balanced_randomly(loads(1, 1, 1, 1), default_rng(seed)).tolist() for seed in range(9)]
    assert all(sum(places) == 2 for places in found)
    assert len({tuple(places) for places in found}) > 1


def test_a_hash_depends_on_the_name_alone() -> None:
    assert (
        place_by_hash(loads(1, 2, 3), default_rng(0)).tolist() == place_by_hash(loads(3, 2, 1), default_rng(1)).tolist()
    )


def test_whole_graphs_stay_whole() -> None:
    problem = loads(1, 1, 1, 1, 3, links=rows((0, 1), (1, 2), (3, 4)))
    assert place_whole(problem, default_rng(0)).tolist() == [1, 1, 1, 0, 0]


def test_connected_units_fill_a_node_up_to_its_share() -> None:
    problem = loads(1, 1, 1, 1, links=rows((0, 2), (2, 1), (1, 3)))
    assert place_connected(problem, default_rng(0)).tolist() == [0, 1, 0, 1]


def test_units_that_read_one_source_are_connected() -> None:
    """a and b read one source, c and d another."""
    problem = loads(1, 1, 1, 1, readers=((0, 1), (2, 3)))
    assert place_connected(problem, default_rng(0)).tolist() == [0, 0, 1, 1]
    assert place_connected(loads(1, 1, 1, 1), default_rng(0)).tolist() == [0, 1, 0, 1]
    assert place_whole(problem, default_rng(0)).tolist() == [0, 0, 1, 1]


def test_a_link_joins_the_graphs_of_two_sources() -> None:
    """d reads the second source and what a makes."""
    problem = loads(1, 1, 1, 1, links=rows((0, 3)), readers=((0, 1), (2, 3)))
    assert place_whole(problem, default_rng(0)).tolist() == [0, 0, 0, 0]
    assert place_connected(problem, default_rng(0)).tolist() == [0, 1, 1, 0], "a link comes before a common source"


def test_thousands_of_readers_of_one_source_fill_node_after_node() -> None:
    m = 3000
    units = tuple(f"u{j}" for j in range(m))
    problem = PlacementProblem(
        units=units, capacity=np.ones(2), series=np.ones((m, 2)), readers=(tuple(range(m)), (0, 1))
    )
    assert place_connected(problem, default_rng(0)).tolist() == [0] * (m // 2) + [1] * (m // 2)
