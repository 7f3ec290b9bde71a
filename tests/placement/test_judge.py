from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drover.load.links import UnitLinks
from drover.placement.judge import GOALS, Accepted, Rejected, judge
from drover.placement.problem import PlacementProblem

AB = PlacementProblem(
    units=("a", "b", "c"),
    capacity=np.ones(2),
    coefficients=np.array([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]]),
    rates=np.array([2.0, 4.0]),
    series=np.array([[0.1, 0.3], [0.5, 0.3], [0.6, 0.6]]),
    state=np.array([10.0, 20.0, 40.0]),
    current=np.array([0, 0, 1]),
    links=UnitLinks(("s",), np.array([0]), np.array([2]), np.array([[0.01, 0.0]]), np.array([[8.0, 0.0]])),
)


@pytest.mark.parametrize(
    ("before", "after", "most", "says"),
    [
        pytest.param([0, 0, 1], [0, 0, 2], 99, "c.node is 2, but the nodes are 0 to 1", id="no such node"),
        pytest.param([0, 0, 1], [0, 1, 1], 99, "break a limit: factor by which all rates can grow", id="an overload"),
        pytest.param([0, 1, 1], [0, 0, 1], 15, "moves 20 bytes of state, but the limit is 15", id="too much state"),
        pytest.param([0, 0, 1], [1, 1, 0], 99, "improves nothing", id="nothing gained"),
    ],
)
def test_refusals_have_reasons(before: list[int], after: list[int], most: float, says: str) -> None:
    match judge(AB, np.array(before), np.array(after), most_bytes=most):
        case Rejected(reason):
            assert says in reason
        case Accepted():
            pytest.fail("accepted")


def test_the_judge_sees_every_goal_that_gets_worse() -> None:
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
    shown = [str(verdict) for verdict in found.verdicts]
    assert shown[0] == "load of the fullest node over its capacity: 1 -> 0.6, better"
    assert len(shown) == len(GOALS)


def test_new_units_have_nothing_to_compare_with() -> None:
    assert isinstance(judge(AB, np.array([0, -1, 1]), np.array([0, 0, 1])), Accepted)
