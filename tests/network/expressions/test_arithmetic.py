"""Numbers: operators, rounding and remainders; the ids read as the specification."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.network.expressions import parse, to_polars
from drover.network.types import DOUBLE
from tests.network.expressions.one_row import Case, check_in_polars, check_in_spark, listed

CASES: Final[tuple[Case, ...]] = (
    ("isnan(nan / 0)", False, "isnan of NULL is FALSE"),
    ("b + 1", None, "a sum beyond bigint is NULL"),
    ("t + t", None, "a sum of tinyints is a tinyint, or NULL"),
    ("t + 100", 200, "a literal is an int and widens"),
    ("b * -1", -(2**63) + 1, "the smallest but one fits"),
    ("-(-9223372036854775808)", None, "the smallest bigint has no opposite"),
    ("abs(-9223372036854775808)", None, "nor an absolute value"),
    ("2147483647 + 1", None, "int literals do not widen"),
    ("7 / 2", 3.5, "/ is always a double"),
    ("i / 0", None, "division by zero is NULL"),
    ("d / 0.0", None, "for doubles too"),
    ("i / 1.5", -4.666666666666667, "division rounds once"),
    ("i DIV 2", -3, "DIV truncates toward zero"),
    ("7 DIV -2", -3, "whatever the signs"),
    ("i DIV 0", None, "DIV by zero is NULL"),
    ("-9223372036854775808 DIV -1", None, "DIV overflows to NULL"),
    ("i % 3", -1, "% has the sign of the dividend"),
    ("7 % -3", 1, "not of the divisor"),
    ("i % 0", None, "% by zero is NULL"),
    ("-5.5 % 2.0", -1.5, "% of doubles too"),
    ("1e300 % 0.1", math.fmod(1e300, 0.1), "% of doubles is exact"),
    ("pmod(i, 3)", 2, "pmod is never negative"),
    ("floor(-2.5)", -3, "floor goes down"),
    ("ceil(-2.5)", -2, "ceil goes up"),
    ("floor(1e300)", None, "floor beyond bigint is NULL"),
    ("ceil(nan)", None, "NaN has no ceiling"),
    ("round(d)", 3.0, "round goes away from zero"),
    ("round(-d)", -3.0, "on both sides"),
    ("round(0.49999999999999994)", 0.0, "round is exact"),
    ("sqrt(-1)", math.nan, "the root of a negative number is NaN"),
    ("f + 0.1", 0.6, "float and double make a double"),
)


@pytest.mark.parametrize(("text", "expected"), listed(CASES))
def test_meaning_in_polars(text: str, expected: object) -> None:
    check_in_polars(text, expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    check_in_spark(spark, CASES)


QUOTIENTS: Final[dict[str, Callable[[dict[str, float]], float]]] = {
    "x / y": lambda r: r["x"] / r["y"],
    "x / k": lambda r: r["x"] / r["k"],
    "k / x": lambda r: r["k"] / r["x"],
    "j / k": lambda r: r["j"] / r["k"],
    "x / 1.1": lambda r: r["x"] / 1.1,
    "7 / x": lambda r: 7 / r["x"],
    "7 / 1.1": lambda _: 7 / 1.1,
    "x / k / 0.7": lambda r: r["x"] / r["k"] / 0.7,
    "x / (k * k)": lambda r: r["x"] / (r["k"] * r["k"]),
}


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_division_rounds_once_for_columns_and_for_constants(rows: int, nulls: bool) -> None:
    numbers = np.random.default_rng(rows).uniform(-1e4, 1e4, rows)
    base = pl.DataFrame({"x": numbers, "y": numbers[::-1]})
    if nulls:
        base = pl.concat([base, pl.DataFrame({"x": [None, 1.0], "y": [1.0, None]})])
    scalars = base.with_columns(pl.lit(1.1).alias("k"), pl.lit(7.0).alias("j"))
    for text, quotient_of in QUOTIENTS.items():
        tree = parse(text, {"x": DOUBLE, "y": DOUBLE, "k": DOUBLE, "j": DOUBLE})
        found = scalars.select("x", to_polars(tree).alias("q"))["q"].to_list()
        for row, quotient in zip(scalars.to_dicts(), found, strict=True):
            known = all(row[name] is not None for _, name in tree.columns)
            assert quotient == (quotient_of(row) if known else None), text
