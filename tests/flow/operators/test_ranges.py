"""Candidates by sorting: no pair is missing, and pieces are bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.flow.operators.ranges import CandidateRanges, Floats, Ints, by_band, by_time, count_by_time, pieces


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def pairs(found: CandidateRanges) -> set[tuple[int, int]]:
    """Return (probing row, candidate)."""
    listed = [(int(a), int(b)) for probe, rows in pieces(found, 3) for a, b in zip(probe, rows, strict=True)]
    assert len(set(listed)) == len(listed) == found.count
    return set(listed)


@pytest.mark.parametrize(
    ("times", "low", "high", "expected"),
    [
        pytest.param(ints(5, 1, 3), ints(1), ints(3), {(0, 1), (0, 2)}, id="both ends included"),
        pytest.param(ints(5, 1, 3), ints(2, 4), ints(2, 9), {(1, 0)}, id="a probe without candidates"),
        pytest.param(ints(), ints(1), ints(3), set(), id="no rows"),
        pytest.param(ints(1), ints(), ints(), set(), id="no probes"),
    ],
)
def test_by_time(times: Ints, low: Ints, high: Ints, expected: set[tuple[int, int]]) -> None:
    assert pairs(by_time(times, low, high)) == expected


@pytest.mark.parametrize(
    ("times", "keys", "expected"),
    [
        pytest.param(ints(12, 12, 12), floats(2, 4, 6), {0, 1}, id="keys in the band, both ends included"),
        pytest.param(ints(12, 25, 39, 40), floats(3, 3, 3, 3), {0, 1}, id="in a bucket that the probe touches"),
        pytest.param(ints(12, 12), floats(3, float("nan")), {0}, id="NULL is in no band"),
        pytest.param(ints(12), floats(float("inf")), set(), id="infinity is far away"),
        pytest.param(ints(10**18, 12), floats(3, 3), {1}, id="times far apart"),
    ],
)
def test_by_band(times: Ints, keys: Floats, expected: set[int]) -> None:
    # One probe from 18 s to 23 s, so in the buckets 10 to 19 and 20 to 29, with keys from 2 to 4.
    found = by_band(times, ints(18), ints(23), 10, keys, floats(2), floats(4))
    assert pairs(found) == {(0, row) for row in expected}


def test_a_probe_without_bounds_has_no_candidates() -> None:
    nan = floats(float("nan"))
    assert by_band(ints(1), ints(0), ints(2), 10, floats(3), nan, floats(4)).count == 0
    assert by_band(ints(1), ints(0), ints(2), 10, floats(3), floats(2), nan).count == 0


def test_few_candidates_where_a_band_is_narrow() -> None:
    rng = default_rng(0)
    times = rng.integers(0, 1000, 2000)
    keys = rng.random(2000) * 1000
    low = times - 500
    high = times + 500
    assert by_band(times, low, high, 1000, keys, keys - 1, keys + 1).count < by_time(times, low, high).count / 50


def test_pieces_are_bounded_and_leave_nothing_out() -> None:
    times = np.zeros(50, dtype=np.int64)
    stretches = by_time(times, times[:30], times[:30])
    found = list(pieces(stretches, 7))
    assert max(len(probe) for probe, _ in found) == 7
    pairs = [(int(a), int(b)) for probe, rows in found for a, b in zip(probe, rows, strict=True)]
    assert sorted(pairs) == [(a, b) for a in range(30) for b in range(50)]
    assert list(pieces(by_time(times[:0], times, times), 7)) == []


NUMBERS = st.sampled_from([-1e300, -2.5, -2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e300, math.inf, -math.inf, math.nan])
PROBES = st.tuples(st.integers(-60, 60), st.integers(0, 20), NUMBERS, NUMBERS)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-60, 60), NUMBERS), max_size=12),
    probes=st.lists(PROBES, max_size=12),
    apart=st.sampled_from([1, 10**12]),
)
def test_candidates_by_band_are_those_near_in_time_and_nothing_out_of_the_band(
    rows: list[tuple[int, float]], probes: list[tuple[int, int, float, float]], apart: int
) -> None:
    width = 20
    times = ints(*(at if at < 40 else at * apart for at, _ in rows))
    low = ints(*(at for at, *_ in probes))
    high = low + ints(*(length for _, length, *_ in probes))
    keys = floats(*(key for _, key in rows))
    least = floats(*(one for *_, one, _ in probes))
    most = floats(*(one for *_, one in probes))
    found = by_band(times, low, high, width, keys, least, most)
    within = {
        (p, r)
        for p in range(len(probes))
        for r in range(len(rows))
        if least[p] <= keys[r] <= most[p] and low[p] <= times[r] <= high[p]
    }
    listed = pairs(found)
    assert within <= listed
    slack = 1e-6 * np.maximum(*(np.where(np.isfinite(one), np.abs(one), 0) for one in (least, most)))
    for p, r in listed:
        assert least[p] - slack[p] <= keys[r] <= most[p] + slack[p]
        assert low[p] - width < times[r] < high[p] + width
    order = [(int(a), int(b)) for a, b in zip(*next(iter(pieces(found, 10**6)), ((), ())), strict=True)]
    assert [probe for probe, _ in order] == sorted(probe for probe, _ in order)


def test_candidates_by_time_are_estimated_from_a_sample() -> None:
    rng = default_rng(0)
    times = rng.integers(0, 1000, 3000)
    low = rng.integers(0, 1000, 2000)
    exact = by_time(times, low, low + 50).count
    assert abs(count_by_time(times, low, low + 50) - exact) < exact / 10
    assert count_by_time(times[:0], low, low) == count_by_time(times, low[:0], low[:0]) == 0
