from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import DroverError
from drover.experiments.summary import bins, means, numbers_of, rank_correlation, values_of
from drover.experiments.table import Experiment, Grid, Panel, Value, complete, tabulate, version
from tests.experiments.toy import TOY

NAMES = st.text("abcdef", min_size=1, max_size=3)
VALUES = st.one_of(st.integers(-9, 9), st.floats(-1, 1), st.sampled_from(["x", "y", "z"]))


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    cut = draw(st.integers(0, len(names)))
    vary = {name: tuple(draw(st.lists(VALUES, min_size=1, max_size=3, unique=True))) for name in names[:cut]}
    return Grid(vary, {name: draw(VALUES) for name in names[cut:]}, draw(st.integers(1, 3)), draw(st.integers(0, 9)))


@given(grid=grids(), seeds=st.one_of(st.none(), st.integers(1, 4)))
def test_a_grid_is_every_combination_once_for_every_seed(grid: Grid, seeds: int | None) -> None:
    rows = list(grid.rows(seeds))
    count = grid.seeds if seeds is None else seeds
    assert len(rows) == count * math.prod(map(len, grid.vary.values()))
    assert len({tuple(map(repr, row.items())) for row in rows}) == len(rows)
    assert [row["seed"] for row in rows] == sorted(row["seed"] for row in rows)
    for row in rows:
        assert set(row) == {*grid.vary, *grid.base, "seed"}
        assert all(row[name] == value for name, value in grid.base.items())
        assert all(row[name] in values for name, values in grid.vary.items())


@given(grid=grids(), fewer=st.integers(1, 3))
def test_fewer_seeds_are_the_first_rows_of_more(grid: Grid, fewer: int) -> None:
    assert list(grid.rows(fewer)) == list(grid.rows(fewer + 2))[: len(list(grid.rows(fewer)))]


def test_a_result_carries_what_went_in_and_where_it_is_from() -> None:
    row = complete(TOY, {"size": 2.0, "factor": 3, "seed": 4}, {"drawn": 0.5, "product": 6.0})
    assert row == {
        "experiment": "X-fig1", "size": 2.0, "factor": 3, "seed": 4, "product": 6.0, "drawn": 0.5, "version": version(),
    }  # fmt: skip
    assert list(row)[4:6] == list(TOY.columns)


@pytest.mark.parametrize("found", [{"product": 1.0}, {"product": 1.0, "drawn": 0.1, "more": 2}], ids=["less", "more"])
def test_a_row_that_measures_something_else_is_refused(found: dict[str, Value]) -> None:
    with pytest.raises(DroverError, match=r"X-fig1 gave .* but its columns are .*'drawn', 'product'"):
        complete(TOY, {"seed": 1}, found)


def test_whole_numbers_and_others_share_a_column() -> None:
    table = tabulate([{"x": 1, "y": 2.5}, {"x": 0.5, "y": math.nan}])
    assert table["x"].to_list() == [1.0, 0.5]


def test_what_cannot_be_judged_does_not_hold() -> None:
    verdicts = {verdict.claim: verdict for verdict in TOY.judge(tabulate([{"factor": 3, "product": 3.0}]))}
    assert (verdicts["larger"].holds, verdicts["larger"].judged) == (True, True)
    assert (verdicts["smaller"].holds, verdicts["smaller"].judged) == (False, True)
    assert (verdicts["unknown"].holds, verdicts["unknown"].judged) == (False, False)
    assert verdicts["unknown"].measured == "not judged: nine was not run"


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


def test_an_experiment_is_data() -> None:
    assert isinstance(replace(TOY, name="X-fig2"), Experiment)
    assert len(TOY.rows()) == 31
    assert len(TOY.rows(quick=True, seeds=1)) == 2
