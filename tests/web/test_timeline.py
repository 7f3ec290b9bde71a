from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.record import Kind, Record
from drover.web.report.axes import clock_ticks, spread, ticks
from drover.web.report.timeline import thin, timeline_of
from tests.web.made import PERIODS, record, records

VALUES = st.lists(st.floats(0, 1e6) | st.just(float("nan")), min_size=1, max_size=200)


@given(values=VALUES, most=st.integers(1, 40), data=st.data())
def test_thinning_loses_no_peak(values: list[float], most: int, data: st.DataObject) -> None:
    size = len(values)
    lengths = data.draw(st.lists(st.floats(0.01, 100), min_size=size, max_size=size))
    ends, series = np.cumsum(lengths), np.array(values)
    found = thin(ends, series, most)
    known = series[np.isfinite(series)]
    assert len(found.at) <= most or size <= most
    assert len(found.at) == len(found.low) == len(found.mean) == len(found.high) == len(found.column)
    assert (np.diff(found.at) > 0).all()
    assert bool(len(found.at)) == bool(len(known))
    if len(known):
        assert (found.low.min(), found.high.max()) == (known.min(), known.max())
        assert (found.low <= found.mean * (1 + 1e-12)).all()
        assert (found.mean <= found.high * (1 + 1e-12)).all()


@given(values=VALUES)
def test_a_short_series_is_kept_as_it_is(values: list[float]) -> None:
    ends, series = np.arange(1.0, len(values) + 1), np.array(values)
    found, known = thin(ends, series, len(values)), np.isfinite(series)
    assert (found.mean == series[known]).all()
    assert (found.at == ends[known]).all()


def test_time_is_periods_end_to_end() -> None:
    line = timeline_of(records())
    assert len(line.periods) == PERIODS
    assert line.ends[:2] == pytest.approx([2.01, 2.01 + 2.02])
    assert line.at(2) == pytest.approx(4.03)
    assert line.at(0) == 0.0
    assert line.total("rows") == sum(range(1001, 1013))


def test_a_period_without_rows_has_no_replication() -> None:
    idle = replace(record(2), figures={**record(2).figures, "replication": 0.0})
    assert timeline_of([record(1), idle]).mean("replication") == pytest.approx(1.01)


def test_an_approval_is_no_period() -> None:
    approval = Record(2, Kind.MOVED, "approved", (0.1,), 1)
    assert timeline_of([record(1), record(2), approval]).periods.tolist() == [1, 2]


def test_a_node_that_was_not_there_has_no_load() -> None:
    few = Record(3, Kind.STEADY, "", (0.7,), 1, figures={"seconds": 1.0})
    loads = timeline_of([record(1), few]).loads
    assert loads.shape == (2, 3)
    assert loads[1, 0] == 0.7
    assert np.isnan(loads[1, 1:]).all()


def test_no_records_are_an_empty_timeline() -> None:
    line = timeline_of([])
    assert (line.seconds, line.nodes, line.total("rows"), line.mean("replication")) == (0.0, 0, 0.0, 0.0)


@given(top=st.floats(1e-9, 1e12))
def test_ticks_are_few_and_reach_the_top(top: float) -> None:
    found = ticks(top)
    assert found[0] == 0
    assert found[-1] >= top * (1 - 1e-6)
    assert 2 <= len(found) <= 7
    assert len(set(found)) == len(found)


@given(end=st.floats(0.1, 1e8))
def test_ticks_of_time_are_few_and_within(end: float) -> None:
    found = clock_ticks(0.0, end)
    assert 1 <= len(found) <= 10
    assert found[-1] <= end


@given(wishes=st.lists(st.floats(-20, 120), max_size=9), apart=st.floats(0.5, 10))
def test_words_are_spread_in_order_apart_and_within(wishes: list[float], apart: float) -> None:
    found = spread(sorted(wishes), apart, 0.0, 100.0)
    assert len(found) == len(wishes)
    assert all(later - earlier >= apart - 1e-9 for earlier, later in pairwise(found))
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in found)


@given(wishes=st.lists(st.integers(0, 10), max_size=9, unique=True))
def test_words_that_do_not_touch_stay(wishes: list[int]) -> None:
    assert spread(sorted(wishes), 1.0, 0.0, 10.0) == tuple(sorted(wishes))
