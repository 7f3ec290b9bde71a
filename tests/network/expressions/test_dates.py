"""Formats of dates: the six fields and the text between them; the ids read as the specification."""

from __future__ import annotations

from typing import Final

import pytest
from pyspark.sql import SparkSession

from drover.network.expressions.dates import format_to_spark, format_to_strftime, readable_format
from drover.network.expressions.literals import quote
from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed

CASES: Final[tuple[Case, ...]] = (
    ("date_format(day, \"yyyy/MM 'day' dd\")", "2024/02 day 29", "fields, signs and quoted words"),
    ("date_format(wall, 'HH:mm:ss')", "23:59:59", "times of a day"),
    ("date_format(at, 'yyyyMMdd')", "20240229", "fields side by side"),
    ("date_format(CAST(NULL AS DATE), 'yyyy')", None, "the format of NULL is NULL"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)


@pytest.mark.parametrize(
    ("pattern", "strftime", "spark"),
    [
        pytest.param("yyyy-MM-dd", "%Y-%m-%d", "yyyy'-'MM'-'dd", id="signs are quoted for Spark"),
        pytest.param("HH:mm 'h'", "%H:%M h", "HH':'mm' h'", id="neighbouring text is quoted once"),
        pytest.param("yyyy''MM", "%Y'%m", "yyyy''''MM", id="two quotes are one"),
        pytest.param("yyyy'it''s'", "%Yit's", "yyyy'it''s'", id="also within quotes"),
        pytest.param("yyyy%", "%Y%%", "yyyy'%'", id="the sign of strftime"),
    ],
)
def test_a_pattern_in_either_engine(pattern: str, strftime: str, spark: str) -> None:
    assert format_to_strftime(pattern) == strftime
    assert format_to_spark(pattern) == quote(spark)


@pytest.mark.parametrize(
    ("value", "readable"),
    [
        pytest.param("yyyy/MM/dd HH:mm:ss", True, id="all fields"),
        pytest.param("'any text'", True, id="text alone"),
        pytest.param("yy", False, id="a field of another length"),
        pytest.param("EEE", False, id="a field that engines write differently"),
        pytest.param("'open", False, id="an open quote"),
        pytest.param("yyyy[MM]", False, id="optional parts"),
        pytest.param("", False, id="nothing"),
        pytest.param("-" * 201, False, id="too long"),
        pytest.param(None, False, id="NULL"),
    ],
)
def test_patterns_that_are_accepted(value: str | None, readable: bool) -> None:
    assert readable_format(value) is readable
