"""What expressions mean, case by case, in both engines; the ids read as the specification."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.network.expressions import parse, to_polars
from drover.network.types import (
    BIGINT,
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
    polars_type,
)
from drover.network.types import decimal as decimal_type
from tests.network.expressions.engines import compare, spark_select

clock: Final = dt.datetime.fromisoformat  # what a timestamp_ntz holds: a time that belongs to no zone
COLUMNS: Final[dict[str, DataType]] = {
    "yes": BOOLEAN, "no": BOOLEAN, "unknown": BOOLEAN, "t": TINYINT, "i": INT, "b": BIGINT, "f": FLOAT, "d": DOUBLE,
    "nan": DOUBLE, "n": INT, "s": STRING, "empty": STRING, "lost": STRING, "day": DATE, "at": TIMESTAMP,
    "wall": TIMESTAMP_NTZ, "m": decimal_type(10, 2), "odd name`": INT,
}  # fmt: skip
ROW: Final[dict[str, Any]] = {
    "yes": True, "no": False, "unknown": None, "t": 100, "i": -7, "b": 2**63 - 1, "f": 0.5, "d": 2.5, "nan": math.nan,
    "n": None, "s": "a😀b", "empty": "", "lost": None, "day": dt.date(2024, 2, 29),
    "at": dt.datetime(2024, 2, 29, 23, 59, 59, 500_000, dt.UTC), "wall": clock("1969-12-31 23:59:59.000001"),
    "m": decimal.Decimal("-1.99"), "odd name`": 5,
}  # fmt: skip

NULLS: Final = [
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
    ("concat(s, lost)", None, "concat with NULL is NULL"),
    ("concat_ws('-', 'x', lost, 'y')", "x-y", "concat_ws skips NULL"),
    ("length(lost)", None, "functions of NULL are NULL"),
    ("isnull(n) AND isnotnull(i)", True, "isnull and isnotnull are functions too"),
    ("isnan(nan / 0)", False, "isnan of NULL is FALSE"),
]
NUMBERS: Final = [
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
    ("nan = nan", True, "NaN equals itself"),
    ("nan > 1e308", True, "NaN is the largest"),
    ("greatest(nan, 1.0)", math.nan, "also for greatest"),
    ("-0.0 = 0.0", True, "zero has one value"),
    ("f + 0.1", 0.6, "float and double make a double"),
    ("CAST(1e10 AS INT)", None, "a cast that does not fit is NULL"),
    ("CAST(-2.9 AS INT)", -2, "a cast truncates"),
    ("CAST(9223372036854775808.0 AS BIGINT)", None, "2^63 is no bigint"),
    ("CAST(nan AS INT)", None, "NaN is no int"),
    ("CAST(m AS DOUBLE)", -1.99, "a decimal becomes the nearest double"),
    ("CAST(m AS INT)", -1, "a decimal truncates"),
    ("m = m", True, "decimals compare with their like"),
    ("`odd name``` + 1", 6, "names may be anything, in backticks"),
]
STRINGS: Final = [
    ("length(s)", 3, "length counts code points"),
    ("octet_length(s)", 6, "octet_length counts bytes"),
    ("substring(s, 2, 1)", "😀", "substring counts code points from 1"),
    ("substring(s, 0, 2)", "a😀", "0 means 1"),
    ("substring(s, -2)", "😀b", "negative positions count from the end"),
    ("substring('abc', -5, 3)", "a", "a start before the text uses up the length"),
    ("substring('abc', 5)", "", "a start behind the text gives nothing"),
    ("substring('abc', 1, -1)", "", "neither does a negative length"),
    ("left(s, 2)", "a😀", "left"),
    ("right(s, 9)", "a😀b", "right of more than there is"),
    ("right(s, -1)", "", "right of nothing"),
    ("upper('straße')", "STRASSE", "upper may lengthen"),
    ("lower('ΟΔΟΣ')", "οδοσ", "lower never makes a final sigma"),
    ("trim('  a\\n ')", "a\n", "trim removes spaces only"),
    ("reverse('e\u0301x')", "x\u0301e", "reverse turns code points"),
    ("lpad('abc', 2, 'x')", "ab", "lpad cuts"),
    ("lpad('a', 4, 'xy')", "xyxa", "lpad repeats its pad"),
    ("rpad('a', 3)", "a  ", "rpad takes a space by default"),
    ("instr(s, 'b')", 3, "instr counts code points"),
    ("locate('z', s)", 0, "0 if it is not there"),
    ("position('' IN s)", 1, "nothing is at the beginning"),
    ("replace('a$1a', 'a', '$0')", "$0$1$0", "replace knows no groups"),
    ("replace(s, '', 'x')", "a😀b", "replacing nothing changes nothing"),
    ("split_part('a,b', ',', -1)", "b", "parts count from the end too"),
    ("split_part('a,b', ',', 3)", "", "a part that is not there is empty"),
    ("s LIKE 'a_b'", True, "_ is one code point"),
    ("'a\\nb' LIKE 'a%'", True, "% matches newlines"),
    ("'50%' LIKE '50\\\\%'", True, "a backslash makes % itself"),
    ("'50x' LIKE '50\\%'", False, "once or twice"),
    ("'a_c' LIKE 'a/_c' ESCAPE '/'", True, "ESCAPE names another sign"),
    ("'abc' LIKE 'a/_c' ESCAPE '/'", False, "which works"),
    ("'a.c' LIKE 'a.c' AND NOT 'abc' LIKE 'a.c'", True, "a point is a point"),
    ("'a' < 'é' AND 'é' < '😀'", True, "strings compare by their bytes"),
    ("CAST(' 12 ' AS INT)", 12, "blanks around a number do not matter"),
    ("CAST('1.5' AS INT)", None, "a fraction is no int"),
    ("CAST('128' AS TINYINT)", None, "what does not fit is NULL"),
    ("CAST('1e3' AS DOUBLE)", 1000.0, "exponents"),
    ("CAST('1d' AS DOUBLE)", None, "no suffixes"),
    ("CAST('NaN' AS DOUBLE)", math.nan, "NaN can be written"),
    ("CAST(' YES ' AS BOOLEAN)", True, "yes is true"),
    ("CAST('maybe' AS BOOLEAN)", None, "maybe is NULL"),
    ("CAST(i AS STRING)", "-7", "numbers to text"),
]
TIMES: Final = [
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
    ("CAST('2023-02-29' AS DATE)", None, "no such day"),
    ("CAST('2024-02-29T12:30Z' AS TIMESTAMP) = TIMESTAMP '2024-02-29 12:30:00'", True, "forms of a timestamp"),
    ("CAST('2024-2-9' AS DATE)", None, "months and days have two digits"),
    ("CAST(wall AS STRING)", "1969-12-31 23:59:59.000001", "timestamps to text"),
    ("date_format(day, \"yyyy/MM 'day' dd\")", "2024/02 day 29",
     "formats"),
    ("CAST(at AS DATE)", dt.date(2024, 2, 29), "the day of an instant is that in UTC"),
]  # fmt: skip
CASES: Final = (*NULLS, *NUMBERS, *STRINGS, *TIMES)


def frame() -> pl.DataFrame:
    return pl.DataFrame([pl.Series(name, [ROW[name]], dtype=polars_type(kind)) for name, kind in COLUMNS.items()])


@pytest.mark.parametrize(("text", "expected"), [pytest.param(t, e, id=i) for t, e, i in CASES])
def test_meaning_in_polars(text: str, expected: object) -> None:
    found = frame().select(to_polars(parse(text, COLUMNS)).alias("x"))["x"][0]
    both_nan = isinstance(found, float) and isinstance(expected, float) and math.isnan(found) and math.isnan(expected)
    assert found == expected or both_nan
    assert type(found) is type(expected)


def test_meaning_in_spark(spark: SparkSession) -> None:
    assert compare(spark, frame(), COLUMNS, [text for text, _, _ in CASES]) == []


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
def test_division_rounds_once_however_polars_holds_its_operands(rows: int, nulls: bool) -> None:
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


# Without parentheses, over x=5, y=3, z=2 and p=true, q=false: what Spark itself makes of the same text.
GROUPINGS: Final = (
    "x - y - z", "x - y * z", "x + y % z", "- x + y", "- x * y", "x * - y", "x DIV y * z", "x / y / z", "x & y + z",
    "x & y = z", "x | y | z", "x ^ y ^ z", "~ x + y", "~ x & y", "x + y > z", "x = y AND y = z OR z = z",
    "NOT x = y", "p OR q AND q", "NOT p OR p", "NOT p AND q", "NOT q AND p OR q", "x BETWEEN y AND z OR p",
    "x BETWEEN 1 + 1 AND y * z", "NOT x BETWEEN 1 AND 2", "x NOT BETWEEN 1 AND 2 AND q", "x IN (5, 6) AND q",
    "NOT x IN (5)", "x + y IS NULL", "NOT x IS NULL", "x IS NOT NULL AND q", "'a' || 'b' = 'ab'",
    "'a' || 'b' LIKE 'a%'", "CASE WHEN p THEN x END + y", "CASE x + 0 WHEN 2 + 3 THEN 1 ELSE 2 END", "x <=> y OR p",
    "- 2 - - 2", "x != y", "x == y", "! p OR p", "x*y+z*x-y", "p = q OR p", "x <> y AND NOT p", "x % y % z",
    "x - (y - z)", "NOT (p AND q)", "x IS DISTINCT FROM y AND p",
    "x = y IS NULL", "x = y IS NOT NULL AND p",
)  # fmt: skip


def test_operators_group_as_in_spark(spark: SparkSession) -> None:
    columns = {"x": INT, "y": INT, "z": INT, "p": BOOLEAN, "q": BOOLEAN}
    row = pl.DataFrame({"x": [5], "y": [3], "z": [2], "p": [True], "q": [False]}).cast({pl.Int64: pl.Int32})
    theirs = spark_select(spark, row, columns, GROUPINGS).row(0)
    ours = row.select(to_polars(parse(t, columns)).alias(str(i)) for i, t in enumerate(GROUPINGS)).row(0)
    assert {t: a for t, a, b in zip(GROUPINGS, ours, theirs, strict=True) if a != b} == {}
