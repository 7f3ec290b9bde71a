"""Columns named like words of SQL: plain where the text is clear, and in `backticks` where it is not."""

from __future__ import annotations

from typing import Final

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.errors import ExpressionError
from drover.network.expressions import (
    ColumnRef,
    aggregate_to_spark,
    parse,
    parse_aggregate,
    parse_pair,
    to_spark,
)
from drover.network.types import BOOLEAN, INT, STRING, TIMESTAMP, DataType
from tests.network.expressions.engines import compare

NAMES: Final = (
    "over",
    "filter",
    "select",
    "interval",
    "date",
    "timestamp",
    "first",
    "last",
    "end",
    "left",
    "right",
    "count",
    "window",
    "order",
    "group",
    "time",
    "value",
    "values",
    "day",
    "year",
    "month",
    "hour",
    "minute",
    "second",
    "from",
    "as",
    "escape",
    "div",
    "mod",
    "if",
    "cast",
    "try_cast",
    "extract",
    "position",
    "exists",
    "any",
    "all",
    "some",
    "rlike",
    "regexp",
    "ilike",
    "collate",
    "where",
    "with",
    "join",
    "on",
    "by",
    "asc",
    "desc",
    "limit",
    "union",
    "set",
    "int",
    "string",
    "decimal",
    "binary",
    "boolean",
    "double",
    "timestamp_ntz",
    "array",
    "map",
    "struct",
    "table",
    "row",
    "rows",
    "range",
    "partition",
    "current_date",
    "now",
    "user",
    "sum",
    "max",
    "rank",
    "lag",
    "exp",
    "log",
    "nulls",
    "respect",
    "ignore",
    "at",
    "zone",
    "using",
    "default",
    "format",
    "key",
    "index",
    "sort",
    "cluster",
    "lateral",
    "pivot",
    "qualify",
    "within",
    "xor",
    "overlaps",
    "similar",
    "unknown",
    "abs",
    "length",
)
RESERVED: Final = ("case", "when", "then", "else", "and", "or", "not", "in", "is", "like", "between", "distinct")
CONSTANTS: Final = ("null", "true", "false")
COLUMNS: Final[dict[str, DataType]] = dict.fromkeys([*NAMES, *RESERVED], INT)

TEMPLATES: Final = (
    "{}",
    "({})",
    "{} > 1",
    "1 < {}",
    "{} = {}",
    "{} + 1",
    "1 - {}",
    "{} - 1",
    "- {}",
    "-{} * 2",
    "{} * 2",
    "{} DIV 2",
    "abs({})",
    "coalesce({}, 1)",
    "coalesce(NULL, {})",
    "greatest({}, {}, 1)",
    "{} IN (1, 2)",
    "{} NOT IN (3)",
    "{} IS NULL",
    "{} IS NOT NULL",
    "{} IS DISTINCT FROM {}",
    "{} BETWEEN {} AND {} + 1",
    "CAST({} AS STRING)",
    "{}::string LIKE '1%'",
    "NOT {} = 1",
    "NOT {} > 1 AND {} < 9",
    "if({} = 1, {}, 2)",
    "{} % 2 = 0 OR {} <=> 3",
    "{} | 1",
    "~ {}",
    "CASE WHEN abs({}) > 1 THEN 1 END",
)
IN_A_CASE: Final = (
    "CASE WHEN {} > 1 THEN {} ELSE {} END",
    "CASE {} WHEN 1 THEN {} END",
    "CASE {} WHEN {} THEN {} WHEN 2 THEN 1 ELSE {} END + {}",
)
AGGREGATES: Final = ("max({})", "sum({})", "count({})", "count(distinct {})", "first({} + 1)", "avg(1 - {})")


def fill(template: str, name: str) -> str:
    return template.replace("{}", name)


def templates(name: str) -> tuple[str, ...]:
    return TEMPLATES if name == "end" else (*TEMPLATES, *IN_A_CASE)


def sql_of(text: str, columns: dict[str, DataType]) -> str:
    return to_spark(parse(text, columns))


def aggregate_sql_of(text: str, columns: dict[str, DataType]) -> str:
    return aggregate_to_spark(parse_aggregate(text, columns), "t")


@pytest.mark.parametrize("name", NAMES)
def test_a_word_is_a_column_where_the_text_is_clear(name: str) -> None:
    texts = [(template, sql_of) for template in templates(name)] + [(text, aggregate_sql_of) for text in AGGREGATES]
    for i, (template, sql) in enumerate(texts):
        written = name if i % 2 else name.upper()
        expected = sql(fill(template, "neutral"), {"neutral": INT}).replace("`neutral`", f"`{written}`")
        assert sql(fill(template, written), {written: INT}) == expected


@pytest.mark.parametrize("name", [*NAMES, *RESERVED, *CONSTANTS])
def test_after_a_point_every_word_is_a_column(name: str) -> None:
    tree = parse_pair(f"left.{name} = right.{name}", {name: INT}, {name: INT})
    assert tree.children == (ColumnRef(INT, name, "left"), ColumnRef(INT, name, "right"))


