from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from drover.placement.baseline import place_largest_first, place_whole
from drover.placement.correlation import kernels
from drover.placement.correlation.kernels import Method
from drover.placement.correlation.pairwise import METHODS, movable, run_round
from drover.placement.correlation.place import node_lists, unit_arrays
from drover.placement.problem import PlacementProblem
from drover.placement.score import score
from drover_lab.placement.instances import chain_problem


def test_an_improvement_only_raises_the_correlation_of_its_pairs() -> None:
    problem = chain_problem(3)
    units = unit_arrays(problem, np.ones(problem.m, dtype=np.bool_), default_rng(0))
    nodes = node_lists(problem, units, place_largest_first(problem, default_rng(0)))
    before = [kernels.correlate(nodes.sums, 2 * i, 2 * i + 1, units.tiny) for i in range(10)]
    method = Method(kernels.REDISTRIBUTE, kernels.CORRELATION, 0.2, False)
    kept = [kernels.improve_pair(units, nodes, 2 * i, 2 * i + 1, method) for i in range(10)]
    after = [kernels.correlate(nodes.sums, 2 * i, 2 * i + 1, units.tiny) for i in range(10)]
    assert any(kept)
    assert all((new > old) if took else (new == old) for old, new, took in zip(before, after, kept, strict=True))


@pytest.mark.parametrize("name", METHODS)
def test_rounds_of_pairs_balance(name: str) -> None:
    problem = chain_problem(1, load=0.9)
    places = np.repeat(np.arange(20) // 2, 10)  # two chains on each of ten nodes, the others empty
    before = score(problem, places)
    for _ in range(10):
        places = run_round(problem, places, METHODS[name], default_rng(0))
    after = score(problem, places)
    assert after.overload < before.overload
    assert after.imbalance < 0.2


def test_improved_rounds_reduce_variation_where_balancing_cannot() -> None:
    problem = chain_problem(1, load=0.9)
    start = place_whole(problem, default_rng(0))
    found = {}
    for name in ("cor-bal", "cor-se-imp", "cor-re-imp"):
        places = start
        for _ in range(20):
            places = run_round(problem, places, METHODS[name], default_rng(0))
        found[name] = score(problem, places).deviation
    assert found["cor-bal"] > 3 * found["cor-se-imp"] > 3 * found["cor-re-imp"] / 2


def test_sticky_units_move_only_if_necessary() -> None:
    series = np.array([[0.9, 0.9], [0.9, 0.9], [0.3, 0.3], [0.1, 0.1]])
    problem = PlacementProblem(
        units=tuple("abcd"), capacity=np.ones(3), series=series, sticky=np.array([1, 1, 1, 0]) > 0
    )
    assert movable(problem, np.array([0, 0, 1, 2])).tolist() == [True, True, False, True]
    assert movable(problem, np.array([0, 0, 1, 0])).tolist() == [False, False, False, True]
    assert (
        run_round(
            replace(problem, sticky=np.ones(4) > 0), np.array([0, 1, 1, 2]), METHODS["cor-re"], default_rng(0)
        ).tolist()
        != []
    )
