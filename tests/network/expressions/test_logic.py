"""Truth, comparisons and choices, with NULL and NaN among them; the ids read as the specification."""

from __future__ import annotations

import math
from typing import Final

import pytest
from pyspark.sql import SparkSession

from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed

CASES: Final[tuple[Case, ...]] = (
    ("unknown AND no", False, "NULL AND FALSE is FALSE"),
    ("unknown AND yes", None, "NULL AND TRUE is NULL"),
    ("unknown OR yes", True, "NULL OR TRUE is TRUE"),
    ("unknown OR no", None, "NULL OR FALSE is NULL"),
    ("NOT unknown", None, "NOT NULL is NULL"),
    ("n = n", None, "NULL equals nothing, not even itself"),
    ("n <=> n", True, "except by <=>"),
    ("n IS DISTINCT FROM 1", True, "NULL is distinct from a value"),
    ("n IS NOT DISTINCT FROM NULL", True, "and not from NULL"),
    ("unknown IS TRUE", False, "IS TRUE is never NULL"),
    ("unknown IS NOT FALSE", True, "IS NOT FALSE neither"),
    ("i IN (1, NULL)", None, "not found in a list with NULL is NULL"),
    ("i IN (-7, NULL)", True, "found is TRUE all the same"),
    ("i NOT IN (1, 2)", True, "NOT IN"),
    ("CASE WHEN unknown THEN 1 ELSE 2 END", 2, "a NULL condition chooses nothing"),
    ("CASE i WHEN 1 THEN 'one' END", None, "a CASE without ELSE may be NULL"),
    ("CASE n WHEN NULL THEN 1 ELSE 2 END", 2, "CASE x WHEN NULL is never met"),
    ("coalesce(n, NULL, 3)", 3, "coalesce finds the first value"),
    ("nullif(i, -7)", None, "nullif of equals is NULL"),
    ("greatest(n, 3, i)", 3, "greatest skips NULL"),
    ("least(lost, 'b', empty)", "", "least skips NULL"),
    ("isnull(n) AND isnotnull(i)", True, "isnull and isnotnull are functions too"),
    ("nan = nan", True, "NaN equals itself"),
    ("nan > 1e308", True, "NaN is the largest"),
    ("greatest(nan, 1.0)", math.nan, "also for greatest"),
    ("-0.0 = 0.0", True, "zero has one value"),
    ("m = m", True, "decimals compare with their like"),
    ("'a' < 'é' AND 'é' < '😀'", True, "strings compare by their bytes"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)
