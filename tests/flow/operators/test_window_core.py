"""The core of windows: merged first or not, windows have the same bytes in the same order."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from drover.flow.operators import aggregate
from drover.flow.operators.aggregate import START, tag_windows
from drover.flow.operators.base import Watermarks
from drover.flow.operators.panes import PANE
from drover.flow.operators.window_core import LEAST_SAVED, core_pays, merge_core
from drover.network.operators import Aggregate
from tests.flow.operators.batches import SmallBatches, one_source

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
    closing=st.integers(1, 6),
    groups=st.sampled_from([("k",), ("k", "d"), ("d",)]),
)
def test_windows_are_the_same(
    rows: list[tuple[object, ...]], windows: tuple[int, int], late: int, closing: int, groups: tuple[str, ...]
) -> None:
    operator = windows_of(*windows, *groups)
    assume((closing - 1) * operator.advance < operator.size)
    panes = pl.DataFrame(rows, schema=SCHEMA, orient="row").select(PANE, *groups, "n", "v")
    first = (late - operator.size) // operator.advance * operator.advance + operator.advance + operator.size
    ends = range(first, first + closing * operator.advance, operator.advance)
    merged = merge_core(operator, panes, ends, MERGES)
    assert merged.schema == panes.schema
    clock = Watermarks(late, ends[-1])
    assert merged_windows(operator, merged, clock) == merged_windows(operator, panes, clock)


def test_the_core_is_one_pane() -> None:
    rows = [(5 * pane, key) for pane in range(14) for key in "abc"]
    panes = pl.DataFrame(rows, schema={PANE: pl.Int64(), "k": pl.String()}, orient="row").with_columns(n=1, v=1)
    # Windows end at 60 and 65. The panes from 5 to 55 become one, those at 0 and 60 stay, and the one at 65 goes.
    merged = merge_core(windows_of(60, 5, "k"), panes, range(60, 66, 5), MERGES)
    assert merged.rows() == [(at, key, n, 1) for at, n in ((0, 1), (5, 11), (60, 1)) for key in "abc"]


MANY = LEAST_SAVED // 9  # groups; of each, two windows of 12 panes merge 24 rows, or 11 of the core and then 2 + 2


@pytest.mark.parametrize(
    ("windows", "closing", "groups", "pays"),
    [
        pytest.param((60, 5, "k"), 2, MANY + 1, True, id="two that overlap"),
        pytest.param((60, 5, "k"), 2, MANY - 1, False, id="few rows"),
        pytest.param((60, 5, "k"), 9, MANY, True, id="many that overlap"),
        pytest.param((60, 5, "k"), 1, MANY * 9, False, id="one window has nothing in common with another"),
        pytest.param((60, 5, "k"), 14, MANY * 9, False, id="the first ends before the last starts"),
        pytest.param((60, 60, "k"), 2, MANY * 9, False, id="windows side by side"),
        pytest.param((60, 5), 2, MANY * 9, False, id="no groups"),
    ],
)
def test_when_it_pays(windows: tuple[int, int] | tuple[int, int, str], closing: int, groups: int, pays: bool) -> None:
    operator = windows_of(*windows)
    ends = range(operator.size, operator.size + closing * operator.advance, operator.advance)
    times = range(0, ends[-1], 5)
    panes = pl.DataFrame({PANE: times}).join(pl.DataFrame({"k": range(groups)}), how="cross")
    assert core_pays(operator, panes, ends, 5) is pays
    changing = panes.with_columns(pl.col("k") * len(times) + pl.col(PANE) // 5)
    assert not core_pays(operator, changing, ends, 5), "no group comes back"


def test_an_aggregate_of_many_groups_gives_what_its_rows_give(monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[range] = []

    def noted(operator: Aggregate, panes: pl.DataFrame, ends: range, merges: list[pl.Expr]) -> pl.DataFrame:
        merged.append(ends)
        return merge_core(operator, panes, ends, merges)

    monkeypatch.setattr(aggregate, "merge_core", noted)
    compute = {"n": "count(*)", "total": "sum(v)", "least": "min(v)"}
    network = one_source(lambda s: s.aggregate("out", compute, size="12 s", advance="1 s", group_by="k"))
    worker = SmallBatches(network)
    rows = [(t, f"k{k}", k * t) for t in range(14) for k in range(MANY + 1)]
    worker.only(rows[len(rows) // 2 :], now=None)
    worker.only(rows[: len(rows) // 2], now=11)
    assert not merged, "many windows close, and most have few panes in common"
    found = worker.only([], late=11, now=13)
    assert merged == [range(12_000_000, 13_000_001, 1_000_000)]
    for start in (0, 1):
        times = range(start, start + 12)
        expected = {f"k{k}": (12, k * sum(times), k * start) for k in range(MANY + 1)}
        assert {row[3]: row[4:] for row in found if row[0] == start} == expected
    assert len(found) == 2 * (MANY + 1)
