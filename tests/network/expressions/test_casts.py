"""CAST: what it makes of each value, and which casts are refused; the ids read as the specification."""

from __future__ import annotations

import datetime as dt
import math
from typing import Final

import pytest
from pyspark.sql import SparkSession

from drover.network.expressions.casts import CASTS, find_cast, refuse_cast
from drover.network.types import BINARY, BOOLEAN, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, DataType, decimal
from tests.network.expressions import refusals
from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed
from tests.network.expressions.refusals import Refusal

CASES: Final[tuple[Case, ...]] = (
    ("CAST(1e10 AS INT)", None, "a cast that does not fit is NULL"),
    ("CAST(-2.9 AS INT)", -2, "a cast truncates"),
    ("CAST(9223372036854775808.0 AS BIGINT)", None, "2^63 is no bigint"),
    ("CAST(nan AS INT)", None, "NaN is no int"),
    ("CAST(m AS DOUBLE)", -1.99, "a decimal becomes the nearest double"),
    ("CAST(m AS INT)", -1, "a decimal truncates"),
    ("CAST(' 12 ' AS INT)", 12, "blanks around a number do not matter"),
    ("CAST('1.5' AS INT)", None, "a fraction is no int"),
    ("CAST('128' AS TINYINT)", None, "what does not fit is NULL"),
    ("CAST('1e3' AS DOUBLE)", 1000.0, "exponents"),
    ("CAST('1d' AS DOUBLE)", None, "no suffixes"),
    ("CAST('NaN' AS DOUBLE)", math.nan, "NaN can be written"),
    ("CAST(' YES ' AS BOOLEAN)", True, "yes is true"),
    ("CAST('maybe' AS BOOLEAN)", None, "maybe is NULL"),
    ("CAST(i AS STRING)", "-7", "numbers to text"),
    ("CAST('2023-02-29' AS DATE)", None, "no such day"),
    ("CAST('2024-02-29T12:30Z' AS TIMESTAMP) = TIMESTAMP '2024-02-29 12:30:00'", True, "forms of a timestamp"),
    ("CAST('2024-2-9' AS DATE)", None, "months and days have two digits"),
    ("CAST(wall AS STRING)", "1969-12-31 23:59:59.000001", "timestamps to text"),
    ("CAST(at AS DATE)", dt.date(2024, 2, 29), "the day of an instant is that in UTC"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)


REFUSALS: Final[tuple[Refusal, ...]] = (
    ("CAST(price AS STRING)", "the digits of a printed double differ", "Cast to bigint"),
    ("CAST(at AS BIGINT)", "a timestamp is not a number", "unix_micros"),
    ("CAST(count AS TIMESTAMP)", "a number is not a timestamp", "timestamp_seconds"),
    ("CAST(price AS DECIMAL(10,2))", "engines round decimals differently", "Cast to double"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        pytest.param(DOUBLE, BOOLEAN, "a double is not a boolean", id="double to boolean"),
        pytest.param(decimal(10, 2), FLOAT, "decimals go to double or whole numbers only", id="decimal to float"),
        pytest.param(BINARY, INT, "there is no such cast", id="binary to int"),
        pytest.param(FLOAT, STRING, "the digits of a printed double differ", id="float to string"),
        pytest.param(INT, TIMESTAMP, "a number is not a timestamp", id="int to timestamp"),
    ],
)
def test_a_cast_that_is_not_in_the_table_is_refused(source: DataType, target: DataType, rule: str) -> None:
    assert find_cast(source, target) is None
    assert f"{source} cannot be cast to {target}: {rule}" in refuse_cast(source, target, "x").rule


def test_decimals_of_any_size_have_the_same_casts() -> None:
    for size in (decimal(5, 0), decimal(38, 10)):
        assert find_cast(size, DOUBLE) is not None
        assert find_cast(size, INT) is not None
    assert all(source != target for source, target in CASTS)
