"""Dates and timestamps, in UTC and in the years 0001 to 9999; the ids read as the specification."""

from __future__ import annotations

import datetime as dt
from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, clock, listed

CASES: Final[tuple[Case, ...]] = (
    ("year(day) * 10000 + month(day) * 100 + day(day)", 20240229, "parts of a leap day"),
    ("dayofweek(day)", 5, "Sunday is 1"),
    ("weekday(day)", 3, "Monday is 0"),
    ("weekofyear(DATE '2021-01-03')", 53, "weeks are those of ISO 8601"),
    ("EXTRACT(QUARTER FROM at)", 1, "EXTRACT"),
    ("second(wall)", 59, "seconds before 1970"),
    ("unix_seconds(wall)", -1, "rounded down before 1970"),
    ("unix_millis(at)", 1709251199500, "milliseconds"),
    ("date_add(day, 366)", dt.date(2025, 3, 1), "a leap year later"),
    ("date_add(DATE '9999-12-31', 1)", None, "there is no year 10000"),
    ("date_sub(DATE '0001-01-01', 1)", None, "and no year 0"),
    ("datediff(day, DATE '2024-03-01')", -1, "days between"),
    ("last_day(DATE '2023-02-01')", dt.date(2023, 2, 28), "no leap day"),
    ("date_trunc('week', wall)", clock("1969-12-29"), "weeks begin on Monday"),
    ("wall + INTERVAL '1' SECOND", clock("1970-01-01 00:00:00.000001"), "across 1970"),
    ("wall - INTERVAL '3000' WEEK", clock("1912-07-03 23:59:59.000001"), "weeks have a fixed length"),
    ("timestamp_seconds(9223372036854775807)", None, "a timestamp beyond 9999 is NULL"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)
