from __future__ import annotations

import math
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover_lab.summary import bins, means, numbers_of, rank_correlation, values_of
from drover_lab.table import Panel, tabulate


def test_means_leave_out_what_could_not_be_measured() -> None:
    rows = pl.DataFrame({"x": [1, 1, 1, 2], "line": ["a"] * 4, "y": [1.0, 3.0, math.nan, math.inf]})
    found = means(rows, Panel(x="x", y="y", line="line"))
    assert found.rows() == [("a", 1, 2.0, pytest.approx(1.0), 2)]


def test_order_of_values() -> None:
    rows = pl.DataFrame({"x": [3, 1, 3, 2]})
    assert (values_of(rows, "x"), numbers_of(rows, "x")) == ([3, 1, 2], [1.0, 2.0, 3.0])


@given(x=st.lists(st.integers(-50, 50), min_size=2, max_size=30, unique=True))
def test_rank_correlation_sees_order_alone(x: list[float]) -> None:
    assert rank_correlation(x, [math.exp(value / 10) for value in x]) == pytest.approx(1)
    assert rank_correlation(x, [-value for value in x]) == pytest.approx(-1)
    assert math.isnan(rank_correlation(x, [1.0] * len(x)))


@given(x=st.lists(st.floats(-1, 1), min_size=1, max_size=40), count=st.integers(1, 10))
def test_bins_are_of_one_size_and_rise(x: list[float], count: int) -> None:
    array = tabulate([{"x": value} for value in x])["x"].to_numpy()
    found = bins(array, count)
    assert sorted(index for part in found for index in part) == list(range(len(x)))
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert all(array[one].max() <= array[other].min() for one, other in pairwise(found))
