from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import DroverError
from drover_lab.table import Experiment, ParameterGrid, Value, complete, tabulate, version
from tests.drover_lab.toy import TOY

NAMES = st.text("abcdef", min_size=1, max_size=3)
VALUES = st.one_of(st.integers(-9, 9), st.floats(-1, 1), st.sampled_from(["x", "y", "z"]))


@st.composite
def grids(draw: st.DrawFn) -> ParameterGrid:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    cut = draw(st.integers(0, len(names)))
    vary = {name: tuple(draw(st.lists(VALUES, min_size=1, max_size=3, unique=True))) for name in names[:cut]}
    return ParameterGrid(
        vary, {name: draw(VALUES) for name in names[cut:]}, draw(st.integers(1, 3)), draw(st.integers(0, 9))
    )


@given(grid=grids(), seeds=st.one_of(st.none(), st.integers(1, 4)))
def test_a_grid_is_every_combination_once_for_every_seed(grid: ParameterGrid, seeds: int | None) -> None:
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
def test_fewer_seeds_are_the_first_rows_of_more(grid: ParameterGrid, fewer: int) -> None:
    assert list(grid.rows(fewer)) == list(grid.rows(fewer + 2))[: len(list(grid.rows(fewer)))]


def test_a_result_carries_what_went_in_and_where_it_is_from() -> None:
    row = complete(TOY, {"size": 2.0, "factor": 3, "seed": 4}, {"drawn": 0.5, "product": 6.0})
    assert row == {
        "experiment": "X-fig1",
        "size": 2.0,
        "factor": 3,
        "seed": 4,
        "product": 6.0,
        "drawn": 0.5,
        "version": version(),
    }
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


def test_an_experiment_is_data() -> None:
    assert isinstance(replace(TOY, name="X-fig2"), Experiment)
    assert len(TOY.rows()) == 31
    assert len(TOY.rows(quick=True, seeds=1)) == 2
