from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drover.web.thinning import interval_means, intervals_of, thin

VALUES = st.lists(st.floats(0, 1e6) | st.just(float("nan")), min_size=1, max_size=200)


@given(values=VALUES, most=st.integers(1, 40), data=st.data())
def test_thinning_loses_no_peak(values: list[float], most: int, data: st.DataObject) -> None:
    size = len(values)
    lengths = data.draw(st.lists(st.floats(0.01, 100), min_size=size, max_size=size))
    times = np.cumsum(lengths)
    series = np.array(values)
    found = thin(times, series, most)
    known = series[np.isfinite(series)]
    assert len(found.times) <= most or size <= most
    assert len(found.times) == len(found.low) == len(found.mean) == len(found.high) == len(found.interval)
    assert (np.diff(found.times) > 0).all()
    assert bool(len(found.times)) == bool(len(known))
    if len(known):
        assert (found.low.min(), found.high.max()) == (known.min(), known.max())
        assert (found.low <= found.mean * (1 + 1e-12)).all()
        assert (found.mean <= found.high * (1 + 1e-12)).all()


@given(values=VALUES)
def test_a_short_series_is_kept_as_it_is(values: list[float]) -> None:
    times = np.arange(1.0, len(values) + 1)
    series = np.array(values)
    found = thin(times, series, len(values))
    known = np.isfinite(series)
    assert (found.mean == series[known]).all()
    assert (found.times == times[known]).all()


def test_intervals_are_equally_long() -> None:
    times = np.array([0.0, 1.0, 2.0, 3.0, 9.0, 10.0])
    assert intervals_of(times, 2).tolist() == [0, 0, 0, 0, 1, 1]
    assert intervals_of(times, 6).tolist() == [0, 1, 2, 3, 4, 5]


def test_an_interval_keeps_its_minimum_mean_maximum_and_last_moment() -> None:
    found = thin(np.array([1.0, 2.0, 3.0, 9.0]), np.array([4.0, np.nan, 8.0, 1.0]), 2)
    assert found.times.tolist() == [3.0, 9.0]
    assert (found.low.tolist(), found.mean.tolist(), found.high.tolist()) == ([4.0, 1.0], [6.0, 1.0], [8.0, 1.0])


def test_means_of_intervals_omit_unknown_values() -> None:
    times = np.array([1.0, 2.0, 3.0, 9.0])
    series = [np.array([4.0, np.nan, 8.0, 1.0]), np.array([1.0, 1.0, 1.0, np.nan])]
    (first, means), (last, last_means) = interval_means(times, series, 2)
    assert (first, means, last) == (3.0, [6.0, 1.0], 9.0)
    assert last_means[0] == 1.0
    assert np.isnan(last_means[1])