def test_columns_named_like_keywords_have_equal_values_in_both_engines(spark: SparkSession) -> None:
    frame = pl.DataFrame({name: [1, 2, None] for name in COLUMNS}, schema=dict.fromkeys(COLUMNS, pl.Int32))
    texts = [fill(templates(name)[i % len(templates(name))], name) for i, name in enumerate(NAMES)]
    texts += [fill(template, "over") for template in templates("over")] + [f"`{name}` + 1" for name in RESERVED]
    assert compare(spark, frame, COLUMNS, texts) == []


def test_several_keywords_as_column_names() -> None:
    columns: dict[str, DataType] = {"filter": STRING, "date": TIMESTAMP, "interval": INT, "end": INT, "left": STRING}
    for text, same in {
        "filter = 'x'": "`filter` = 'x'",
        "date > TIMESTAMP '2024-02-29' - INTERVAL -1 DAY": "`date` > TIMESTAMP '2024-02-29' - INTERVAL -1 DAY",
        "interval - 1 AND interval": "`interval` - 1 AND `interval`",
        "interval - 1 > interval": "`interval` - 1 > `interval`",
        "date(date)": "date(`date`)",
        "CAST(date AS date)": "CAST(`date` AS date)",
        "left(left, 1)": "left(`left`, 1)",
        "CASE WHEN (end > 1) THEN abs(end) END": "CASE WHEN (`end` > 1) THEN abs(`end`) END",
        "extract(hour FROM date)": "extract(hour FROM `date`)",
    }.items():
        assert outcome(text, columns) == outcome(same, columns).replace("`", "")


def outcome(text: str, columns: dict[str, DataType]) -> str:
    try:
        return str(parse(text, columns))
    except ExpressionError as error:
        return error.rule


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("template", ["{} > 1", "1 < {}", "{} * 2 > 1", "({}) = 1", "coalesce({}, 1)", "abs({})", "{}"])
def test_a_reserved_word_asks_for_backticks(name: str, template: str) -> None:
    with pytest.raises(ExpressionError, match="into `backticks`"):
        parse(fill(template, name), COLUMNS)
    assert parse(fill(template, f"`{name}`"), COLUMNS).columns == {("", name)}


@pytest.mark.parametrize("name", [*RESERVED, "end", *CONSTANTS])
def test_an_aggregate_of_a_reserved_word_asks_for_backticks(name: str) -> None:
    columns: dict[str, DataType] = {name: INT}
    text = "max(CASE WHEN 1 = 1 THEN end END)" if name == "end" else f"max({name})"
    with pytest.raises(ExpressionError, match="into `backticks`"):
        parse_aggregate(text, columns)
    assert parse_aggregate(f"max(`{name}`)", columns).columns == {("", name)}


@pytest.mark.parametrize("word", CONSTANTS)
def test_a_constant_hides_the_column_of_its_name(word: str) -> None:
    columns: dict[str, DataType] = {"ok": BOOLEAN, word: STRING}
    assert parse(f"coalesce(ok, {word})", columns).columns == {("", "ok")}
    with pytest.raises(ExpressionError, match=f"If the column {word} is meant, put it into `backticks`"):
        parse(f"length(coalesce(ok, {word}))", columns)
    with pytest.raises(ExpressionError, match=r"Write a CAST, or another column\.$"):
        parse(f"length(coalesce(ok, {word}))", {"ok": BOOLEAN})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("value BETWEEN symmetric AND 2", "into `backticks`"),
        ("max(value) OVER ()", "no window function"),
        ("max(value) OVER (PARTITION BY day)", "no window function"),
        ("max(over) OVER window", "no window function"),
        ("over(value)", "no window function"),
        ("sum(value) FILTER (WHERE value > 1)", "no FILTER clause"),
        ("count(*) filter (where filter > 1)", "no FILTER clause"),
        ("SELECT value", "no subquery"),
        ("SELECT value FROM table", "no subquery"),
        ("SELECT * FROM table", "no subquery"),
        ("value IN (SELECT value)", "no subquery"),
        ("value = (SELECT max(value) FROM table)", "no subquery"),
        ("(SELECT 1)", "no subquery"),
        ("exists(SELECT 1)", "no subquery"),
        ("value RLIKE 'a'", "regular expressions differ"),
        ("value NOT RLIKE 'a'", "regular expressions differ"),
        ("rlike(value, 'a')", "regular expressions differ"),
        ("value REGEXP 'a'", "regular expressions differ"),
        ("value NOT ILIKE 'a'", "ILIKE is not known"),
        ("ilike(value, 'a')", "ILIKE is not known"),
        ("value COLLATE utf8_lcase = 'a'", "compare by their bytes"),
    ],
)
def test_a_forbidden_word_in_its_sql_meaning_is_refused(text: str, rule: str) -> None:
    with pytest.raises(ExpressionError, match=rule):
        parse(text, COLUMNS)


@pytest.mark.parametrize("text", ["over + 1", "(filter)", "SELECT - 1", "collate > 1"])
def test_a_forbidden_word_without_such_a_column_gives_the_same_error(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"an expression contains|by their bytes"):
        parse(text, {"value": INT})
