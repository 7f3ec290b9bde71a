"""From the typed tree to both engines: names of columns, types of literals, and one builder per call."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from drover.network.expressions import ColumnRef, Literal, parse, parse_pair, to_polars, to_spark
from drover.network.expressions.tree import Value
from drover.network.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    decimal,
    polars_type,
)

NOON = dt.datetime.fromisoformat("2024-02-29 12:00")


@pytest.mark.parametrize(
    ("column", "polars", "spark"),
    [
        pytest.param(ColumnRef(INT, "x"), "x", "`x`", id="of one input"),
        pytest.param(ColumnRef(INT, "x", "left"), "left.x", "`left`.`x`", id="of a side"),
        pytest.param(ColumnRef(INT, "a`b"), "a`b", "`a``b`", id="with a backtick"),
    ],
)
def test_columns(column: ColumnRef, polars: str, spark: str) -> None:
    assert to_polars(column).meta.root_names() == [polars]
    assert to_spark(column) == spark


def test_the_caller_may_name_columns() -> None:
    tree = parse_pair("left.x < right.x", {"x": INT}, {"x": INT})
    assert to_polars(tree, lambda side, name: f"{side[0]}_{name}").meta.root_names() == ["l_x", "r_x"]
    assert to_spark(tree, lambda side, name: f"{side[0]}.{name}") == "(l.x < r.x)"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        pytest.param("x + 1", "TRY_ADD(`x`, (1))", id="a call"),
        pytest.param("abs(x) > 2", "(TRY_CAST(ABS(CAST(`x` AS BIGINT)) AS int) > (2))", id="calls within calls"),
        pytest.param("CAST(x AS DOUBLE)", "TRY_CAST(`x` AS double)", id="a cast"),
        pytest.param("x + y", "TRY_ADD(TRY_CAST(`x` AS bigint), `y`)", id="a cast that nobody wrote"),
    ],
)
def test_spark_sql(text: str, sql: str) -> None:
    assert to_spark(parse(text, {"x": INT, "y": BIGINT})) == sql


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (TINYINT, 1),
        (BIGINT, 1),
        (FLOAT, 0.5),
        (DOUBLE, 0.5),
        (BOOLEAN, False),
        (STRING, "a"),
        (DATE, NOON.date()),
        (TIMESTAMP, NOON),
        (TIMESTAMP_NTZ, NOON),
        (BINARY, None),
        (TIMESTAMP, None),
        (decimal(10, 2), None),
    ],
    ids=str,
)
def test_a_literal_has_exactly_its_type_in_polars(data_type: DataType, value: Value) -> None:
    found = pl.select(to_polars(Literal(data_type, value)).alias("x"))["x"]
    assert found.dtype == polars_type(data_type)
    expected = NOON.replace(tzinfo=dt.UTC) if data_type == TIMESTAMP and value else value
    assert found[0] == expected
