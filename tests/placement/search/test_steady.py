"""The search for low variance: results are never worse than their start, and budgets are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.load.arrays import Ints
from drover.placement.baseline import place_largest_first, place_whole
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import PlacementProblem
from drover.placement.score import score
from drover.placement.search.steady import (
    FEW_MOVES,
    Steadiness,
    descend,
    features,
    improve_within_budget,
    place_steady,
)
from drover_lab.placement.exact import least_variance
from drover_lab.placement.instances import chain_problem
from tests.strategies.problems import problems

QUICK = Steadiness(kicks=3)
PLAIN = Steadiness(shrink=0.0, balance=0.0)


def objective(problem: PlacementProblem, places: Ints, settings: Steadiness) -> float:
    seen = features(problem, settings)
    sums = np.zeros((problem.n, seen.shape[1]))
    np.add.at(sums, places, seen)
    return float(((sums**2).sum(axis=1) / problem.capacity).sum())


def test_without_balance_and_model_the_objective_is_the_variance() -> None:
    problem = chain_problem(0, nodes=5)
    places = place_largest_first(problem, default_rng(0))
    nodes = np.array([problem.series[places == i].sum(axis=0) for i in range(5)])
    assert objective(problem, places, PLAIN) == pytest.approx(nodes.var(axis=1).sum())


def test_the_model_fades_out_as_samples_come_in() -> None:
    widths = [features(chain_problem(0, nodes=5, periods=h)).shape[1] for h in (10, 40)]
    assert widths == [10 + 1 + 5, 40 + 1]


def test_nodes_are_steadier_and_better_balanced_than_by_correlation_alone() -> None:
    for seed in range(3):
        problem = chain_problem(seed)
        start = place_correlated(problem, default_rng(0))
        before = score(problem, start)
        after = score(problem, place_steady(problem, default_rng(0), QUICK))
        assert after.deviation < before.deviation
        assert after.imbalance <= QUICK.uneven < before.imbalance


@given(problem=problems(max_units=7, max_nodes=3))
def test_no_plan_is_better_than_the_oracle(problem: PlacementProblem) -> None:
    free = replace(
        problem, together=(), apart=(), pinned=np.full(problem.m, -1), allowed=np.ones((problem.m, problem.n)) > 0
    )
    best = objective(free, least_variance(free, QUICK), QUICK)
    start = place_largest_first(free, default_rng(0))
    found = objective(free, descend(free, start, default_rng(0), QUICK), QUICK)
    assert best <= found * (1 + 1e-9) + 1e-12
    assert found <= objective(free, start, QUICK) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 1.0])
def test_a_budget_is_kept(share: float) -> None:
    problem = replace(chain_problem(1), state=np.round(default_rng(0).exponential(1000, 200)))
    start = place_whole(problem, default_rng(0))
    found = improve_within_budget(problem, start, share * problem.state.sum())
    assert problem.state[found != start].sum() <= share * problem.state.sum()
    assert (score(problem, found).deviation < score(problem, start).deviation) == (share > 0)


def test_a_larger_budget_is_worth_more() -> None:
    problem = chain_problem(1)
    start = place_whole(problem, default_rng(0))
    found = [
        objective(problem, improve_within_budget(problem, start, budget, cost=problem.load), FEW_MOVES)
        for budget in (1, 4, 16)
    ]
    assert found == sorted(found, reverse=True)


def test_a_problem_that_does_not_fit_into_memory_is_refused() -> None:
    problem = PlacementProblem(units=tuple(map(str, range(9000))), capacity=np.ones(2), series=np.ones((9000, 2)))
    with pytest.raises(ProblemError, match="9000 units, but this search over all pairs handles at most 8000"):
        descend(problem, np.zeros(9000, dtype=np.int64), default_rng(0))
