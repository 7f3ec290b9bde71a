"""From the raw tree to the typed one: names are looked up, operators group as in Spark, the rest is refused."""

from __future__ import annotations

from typing import Final

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.network.expressions import Call, ColumnRef, Literal, parse, to_polars
from drover.network.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from tests.network.expressions import refusals
from tests.network.expressions.engines import spark_select
from tests.network.expressions.one_row import check_in_polars
from tests.network.expressions.refusals import Refusal

REFUSALS: Final[tuple[Refusal, ...]] = (
    ("pirce > 1", "no column 'pirce'", "Did you mean price. Known: price, count"),
    ("PRICE > 1", "no column 'PRICE'", "Known: price"),
    ("left.price", "no input 'left' here", "Write no prefix"),
    ("lenght(name)", "no function 'lenght'", "Did you mean length?"),
    ("exp(price)", "last digit differs between engines", "sqrt"),
    ("now()", "function of its row", "Put the value into a column"),
    ("current_timestamp", "function of its row", "Put the value into a column"),
    ("rand()", "function of its row", "Put the value into a column"),
    ("name RLIKE 'a+'", "regular expressions differ", "Write LIKE"),
    ("sum(price)", "an aggregate is not a function of one row", "where the network has an aggregate"),
    ("count(*)", "an aggregate is not a function of one row", "where the network has an aggregate"),
    ("at - at", "difference of two times", "unix_micros.a. - unix_micros.b."),
    ("INTERVAL '1' DAY", "only added to a timestamp", "INTERVAL '5' MINUTE"),
    ("- TRUE", "negative", "number"),
    ("count = 1 = ok", "unclear which operator comes first", "parentheses"),
    ("count | 1 & 2", "unclear which operator comes first", "parentheses"),
    ("'it''s'", "two strings stand side by side", "Write ||"),
    ("(price, count)", "a list of values is not a value", "Remove"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("-5", Literal(INT, -5), id="a sign belongs to its number"),
        pytest.param("-9223372036854775808", Literal(BIGINT, -(2**63)), id="also to the smallest bigint"),
        pytest.param("- 1.5", Literal(DOUBLE, -1.5), id="a double"),
        pytest.param("-(-2147483648)", Literal(INT, None), id="the smallest int has no opposite"),
        pytest.param("'a'", Literal(STRING, "a"), id="a string"),
        pytest.param("(((TRUE)))", Literal(BOOLEAN, True), id="parentheses leave no trace"),
    ],
)
def test_constants(text: str, value: Literal) -> None:
    assert parse(text, {}) == value


def test_a_chain_is_one_call() -> None:
    columns = dict.fromkeys("abc", BOOLEAN)
    tree = parse("a AND b AND (c AND a) OR b", columns)
    assert isinstance(tree, Call)
    inner = tree.arguments[0]
    assert isinstance(inner, Call)
    assert (tree.function, inner.function) == ("or", "and")
    assert inner.arguments[:2] == (ColumnRef(BOOLEAN, "a"), ColumnRef(BOOLEAN, "b"))
    assert tree.depth == inner.depth + 1 <= 4


def test_a_name_may_be_anything_in_backticks() -> None:
    check_in_polars("`odd name``` + 1", 6)


def test_nullif_is_a_case() -> None:
    columns = {"x": INT}
    assert parse("nullif(x, 1)", columns) == parse("CASE WHEN x = 1 THEN NULL ELSE x END", columns)


# Without parentheses, over x=5, y=3, z=2 and p=true, q=false: what Spark itself makes of the same text.
GROUPINGS: Final = (
    "x - y - z",
    "x - y * z",
    "x + y % z",
    "- x + y",
    "- x * y",
    "x * - y",
    "x DIV y * z",
    "x / y / z",
    "x & y + z",
    "x & y = z",
    "x | y | z",
    "x ^ y ^ z",
    "~ x + y",
    "~ x & y",
    "x + y > z",
    "x = y AND y = z OR z = z",
    "NOT x = y",
    "p OR q AND q",
    "NOT p OR p",
    "NOT p AND q",
    "NOT q AND p OR q",
    "x BETWEEN y AND z OR p",
    "x BETWEEN 1 + 1 AND y * z",
    "NOT x BETWEEN 1 AND 2",
    "x NOT BETWEEN 1 AND 2 AND q",
    "x IN (5, 6) AND q",
    "NOT x IN (5)",
    "x + y IS NULL",
    "NOT x IS NULL",
    "x IS NOT NULL AND q",
    "'a' || 'b' = 'ab'",
    "'a' || 'b' LIKE 'a%'",
    "CASE WHEN p THEN x END + y",
    "CASE x + 0 WHEN 2 + 3 THEN 1 ELSE 2 END",
    "x <=> y OR p",
    "- 2 - - 2",
    "x != y",
    "x == y",
    "! p OR p",
    "x*y+z*x-y",
    "p = q OR p",
    "x <> y AND NOT p",
    "x % y % z",
    "x - (y - z)",
    "NOT (p AND q)",
    "x IS DISTINCT FROM y AND p",
    "x = y IS NULL",
    "x = y IS NOT NULL AND p",
)


def test_operators_group_as_in_spark(spark: SparkSession) -> None:
    columns = {"x": INT, "y": INT, "z": INT, "p": BOOLEAN, "q": BOOLEAN}
    row = pl.DataFrame({"x": [5], "y": [3], "z": [2], "p": [True], "q": [False]}).cast({pl.Int64: pl.Int32})
    theirs = spark_select(spark, row, columns, GROUPINGS).row(0)
    ours = row.select(to_polars(parse(t, columns)).alias(str(i)) for i, t in enumerate(GROUPINGS)).row(0)
    assert {t: a for t, a, b in zip(GROUPINGS, ours, theirs, strict=True) if a != b} == {}
