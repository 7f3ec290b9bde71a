from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.web.axes import clock_ticks, log_ticks, spread, ticks


@given(top=st.floats(1e-9, 1e12))
def test_ticks_are_few_and_reach_the_top(top: float) -> None:
    found = ticks(top)
    assert found[0] == 0
    assert found[-1] >= top * (1 - 1e-6)
    assert 2 <= len(found) <= 7
    assert len(set(found)) == len(found)


@given(low=st.floats(1e-9, 1e6), factor=st.floats(1, 1e9))
def test_ticks_of_a_logarithm_are_few_powers_of_ten_around_the_values(low: float, factor: float) -> None:
    found = log_ticks(low, low * factor)
    assert found[0] <= low * (1 + 1e-9)
    assert found[-1] >= low * factor * (1 - 1e-9)
    assert 2 <= len(found) <= 10
    assert all(f"{tick:.0e}".startswith("1e") for tick in found)


def test_ticks_of_one_value_still_span_a_decade() -> None:
    assert log_ticks(1.0, 1.0) == (1.0, 10.0)


@given(end=st.floats(0.1, 1e8))
def test_ticks_of_time_are_few_and_within(end: float) -> None:
    found = clock_ticks(end)
    assert found[0] == 0
    assert 1 <= len(found) <= 10
    assert found[-1] <= end


@pytest.mark.parametrize(
    ("end", "step"),
    [
        pytest.param(7, 1, id="seconds"),
        pytest.param(3600, 600, id="minutes"),
        pytest.param(86_400 * 20, 86_400 * 3, id="days"),
    ],
)
def test_ticks_of_time_are_round(end: float, step: float) -> None:
    first, second, *_ = clock_ticks(end)
    assert second - first == step


@given(wanted=st.lists(st.floats(-20, 120), max_size=9), apart=st.floats(0.5, 10))
def test_labels_are_spread_in_order_apart_and_within(wanted: list[float], apart: float) -> None:
    found = spread(sorted(wanted), apart, 0.0, 100.0)
    assert len(found) == len(wanted)
    assert all(later - earlier >= apart - 1e-9 for earlier, later in pairwise(found))
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in found)


@given(wanted=st.lists(st.integers(0, 10), max_size=9, unique=True))
def test_labels_that_do_not_touch_stay(wanted: list[int]) -> None:
    assert spread(sorted(wanted), 1.0, 0.0, 10.0) == tuple(sorted(wanted))
