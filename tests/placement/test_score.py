"""Scores and the judge: every measure by hand, every refusal with its reason."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.load.feasible import exact_ratio
from drover.load.links import Links
from drover.placement.judge import GOALS, Accepted, Rejected, judge
from drover.placement.problem import Problem, no_links
from drover.placement.score import hyperplanes, score
from tests.strategies.problems import problems

AB = Problem(
    units=("a", "b", "c"),
    capacity=np.ones(2),
    coefficients=np.array([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]]),
    rates=np.array([2.0, 4.0]),
    series=np.array([[0.1, 0.3], [0.5, 0.3], [0.6, 0.6]]),
    state=np.array([10.0, 20.0, 40.0]),
    current=np.array([0, 0, 1]),
    links=Links(("s",), np.array([0]), np.array([2]), np.array([[0.01, 0.0]]), np.array([[8.0, 0.0]])),
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


def test_what_is_not_known_is_not_a_number() -> None:
    found = score(Problem(units=("a",), capacity=np.ones(1)), np.array([0]))
    assert math.isnan(found.feasible)
    assert math.isnan(found.deviation)
    assert math.isnan(found.headroom)


@given(problem=problems(max_units=6, max_nodes=3, ruled=False), seed=st.integers(0, 99))
def test_the_bounds_of_mmad_and_mmpd_hold(problem: Problem, seed: int) -> None:
    """[Xing06], section 4.2: the product of axis distances, and the ball below the nearest plane, fit in."""
    problem = replace(problem, links=no_links(problem.coefficients.shape[1]))
    weighed = hyperplanes(problem, default_rng(seed).integers(0, problem.n, problem.m))
    if not weighed.shape[1]:
        return
    found = score(problem, default_rng(seed).integers(0, problem.n, problem.m))
    exact, d = exact_ratio(weighed), weighed.shape[1]
    assert found.axis_bound <= exact * (1 + 1e-9)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1) * (found.plane_distance / 2) ** d * math.factorial(d)
    assert ball <= exact * (1 + 1e-9)
    assert exact <= 1 + 1e-9
    assert found.feasible == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(
    ("before", "after", "most", "says"),
    [
        pytest.param([0, 0, 1], [0, 0, 2], 99, "c.node is 2, but the nodes are 0 to 1", id="no such node"),
        pytest.param([0, 0, 1], [0, 1, 1], 99, "break a limit: factor by which all rates can grow", id="an overload"),
        pytest.param([0, 1, 1], [0, 0, 1], 15, "moves 20 bytes of state, but at most 15 may", id="too much state"),
        pytest.param([0, 0, 1], [1, 1, 0], 99, "makes nothing better", id="nothing gained"),
    ],
)
def test_refusals_have_reasons(before: list[int], after: list[int], most: float, says: str) -> None:
    match judge(AB, np.array(before), np.array(after), most_bytes=most):
        case Rejected(reason):
            assert says in reason
        case Accepted():
            pytest.fail("accepted")


def test_what_gets_worse_is_seen() -> None:
    """Moving b to its own node balances the loads, and cuts no more."""
    match judge(AB, np.array([0, 1, 1]), np.array([0, 0, 1])):
        case Accepted(verdicts) as accepted:
            changes = {verdict.goal.measure: verdict.change for verdict in verdicts}
            assert changes["overload"] == changes["imbalance"] == changes["headroom"] == "better"
            assert changes["cut"] == "same"
            assert {verdict.goal.measure for verdict in accepted.price} == {
                name for name, change in changes.items() if change == "worse"
            }
        case Rejected(reason):
            pytest.fail(reason)


def test_a_missed_hard_goal_may_get_better_but_not_worse() -> None:
    heavy = replace(AB, series=4 * AB.series, rates=4 * AB.rates)
    assert isinstance(judge(heavy, np.array([0, 1, 1]), np.array([0, 0, 1])), Accepted)
    assert isinstance(judge(heavy, np.array([0, 0, 1]), np.array([0, 1, 1])), Rejected)


def test_verdicts_read_as_sentences() -> None:
    found = judge(AB, np.array([0, 1, 1]), np.array([0, 0, 1]))
    told = [str(verdict) for verdict in found.verdicts]
    assert told[0] == "load of the fullest node over its capacity: 1 -> 0.6, better"
    assert len(told) == len(GOALS)


def test_new_units_have_nothing_to_compare_with() -> None:
    assert isinstance(judge(AB, np.array([0, -1, 1]), np.array([0, 0, 1])), Accepted)
