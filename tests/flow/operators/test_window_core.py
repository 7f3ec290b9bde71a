"""The core of windows: merged first or not, windows have the same bytes in the same order."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.flow.operators.aggregate import START, tag_windows
from drover.flow.operators.base import Watermarks
from drover.flow.operators.panes import PANE
from drover.flow.operators.window_core import core_pays, merge_core
from drover.network.operators import Aggregate

MERGES = [pl.col("n").sum(), pl.col("v").max()]
SCHEMA = {PANE: pl.Int64(), "k": pl.String(), "d": pl.Float64(), "n": pl.Int64(), "v": pl.String()}
ROWS = st.tuples(
    st.integers(-4, 16).map(lambda pane: 5 * pane),
    st.none() | st.sampled_from("abc"),
    st.none() | st.sampled_from([0.0, -0.0, 1.0]),
    st.integers(-3, 2**62),
    st.none() | st.sampled_from("xyz"),
)


def windows_of(size: int, advance: int, *group_by: str) -> Aggregate:
    return Aggregate(name="out", input="s", size=size, advance=advance, compute=(), group_by=group_by)


def merged_windows(operator: Aggregate, panes: pl.DataFrame, clock: Watermarks) -> str:
    tagged = tag_windows(operator, panes, clock, 5)
    if tagged is None:
        return "none"
    return repr(tagged.group_by(START, *operator.group_by, maintain_order=True).agg(MERGES).rows())


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=80),
    windows=st.sampled_from([(40, 5), (35, 10), (60, 5), (20, 20), (25, 5)]),
    late=st.integers(-30, 60),
    ahead=st.integers(0, 30),
    groups=st.sampled_from([(), ("k",), ("k", "d"), ("d",)]),
)
def test_windows_are_the_same(
    rows: list[tuple[object, ...]], windows: tuple[int, int], late: int, ahead: int, groups: tuple[str, ...]
) -> None:
    operator = windows_of(*windows, *groups)
    panes = pl.DataFrame(rows, schema=SCHEMA, orient="row").select(PANE, *groups, "n", "v")
    clock = Watermarks(late, late + ahead)
    first = (late - operator.size) // operator.advance * operator.advance + operator.advance + operator.size
    ends = range(first, late + ahead + 1, operator.advance)
    if ends:
        core_first = merge_core(operator, panes, ends, 5, MERGES)
        assert core_first.schema == panes.schema
        assert merged_windows(operator, core_first, clock) == merged_windows(operator, panes, clock)


EVERYWHERE = [(5 * pane, key) for pane in range(14) for key in "abc"]


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        # Windows end at 60 and 65. The panes from 5 to 55 become one, those at 0 and 60 stay, and the one at 65 goes.
        pytest.param(EVERYWHERE, 3 * 3, id="groups that come back are merged"),
        pytest.param(
            [(pane, f"{pane}") for pane, _ in EVERYWHERE], 3 * 14, id="those that do not are left as they are"
        ),
    ],
)
def test_how_many_rows_are_left(rows: list[tuple[int, str]], left: int) -> None:
    panes = pl.DataFrame(rows, schema={PANE: pl.Int64(), "k": pl.String()}, orient="row")
    merged = merge_core(windows_of(60, 5, "k"), panes.with_columns(n=1, v=pl.lit("x")), range(60, 66, 5), 5, MERGES)
    assert merged.height == left
    assert merged.filter(pl.col(PANE) == 5)["n"].to_list() == ([11] * 3 if left == 9 else [1] * 3)


@pytest.mark.parametrize(
    ("windows", "closing", "pays"),
    [
        pytest.param((60, 5, "k"), 1, False, id="one window has nothing in common with another"),
        pytest.param((60, 5, "k"), 2, True, id="two that overlap"),
        pytest.param((60, 5, "k"), 9, True, id="many that overlap"),
        pytest.param((60, 5, "k"), 14, False, id="the first ends before the last starts"),
        pytest.param((60, 60, "k"), 2, False, id="windows side by side"),
        pytest.param((10, 5, "k"), 2, False, id="too few panes to gain"),
        pytest.param((60, 5), 2, False, id="without groups there are few rows"),
    ],
)
def test_when_it_pays(windows: tuple[int, int] | tuple[int, int, str], closing: int, pays: bool) -> None:
    operator = windows_of(*windows)
    assert core_pays(operator, range(0, closing * operator.advance, operator.advance), 5) is pays
