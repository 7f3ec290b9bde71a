"""The parts of `python -m benchmarks peers` that run without Java.

The benchmark itself needs Flink's jars from PyPI and Maven Central, so it is not a part of these tests.
"""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peer_workloads import BAND_SQL, WIDTH, WORKLOADS, Workload, to_milliseconds


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_batches_have_their_rows_in_order_of_time_and_do_not_overlap(workload: Workload) -> None:
    before = 0
    for batch in range(3):
        frames = {
            name: to_milliseconds(frame, workload.last_time(batch)) for name, frame in workload.make(batch).items()
        }
        assert set(frames) == set(workload.types)
        assert sum(frame.height for frame in frames.values()) == workload.rows
        for frame in frames.values():
            times = frame["ts"].dt.epoch("us")
            assert times.is_sorted()
            assert (times % 1000 == 0).all()
            assert times.min() // 1000 > before  # type: ignore[operator] # a column of integers
            assert times.max() == 1000 * workload.last_time(batch)
        before = workload.last_time(batch)


def buckets_of_left(value: int) -> list[int]:
    """As the SQL says it: integer division rounds towards zero, in Flink and in Spark's `div`."""
    ends = [int((value - 2) / WIDTH), int((value + 2) / WIDTH)]
    return sorted(set(ends))


@given(left=st.integers(0, 100_000), distance=st.integers(-5, 5))
def test_rows_within_the_band_meet_in_exactly_one_bucket(left: int, distance: int) -> None:
    right = max(left + distance, 0)
    if abs(left - right) <= 2:
        assert buckets_of_left(left).count(right // WIDTH) == 1


def test_the_width_of_a_bucket_holds_a_band() -> None:
    assert WIDTH >= 5  # or a band could meet three buckets, and the SQL names two
    assert len(re.findall(rf"/ {WIDTH}\b", BAND_SQL)) == 5


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_times_of_a_file_are_stored_as_all_sides_read_them(workload: Workload) -> None:
    (frame, *_) = workload.make(0).values()
    assert to_milliseconds(frame, workload.last_time(0))["ts"].dtype == pl.Datetime("us", "UTC")
