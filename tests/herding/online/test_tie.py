from __future__ import annotations

import numpy as np
import pytest

from drover.herding.online.state import ARRIVED, CAPACITY, GATHER, HELD, LEAST_COST, LIVE, RARE_FIRST, Rules
from drover.herding.online.tie_kernels import future_value, is_open, is_staying, lighter, limit_of, preference

RULES = Rules(GATHER, slack=0.5, allowance=3.0)


@pytest.mark.parametrize(
    ("fair", "limit"),
    [
        pytest.param(2.0, 5.0, id="the allowance is larger"),
        pytest.param(6.0, 9.0, id="both are equal"),
        pytest.param(10.0, 15.0, id="the slack is larger"),
    ],
)
def test_the_limit_is_the_larger_of_slack_and_allowance(fair: float, limit: float) -> None:
    assert limit_of(RULES, fair) == pytest.approx(limit)
    assert limit_of(RULES, fair) >= limit, "a load at the limit is not above it by rounding"


@pytest.mark.parametrize(
    ("load", "capacity", "found"),
    [
        pytest.param(4.0, 1.0, True, id="up to the limit"),
        pytest.param(4.5, 1.0, False, id="above the limit"),
        pytest.param(4.5, 2.0, True, id="a larger server has a larger limit"),
        pytest.param(0.0, 0.0, False, id="no server"),
    ],
)
def test_open_servers(load: float, capacity: float, found: bool) -> None:
    assert is_open(RULES, np.array([load]), np.array([capacity]), 1.0, 2.0, 0) is found


@pytest.mark.parametrize(
    ("j", "best", "found"),
    [
        pytest.param(0, -1, True, id="the first one"),
        pytest.param(1, 0, True, id="less load for its capacity"),
        pytest.param(0, 1, False, id="more load for its capacity"),
        pytest.param(2, 0, False, id="equal, and later"),
        pytest.param(0, 2, True, id="equal, and earlier"),
    ],
)
def test_the_lighter_server_goes_first(j: int, best: int, found: bool) -> None:
    load = np.array([2.0, 3.0, 2.0])
    capacity = np.array([1.0, 2.0, 1.0])
    assert lighter(load, capacity, j, best) is found


@pytest.mark.parametrize(("live", "found"), [(75.0, True), (74.0, False)])
def test_queries_stay_while_three_quarters_are_live(live: float, found: bool) -> None:
    totals = np.zeros(8)
    totals[LIVE] = live
    totals[ARRIVED] = 100.0
    assert is_staying(totals) is found


@pytest.mark.parametrize(
    ("policy", "staying", "held", "found"),
    [
        pytest.param(LEAST_COST, False, False, 0.0, id="least-cost has no preference"),
        pytest.param(RARE_FIRST, True, True, 7.0, id="rare-first always counts rare sources"),
        pytest.param(GATHER, True, False, 7.0, id="gather counts rare sources while queries stay"),
        pytest.param(GATHER, True, True, 0.0, id="gather leaves it to load if nothing has to be copied"),
        pytest.param(GATHER, False, False, 11.0, id="gather counts its queries if queries leave"),
    ],
)
def test_preferences(policy: int, staying: bool, held: bool, found: float) -> None:
    rules = RULES._replace(policy=policy)
    assert preference(rules, staying, 2.0, 2.0, 7.0, 11.0, held, 1.0) == found


def test_a_fuller_server_is_preferred_less() -> None:
    at_its_share = preference(RULES, False, 2.0, 2.0, 7.0, 11.0, False, 1.0)
    assert preference(RULES, False, 3.0, 2.0, 7.0, 11.0, False, 1.0) < at_its_share


def test_a_server_with_many_sources_and_room_has_a_future() -> None:
    totals = np.zeros(8)
    totals[HELD] = 10.0
    totals[CAPACITY] = 2.0
    value = future_value(RULES, totals, 2.0, 1.0, 5, 2.0)
    assert future_value(RULES, totals, 2.0, 1.0, 8, 2.0) > value, "it holds more sources"
    assert future_value(RULES, totals, 3.0, 1.0, 5, 2.0) < value, "it is fuller"
    assert future_value(RULES, np.array([*totals[:HELD], 0.0]), 2.0, 1.0, 0, 2.0) == 0.0, "no server holds anything"
