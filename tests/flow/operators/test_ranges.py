"""Candidates by sorting: no pair is missing, and pieces are bounded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.flow.operators.ranges import CandidateRanges, Floats, Ints, by_band, by_time, pieces


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
