"""Balancing nodes by few moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.arrays import Floats, Ints
from drover.placement.correlation.pairwise import movable, starting_plan
from drover.placement.faults import faults
from drover.placement.policy import propose
from drover.placement.problem import PlacementProblem
from drover.placement.rules import fuse
from drover.placement.search.fewest_moves import DEFAULT, BalanceTarget, even_out, spread
from tests.strategies.problems import problems


def alike(loads: list[float], current: list[int], n: int) -> PlacementProblem:
    """Units with constant loads on equal nodes."""
    units = tuple(f"u{j}" for j in range(len(loads)))
    return PlacementProblem(
        units=units, capacity=np.ones(n), series=np.array(loads)[:, None] * np.ones(3), current=np.array(current)
    )


@pytest.mark.parametrize(
    ("loads", "current", "moves"),
    [
        pytest.param([0.3, 0.3, 0.3, 0.3], [0, 0, 1, 1], 0, id="even nodes are left alone"),
        pytest.param([0.3, 0.3, 0.3, 0.25], [0, 0, 1, 1], 0, id="and so are those within epsilon"),
        pytest.param([0.2, 0.2, 0.2, 0.2], [0, 0, 0, 1], 1, id="one move"),
        pytest.param([0.05] * 8 + [0.4], [0] * 9, 1, id="the one large unit instead of eight small ones"),
        pytest.param([0.5, 0.3, 0.3, 0.1], [0, 0, 1, 1], 2, id="an exchange"),
        pytest.param([0.6], [0], 0, id="a lone unit stays"),
    ],
)
def test_the_search_makes_as_many_moves_as_needed(loads: list[float], current: list[int], moves: int) -> None:
    problem = alike(loads, current, 2)
    found = propose(problem, "fewest-moves", default_rng(0))
    assert int((found != problem.current).sum()) == moves
    assert spread(problem, found) <= DEFAULT.epsilon or len(loads) == 1


def one_move_away(problem: PlacementProblem, places: Ints) -> Floats:
    """The spreads of all plans that one move of a unit leads to, by trying each."""
    free = movable(problem, places)
    reachable = problem.reachable()
    found = []
    for j, i in product(range(problem.m), range(problem.n)):
        moved = np.where(np.arange(problem.m) == j, i, places)
        if i != places[j] and free[j] and problem.load[j] > 0 and reachable[j, i] and not any(faults(problem, moved)):
            found.append(spread(problem, moved))
    return np.array(found)


@given(problem=problems(), goal=st.sampled_from([0.02, 0.08, 0.5]))
@settings(max_examples=60)
def test_one_move_is_made_where_one_is_enough_and_it_is_the_best(problem: PlacementProblem, goal: float) -> None:
    fused = fuse(problem).problem
    if not fused.m or not fused.series.shape[1]:
        return
    places = starting_plan(fused, default_rng(0))
    aim = BalanceTarget(epsilon=goal, goal=goal)
    found = even_out(fused, places, aim)
    assert list(faults(fused, found)) == []
    assert spread(fused, found) <= spread(fused, places)
    spreads = one_move_away(fused, places)
    if spread(fused, places) > goal and len(spreads) and spreads.min() <= goal:
        assert (found != places).sum() == 1
        assert spread(fused, found) == pytest.approx(spreads.min(), abs=1e-8)


@given(st.lists(st.floats(0.01, 0.3), min_size=12, max_size=40), st.integers(2, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_many_small_units_are_always_balanced(loads: list[float], n: int, seed: int) -> None:
    """Of units that are all below a goal, one can always go from the fullest node to the emptiest."""
    small = [load * 0.079 / 0.3 for load in loads]
    problem = alike(small, default_rng(seed).integers(0, n, len(loads)).tolist(), n)
    assert spread(problem, even_out(problem, problem.current)) <= DEFAULT.epsilon


def test_a_closed_node_does_not_count() -> None:
    problem = alike([0.2, 0.2, 0.2, 0.2], [0, 0, 1, 1], 3)
    closed = replace(problem, allowed=np.tile([True, True, False], (4, 1)))
    assert spread(problem, problem.current) == pytest.approx(0.4)
    assert spread(closed, closed.current) == pytest.approx(0.0)
    assert even_out(closed, closed.current).tolist() == closed.current.tolist()


def test_pinned_units_stay() -> None:
    problem = alike([0.4, 0.1, 0.1, 0.1, 0.1], [0, 0, 0, 0, 0], 2)
    pinned = replace(problem, pinned=np.array([0, -1, -1, -1, -1]))
    found = even_out(pinned, pinned.current)
    assert found[0] == 0
    assert spread(pinned, found) == pytest.approx(0.0)
