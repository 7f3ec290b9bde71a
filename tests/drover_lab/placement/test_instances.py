from __future__ import annotations

import numpy as np
import pytest

from drover_lab.placement.instances import chain_problem, periodic_rates, tree_problem


def test_trees_have_no_rates_and_free_links() -> None:
    problem = tree_problem(1, nodes=4, streams=2, size=5)
    assert (problem.n, problem.m) == (4, 10)
    assert problem.rates.size == 0
    assert not problem.links.communication.any()


def test_chains_load_the_system_as_asked() -> None:
    problem = chain_problem(3, nodes=6, periods=8, load=0.5)
    assert (problem.n, problem.m) == (6, 60)
    assert (problem.coefficients @ problem.rates).sum() == pytest.approx(0.5 * 6)
    assert problem.series.shape == (60, 8)


def test_equal_seeds_give_equal_instances() -> None:
    assert (chain_problem(2).series == chain_problem(2).series).all()
    assert (chain_problem(2).series != chain_problem(3).series).any()


def test_rates_alternate_between_high_and_a_quarter_of_it() -> None:
    found = periodic_rates(0, np.full(1, 1e6), 20, even=True)[0]
    assert sorted({round(value / 1e6, 1) for value in found.tolist()}) == [0.4, 1.6]
    assert found.mean() == pytest.approx(1e6, rel=0.01)


def test_a_later_window_continues_the_pattern() -> None:
    early = periodic_rates(0, np.full(1, 1e6), 20)[0]
    late = periodic_rates(0, np.full(1, 1e6), 10, after=10)[0]
    assert (np.round(early[10:] / 1e6, 1) == np.round(late / 1e6, 1)).all()
