from __future__ import annotations

import numpy as np
import pytest

from drover_lab.placement.instances import chain_problem, periodic_rates, tree_problem

MEAN = np.array([100.0, 200.0, 400.0])


def test_a_tree_instance_has_the_sizes_of_the_figure() -> None:
    problem = tree_problem(3)
    assert (problem.n, problem.coefficients.shape[1]) == (10, 5)
    assert problem.m == 5 * 20
    assert not len(problem.rates)
    assert not problem.links.communication.any()


@pytest.mark.parametrize("make", [tree_problem, chain_problem])
def test_equal_seeds_give_equal_instances(make: object) -> None:
    assert callable(make)
    one = make(7)
    other = make(7)
    different = make(8)
    assert one.coefficients.tolist() == other.coefficients.tolist()
    assert one.series.tolist() == other.series.tolist()
    assert one.coefficients.tolist() != different.coefficients.tolist()


def test_chains_have_the_requested_system_load() -> None:
    problem = chain_problem(1, nodes=6, load=0.5)
    assert problem.m == 6 * 10
    assert (problem.coefficients @ problem.rates).sum() == pytest.approx(0.5 * 6)
    assert problem.series.shape == (60, 10)


@pytest.mark.parametrize("even", [True, False])
def test_rates_are_high_for_half_of_ten_seconds_and_then_a_quarter_of_that(even: bool) -> None:
    rates = periodic_rates(5, 1e6 * MEAN, 10, even=even)
    assert rates.shape == (3, 10)
    assert rates.mean(axis=1) == pytest.approx(1e6 * MEAN, rel=0.001)
    assert rates.max(axis=1) == pytest.approx(1.6e6 * MEAN, rel=0.001)
    assert rates.min(axis=1) == pytest.approx(0.4e6 * MEAN, rel=0.001)


def test_a_later_window_continues_the_same_pattern() -> None:
    first = periodic_rates(5, 1e6 * MEAN, 10)
    later = periodic_rates(5, 1e6 * MEAN, 10, after=10)
    assert later == pytest.approx(first, rel=0.01)
    assert later.tolist() != first.tolist(), "arrivals are drawn anew"
