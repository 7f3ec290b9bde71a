"""Partial aggregates: merged from any pieces, they are what all rows at once give."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from drover.flow.operators.partials import BUILDERS, make_partial
from drover.network.expressions import aggregate_to_polars, parse_aggregate
from drover.network.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, DataType, polars_type

EDGES: dict[DataType, st.SearchStrategy[Any]] = {  # Any: cells of every type
    INT: st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.one_of(st.integers(-5, 5), st.sampled_from([2**63 - 1, -(2**63), 2**32, -(2**32)])),
    DOUBLE: st.one_of(
        st.integers(-800, 800).map(lambda n: n / 8), st.sampled_from([-0.0, math.nan, math.inf, -math.inf])
    ),
    FLOAT: st.integers(-800, 800).map(lambda n: n / 8),
    STRING: st.text("aäb", max_size=2),
    BOOLEAN: st.booleans(),
}
NUMBERS = (INT, BIGINT, DOUBLE, FLOAT)
CASES = [
    pytest.param(function, kind, id=f"{function} of {kind}")
    for function in BUILDERS
    for kind in (NUMBERS if function in ("sum", "avg", "stddev", "variance") else EDGES)
]


@pytest.mark.parametrize(("function", "kind"), CASES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_pieces_merge_into_the_whole(function: str, kind: DataType, data: st.DataObject) -> None:
    cells = st.tuples(st.integers(0, 2), st.integers(0, 5), st.none() | EDGES[kind], st.integers(0, 3))
    drawn = data.draw(st.lists(cells, min_size=1, max_size=25))
    schema = {"g": pl.Int64(), "ts": pl.Int64(), "x": polars_type(kind), "piece": pl.Int64()}
    rows = pl.DataFrame(drawn, schema=schema, orient="row").with_columns(pl.col("ts").cast(polars_type(TIMESTAMP)))
    call = parse_aggregate(f"{function}(x)", {"ts": TIMESTAMP, "x": kind})
    partial = make_partial(call, "ts", "p.")
    made = rows.group_by("g", "piece").agg(expr.alias(name) for name, expr in partial.make.items())
    for _ in range(2):  # merging what is merged changes nothing
        made = made.group_by("g").agg(expr.alias(name) for name, expr in partial.merge.items())
    found = made.select("g", partial.finish.cast(polars_type(call.type)).alias("y"))
    expected = rows.group_by("g").agg(aggregate_to_polars(call, "ts").cast(polars_type(call.type)).alias("y"))
    assert_frame_equal(found, expected, check_row_order=False, rel_tol=1e-9, abs_tol=1e-9)


def test_rows_are_counted_whatever_they_hold() -> None:
    partial = make_partial(parse_aggregate("count(*)", {"x": INT}), "ts", "p.")
    rows = pl.DataFrame({"g": [1, 1, 2], "x": [None, None, 3]})
    made = rows.group_by("g").agg(expr.alias(name) for name, expr in partial.make.items())
    assert sorted(made.select("g", partial.finish.alias("n")).rows()) == [(1, 2), (2, 1)]
