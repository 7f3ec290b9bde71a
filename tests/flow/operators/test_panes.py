"""Pane tables: shared or alone, made or rolled up, they have the same bytes; and what they cost is divided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.flow.operators.panes import (
    PANE,
    PAYS,
    PaneKey,
    PaneNeeds,
    PaneTable,
    choose_source,
    divide_costs,
    make_tables,
    panes_of_rows,
    plan_tables,
)
from drover.flow.operators.partials import common_prefix, make_partial
from drover.network.expressions import parse_aggregate
from drover.network.types import BIGINT, DOUBLE, STRING, TIMESTAMP, polars_type

TYPES: Final = {"ts": TIMESTAMP, "k": STRING, "z": DOUBLE, "i": BIGINT, "x": DOUBLE}
SCHEMA: Final = {name: polars_type(kind) for name, kind in TYPES.items()}
FUNCTIONS: Final = ("count", "sum", "avg", "min", "max", "stddev", "variance", "first", "last")
TEXTS: Final = (
    "count(*)",
    "min(k)",
    "last(k)",
    "sum(i + 1)",
    *(f"{function}({name})" for function in FUNCTIONS for name in "ix"),
)
ODD: Final = st.sampled_from([0.0, -0.0, math.nan, 1.5, 1e16, -1e16, 0.1])


def needs(width: int, groups: Iterable[str], *texts: str) -> PaneNeeds:
    calls = [parse_aggregate(text, TYPES) for text in texts]
    partials = {common_prefix(call): make_partial(call, "ts", common_prefix(call)) for call in calls}
    return PaneNeeds(PaneKey(width, frozenset(groups)), partials)


def frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:  # Any: cells of every type
    cells = pl.DataFrame(rows, schema=SCHEMA | {"ts": pl.Int64()}, orient="row")
    return cells.with_columns(pl.col("ts").cast(SCHEMA["ts"]))


VALUES: Final = {"drover.x2": pl.col("x") * 2, "drover.k": pl.col("k") + "!", "drover.one": pl.lit(1)}
GROUPS: Final = st.lists(st.sampled_from(["k", "z", "i"]), max_size=3, unique=True)
SETS: Final = st.builds(
    lambda width, groups, name: PaneNeeds(PaneKey(width, frozenset([*groups, name])), values={name: VALUES[name]}),
    st.sampled_from([2, 4, 6, 12]),
    GROUPS,
    st.sampled_from(sorted(VALUES)),
)
NEEDS: Final = SETS | st.builds(
    lambda width, groups, texts: needs(width, groups, *texts),
    st.sampled_from([2, 4, 6, 12]),
    GROUPS,
    st.lists(st.sampled_from(TEXTS), max_size=3),
)
ROWS: Final = st.lists(
    st.tuples(
        st.integers(-15, 15),
        st.none() | st.sampled_from("ab"),
        st.none() | ODD,
        st.none() | st.sampled_from([1, 2, 2**63 - 1, -(2**63)]),
        st.none() | ODD,
    ),
    min_size=1,
    max_size=60,
).map(frame)


def bits(table: pl.DataFrame) -> str:
    """Return a text that tells 0.0 from -0.0, and shows every digit."""
    return repr((table.columns, table.dtypes, table.rows()))


def no_time() -> float:
    return 0.0


@settings(max_examples=200, deadline=None)
@given(rows=ROWS, wanted=st.lists(NEEDS, min_size=1, max_size=6))
def test_a_shared_table_has_the_bytes_of_one_alone(rows: pl.DataFrame, wanted: list[PaneNeeds]) -> None:
    tables = make_tables(rows, "ts", plan_tables(wanted), no_time)
    for one in wanted:
        alone = panes_of_rows(rows, "ts", one)
        assert bits(tables[one.key].panes.select(alone.columns)) == bits(alone)


@pytest.mark.parametrize("groups", [(), ("k",), ("k", "i")])
def test_a_sum_of_many_floats_does_not_depend_on_what_is_computed_beside_it(groups: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    n = 20_000  # with few rows, Polars always adds in the same order
    rows = pl.DataFrame(
        {
            "ts": pl.Series(np.sort(rng.integers(0, 20, n))).cast(SCHEMA["ts"]),
            "k": pl.Series(rng.integers(0, 3, n)).cast(pl.String),
            "i": rng.integers(0, 5, n),
            "x": rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n),
        }
    )
    for text in ("sum(x)", "avg(x)", "stddev(x)", "max(x)"):
        one = needs(10, groups, text)
        alone = panes_of_rows(rows, "ts", one)
        for others in (["count(*)"], ["first(i)", "stddev(x)", "min(x)"], ["variance(i)", "sum(x)", "last(x)"]):
            tables = make_tables(rows, "ts", plan_tables([needs(10, groups, *others), one]), no_time)
            assert bits(tables[one.key].panes.select(alone.columns)) == bits(alone), (text, others)


MANY: Final = frame([(i % 12, "ab"[i // 12 % 2], None, i // 24 % 3, i / 7) for i in range(240)])
FINE: Final = needs(2, ("k", "i"), "count(*)", "sum(i)")


@pytest.mark.parametrize(
    ("coarse", "rolled"),
    [
        pytest.param(needs(2, ("k",), "count(*)"), True, id="fewer groups"),
        pytest.param(
            needs(4, ("k", "i"), "avg(i)"), True, id="longer panes, and another function that stores the same"
        ),
        pytest.param(needs(2, (), "sum(i)"), True, id="no groups"),
        pytest.param(needs(2, ("k", "i"), "sum(x)"), None, id="the same key is the same table"),
        pytest.param(needs(3, ("k",), "count(*)"), False, id="panes that cut finer ones"),
        pytest.param(needs(2, ("z",), "count(*)"), False, id="another column"),
        pytest.param(needs(2, ("k",), "max(i)"), False, id="a column that the finer table lacks"),
        pytest.param(needs(2, ("k",), "sum(i)", "sum(x)"), False, id="a sum of floats beside one of whole numbers"),
    ],
)
def test_where_a_table_comes_from(coarse: PaneNeeds, rolled: bool | None) -> None:
    planned = plan_tables([coarse, FINE])
    tables = make_tables(MANY, "ts", planned, no_time)
    assert tables[FINE.key].source is None
    if rolled is not None:
        assert len(tables) == 2
        assert tables[coarse.key].source == (FINE.key if rolled else None)


@pytest.mark.parametrize(
    "text", ["sum(x)", "avg(x)", "stddev(x)", "min(x)", "max(x)", "stddev(i)", "first(k)", "last(i)"]
)
def test_what_depends_on_order_or_sorts_is_never_rolled_up(text: str) -> None:
    wanted = [needs(2, ("k", "i"), text), needs(2, ("k",), text)]
    assert all(table.source is None for table in make_tables(MANY, "ts", plan_tables(wanted), no_time).values())


def test_a_table_is_rolled_up_from_the_shortest() -> None:
    finest = needs(2, ("k", "i"), "count(*)")
    middle = needs(2, ("k",), "count(*)")
    coarse = needs(4, (), "count(*)")
    tables = make_tables(MANY, "ts", plan_tables([coarse, middle, finest]), no_time)
    assert list(tables) == [finest.key, middle.key, coarse.key]
    assert tables[coarse.key].source == middle.key


def test_values_to_count_are_rolled_up_like_groups() -> None:
    fine, coarse = (
        PaneNeeds(PaneKey(width, frozenset([*groups, "drover.i"])), values={"drover.i": pl.col("i") % 2})
        for width, groups in ((2, ["k"]), (4, []))
    )
    without = needs(4, ())
    tables = make_tables(MANY, "ts", plan_tables([without, coarse, fine]), no_time)
    assert [table.source for table in tables.values()] == [None, fine.key, coarse.key]
    assert tables[coarse.key].panes.select(PANE, "drover.i").rows() == [(at, i) for i in (0, 1) for at in (0, 4, 8)]
    assert tables[without.key].panes.rows() == [(0,), (4,), (8,)]


def test_a_table_as_long_as_the_rows_is_no_help() -> None:
    long = PaneTable(pl.DataFrame({PANE: range(10)}), frozenset(FINE.partials), None, 0.0)
    coarse = needs(4, ("k",), "count(*)")
    assert choose_source(coarse, {FINE.key: long}, 10) is None
    assert choose_source(coarse, {FINE.key: long}, math.ceil(10 / PAYS)) == FINE.key


def table(busy: float, source: PaneKey | None = None) -> PaneTable:
    return PaneTable(pl.DataFrame(), frozenset(), source, busy)


def test_the_cost_of_a_table_is_divided_among_all_it_serves() -> None:
    fine, coarse, other = (PaneKey(1, frozenset(groups)) for groups in ("ab", "a", "c"))
    tables = {fine: table(6.0), coarse: table(1.0, fine), other: table(5.0)}
    users = {"one": [fine], "two": [coarse], "three": [fine, coarse], "four": [other]}
    assert divide_costs(tables, users) == {"one": 2.0, "two": 2.5, "three": 2.5, "four": 5.0}


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, wanted=st.lists(NEEDS, min_size=1, max_size=6))
def test_shares_add_up_to_what_was_spent(rows: pl.DataFrame, wanted: list[PaneNeeds]) -> None:
    ticks = count()
    tables = make_tables(rows, "ts", plan_tables(wanted), lambda: float(next(ticks)))
    shares = divide_costs(tables, {str(i): [one.key] for i, one in enumerate(wanted)})
    assert math.isclose(sum(shares.values()), sum(each.busy for each in tables.values()))
    assert all(share > 0 for share in shares.values())
