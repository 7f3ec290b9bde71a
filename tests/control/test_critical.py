from __future__ import annotations

import math

import numpy as np
import pytest

from drover.control.critical import CriticalPathGain, compare_plans, critical_path, pressure, relative_loads

SERIES = np.array([[0.4, 0.2], [0.2, 0.6], [0.1, 0.1]])  # three units in two periods
CAPACITY = np.array([1.0, 0.5])
BEFORE = np.array([0, 0, 1])
AFTER = np.array([0, 1, 1])


def test_loads_are_sums_over_the_units_of_a_node_over_its_capacity() -> None:
    assert relative_loads(SERIES, BEFORE, CAPACITY) == pytest.approx(np.array([[0.6, 0.8], [0.2, 0.2]]))
    assert relative_loads(SERIES, AFTER, CAPACITY) == pytest.approx(np.array([[0.4, 0.2], [0.6, 1.4]]))


def test_the_critical_path_is_the_load_of_the_slowest_node() -> None:
    assert critical_path(SERIES, BEFORE, CAPACITY) == pytest.approx([0.6, 0.8])
    assert critical_path(SERIES, AFTER, CAPACITY) == pytest.approx([0.6, 1.4])


def test_pressure_weights_squared_loads_by_capacity() -> None:
    first = 1.0 * 0.6**2 + 0.5 * 0.2**2
    second = 1.0 * 0.8**2 + 0.5 * 0.2**2
    assert pressure(SERIES, BEFORE, CAPACITY) == pytest.approx((first + second) / 2)


def test_pressure_falls_where_the_critical_path_does_not() -> None:
    series = np.array([[0.9], [0.3], [0.3]])
    together = np.array([0, 1, 1])
    apart = np.array([0, 1, 2])
    one = np.ones(3)
    assert critical_path(series, together, one) == pytest.approx(critical_path(series, apart, one))
    assert pressure(series, apart, one) < pressure(series, together, one)


def test_a_gain_is_the_mean_saving_with_its_standard_error() -> None:
    series = np.array([[0.5, 0.5], [0.2, 0.4]])
    gain = compare_plans(series, np.array([0, 0]), np.array([0, 1]), np.ones(2))
    assert gain.mean == pytest.approx(0.3)
    assert gain.before == pytest.approx(0.8)
    assert gain.error == pytest.approx(np.std([0.2, 0.4], ddof=1) / math.sqrt(2))
    assert gain.share == pytest.approx(0.375)


def test_the_scatter_may_come_from_more_periods() -> None:
    noise = np.array([[0.5, 0.5, 0.5, 0.5], [0.2, 0.4, 0.2, 0.4]])
    gain = compare_plans(noise[:, :1], np.array([0, 0]), np.array([0, 1]), np.ones(2), noise=noise)
    assert gain.mean == pytest.approx(0.2)
    assert gain.error == pytest.approx(np.std([0.2, 0.4, 0.2, 0.4], ddof=1))


def test_one_period_alone_says_nothing_for_certain() -> None:
    gain = compare_plans(SERIES[:, :1], AFTER, BEFORE, CAPACITY)
    assert gain.error == math.inf
    assert not gain.certain(0.1)


@pytest.mark.parametrize(
    ("gain", "errors", "certain"),
    [
        pytest.param(CriticalPathGain(0.5, 0.1, 1.0), 4.0, True, id="five standard errors"),
        pytest.param(CriticalPathGain(0.4, 0.1, 1.0), 4.0, False, id="just four"),
        pytest.param(CriticalPathGain(0.0, 0.0, 1.0), 0.0, False, id="no gain"),
    ],
)
def test_certain(gain: CriticalPathGain, errors: float, certain: bool) -> None:
    assert gain.certain(errors) is certain


def test_there_is_nothing_to_save_without_load() -> None:
    assert CriticalPathGain(0.0, 0.0, 0.0).share == 0.0


def test_a_share_of_a_small_load_is_a_share() -> None:
    assert CriticalPathGain(0.1, 0.0, 0.5).share == 0.2
