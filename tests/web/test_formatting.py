from __future__ import annotations

import math

import pytest

from drover.web.formatting import Format, clock, duration, finite, number, percent, seconds, size


@pytest.mark.parametrize("format_", [number, percent, seconds, size])
@pytest.mark.parametrize("unknown", [None, math.nan])
def test_an_unknown_value_is_a_dash(format_: Format, unknown: float | None) -> None:
    assert format_(unknown) == "-"


@pytest.mark.parametrize(
    ("format_", "value", "text"),
    [
        pytest.param(number, 99.96, "100", id="three digits"),
        pytest.param(number, -1234.5, "-1,234", id="thousands"),
        pytest.param(number, math.inf, "no limit", id="no limit"),
        pytest.param(percent, 0.9994, "99.9 %", id="below all"),
        pytest.param(percent, 0.9996, "100 %", id="nearly all"),
        pytest.param(percent, 0.0099, "0.99 %", id="below one percent"),
        pytest.param(seconds, 0.9994, "999 ms", id="milliseconds"),
        pytest.param(seconds, 90.0, "90 s", id="seconds"),
        pytest.param(size, 1, "1 byte", id="one byte"),
        pytest.param(size, 1000, "1 kB", id="one kilobyte"),
        pytest.param(size, 1e16, "10,000 TB", id="beyond the largest unit"),
    ],
)
def test_numbers(format_: Format, value: float, text: str) -> None:
    assert format_(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 s"), (59.6, "1 min"), (3601, "1 h"), (7260, "2 h 1 min")])
def test_durations_have_two_units(value: float, text: str) -> None:
    assert duration(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0:00"), (59.94, "0:59.9"), (61.5, "1:01"), (36_000, "10:00:00")])
def test_clocks(value: float, text: str) -> None:
    assert clock(value) == text


def test_json_has_no_infinity() -> None:
    assert [finite(each) for each in (1.5, math.inf, math.nan)] == [1.5, None, None]
