from __future__ import annotations

import click
import numpy as np
import pytest

from drover.cli.whatif.limits import (
    MOST_CAPACITY,
    MOST_FIGURES,
    MOST_RATE,
    MOST_STEPS,
    check_rate,
    check_size,
    check_steps,
)
from drover.cli.whatif.workload import RateTrace

TRACE = RateTrace(np.array([1.0, 2.0]), np.array([5.0, 6.0]))


def test_rates_may_change_up_to_a_limit() -> None:
    check_steps({"east": TRACE}, MOST_STEPS)
    with pytest.raises(click.BadParameter, match="the rate of east changes more than"):
        check_steps({"east": TRACE}, MOST_STEPS * 1.1)


def test_tuples_per_second_are_limited_where_each_is_simulated() -> None:
    check_rate(MOST_RATE, "event")
    check_rate(MOST_RATE * 2, "fluid")
    with pytest.raises(click.BadParameter, match="tuples arrive per second, but mode event simulates at most"):
        check_rate(MOST_RATE * 1.1, "event")


def test_capacities_and_tables_are_limited() -> None:
    check_size(np.array([1.0, MOST_CAPACITY]), MOST_FIGURES / 2)
    with pytest.raises(click.BadParameter, match="the capacity of node 1 is"):
        check_size(np.array([1.0, MOST_CAPACITY * 2]), 10.0)
    with pytest.raises(click.BadParameter, match="the capacity of node 0 is"):
        check_size(np.array([1e-10]), 10.0)
    with pytest.raises(click.BadParameter, match=r"2 nodes for .* need more than"):
        check_size(np.ones(2), MOST_FIGURES)
