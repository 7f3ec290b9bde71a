"""Constants: how their text is read, and how Spark SQL is written that means exactly them."""

from __future__ import annotations

import datetime as dt
from typing import Final

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import Literal, parse
from drover.network.expressions.literals import integer_literal, micros, quote, quote_name, spark_literal
from drover.network.expressions.tree import Value
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
)
from tests.network.expressions import refusals
from tests.network.expressions.refusals import Refusal

clock: Final = dt.datetime.fromisoformat  # literals carry no zone
REFUSALS: Final[tuple[Refusal, ...]] = (
    ("99999999999999999999", "must fit into a bigint", "double"),
    ("1e999", "largest double", "Infinity"),
    ("DATE '2023-02-29'", "a date is written yyyy-MM-dd", "DATE '2024-02-29'"),
    ("TIMESTAMP 'noon'", "a timestamp is written", "TIMESTAMP '2024-02-29"),
    ("DATE '0000-01-01'", "years 0001 to 9999", "DATE '2024-02-29'"),
    ("TIMESTAMP '2024-02-29 24:00:00'", "a timestamp is written", "TIMESTAMP '2024-02-29"),
    ("TIMESTAMP_NTZ '2024-02-29 12:00Z'", "a timestamp_ntz is written", "TIMESTAMP '2024-02-29"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        pytest.param("2147483647", INT, 2147483647, id="the largest int"),
        pytest.param("2147483648", BIGINT, 2147483648, id="one more is a bigint"),
        pytest.param("1.5", DOUBLE, 1.5, id="a point makes a double"),
        pytest.param("1e3", DOUBLE, 1000.0, id="so does an exponent"),
        pytest.param(".5", DOUBLE, 0.5, id="nothing before the point"),
        pytest.param("DATE ' 2024-02-29 '", DATE, dt.date(2024, 2, 29), id="blanks around a date"),
        pytest.param("TIMESTAMP '2024-02-29'", TIMESTAMP, clock("2024-02-29"), id="a timestamp at midnight"),
        pytest.param("TIMESTAMP '2024-02-29 12:30Z'", TIMESTAMP, clock("2024-02-29 12:30"), id="Z is UTC"),
        pytest.param("TIMESTAMP '2024-02-29T12:30:45.5'", TIMESTAMP, clock("2024-02-29 12:30:45.500"), id="a fraction"),
        pytest.param("TIMESTAMP_NTZ '0001-01-01'", TIMESTAMP_NTZ, clock("0001-01-01"), id="the first day"),
    ],
)
def test_reading(text: str, data_type: DataType, value: Value) -> None:
    assert parse(text, {}) == Literal(data_type, value)


@pytest.mark.parametrize(
    ("data_type", "value", "sql"),
    [
        pytest.param(BOOLEAN, True, "TRUE", id="a boolean"),
        pytest.param(TINYINT, -1, "(-1Y)", id="a tinyint"),
        pytest.param(SMALLINT, 2, "(2S)", id="a smallint"),
        pytest.param(INT, -3, "(-3)", id="an int"),
        pytest.param(BIGINT, 4, "(4L)", id="a bigint"),
        pytest.param(FLOAT, 0.5, "(0.5F)", id="a float"),
        pytest.param(DOUBLE, 1e300, "(1e+300D)", id="a double"),
        pytest.param(STRING, "a b", "'a b'", id="a string"),
        pytest.param(DATE, dt.date(1, 2, 3), "DATE'0001-02-03'", id="a date"),
        pytest.param(TIMESTAMP, clock("1970-01-01 00:00:01"), "TIMESTAMP_MICROS(1000000L)", id="a timestamp"),
        pytest.param(
            TIMESTAMP_NTZ,
            clock("1970-01-01 00:00:01"),
            "TIMESTAMP_NTZ'1970-01-01 00:00:01.000000'",
            id="without a zone",
        ),
        pytest.param(STRING, None, "CAST(NULL AS string)", id="NULL has its type"),
    ],
)
def test_writing(data_type: DataType, value: Value, sql: str) -> None:
    assert spark_literal(Literal(data_type, value)) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        pytest.param("a-b_c.d", "'a-b_c.d'", id="harmless signs"),
        pytest.param("it's", "CAST(X'69742773' AS STRING)", id="a quote"),
        pytest.param("\\", "CAST(X'5C' AS STRING)", id="a backslash"),
        pytest.param("${x}", "CAST(X'247B787D' AS STRING)", id="what Spark would replace"),
        pytest.param("é", "CAST(X'C3A9' AS STRING)", id="no ASCII"),
    ],
)
def test_only_harmless_characters_reach_the_parser_of_spark(text: str, sql: str) -> None:
    assert quote(text) == sql


def test_names_are_quoted_or_refused() -> None:
    assert quote_name("a`b c") == "`a``b c`"
    for name in ("${x}", "a\0"):
        with pytest.raises(ExpressionError, match="Rename the column"):
            quote_name(name)


def test_whole_numbers_beyond_bigint_are_refused() -> None:
    assert integer_literal(2**63 - 1, "x") == Literal(BIGINT, 2**63 - 1)
    for value in (2**63, -(2**63) - 1):
        with pytest.raises(ExpressionError, match="must fit into a bigint"):
            integer_literal(value, str(value))


def test_microseconds_before_1970_are_negative() -> None:
    assert micros(clock("1969-12-31 23:59:59.999999")) == -1
