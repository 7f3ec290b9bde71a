"""Whatever the text, the answer is a tree or an ExpressionError, soon; and no text escapes into Spark's parser."""

from __future__ import annotations

import pickle
import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from drover.errors import ExpressionError
from drover.network.expressions import Literal, parse, parse_aggregate, to_polars, to_spark
from drover.network.expressions.functions import BY_NAME, REFUSED
from drover.network.expressions.literals import quote_name, spark_literal
from drover.network.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType
from tests.network.expressions.engines import spark_select
from tests.network.expressions.frames import COLUMNS as ALL_COLUMNS
from tests.network.expressions.frames import TYPES
from tests.network.expressions.texts import Writer

COLUMNS: Final[dict[str, DataType]] = {"a": INT, "b": BOOLEAN, "s": STRING, "t": TIMESTAMP, "d": DOUBLE, "n": BIGINT}
WORDS: Final = (
    *COLUMNS,
    *BY_NAME,
    *REFUSED,
    "(",
    ")",
    "((",
    "))",
    ",",
    "'",
    '"',
    "`",
    ".",
    ";",
    "*",
    "--",
    "/*",
    "*/",
    "@",
    ":",
    "?",
    "$",
    "${a}",
    "[",
    "]",
    "{",
    "}",
    "->",
    "::",
    "=>",
    "1",
    "1.5",
    "1e",
    "0x1",
    "'x'",
    "''",
    "NULL",
    "TRUE",
    "SELECT",
    "FROM",
    "WHERE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST(",
    "AS",
    "INT",
    "decimal(",
    "DATE",
    "TIMESTAMP",
    "INTERVAL",
    "DAY",
    "IS",
    "NOT",
    "DISTINCT",
    "BETWEEN",
    "AND",
    "LIKE",
    "ESCAPE",
    "OVER",
    "EXISTS",
    "ANY",
    "ALL",
    "\\",
    "\n",
    "\x00",
    "é",
    "😀",
    "x'00'",
    "r'a'",
    "array<",
    "struct<",
    "EXTRACT(",
    "POSITION(",
    "left.",
    "right.a",
    "-",
    "~",
    "!",
    "VALUES",
)

INTERNALS: Final = re.compile("<class|sqlglot|TokenType|Token |Failed to|Expected|object at")  # of the parser


def outcome(text: str) -> None:
    """Parse, and compile what was parsed; anything but a tree or an ExpressionError fails the test."""
    for read in (parse, parse_aggregate):
        found = tree_or_error(read, text)
        if isinstance(found, ExpressionError):
            assert not INTERNALS.search(f"{found.rule} {found.way_out}")
        else:
            assert pickle.loads(pickle.dumps(found)) == found
            hash(found)


def tree_or_error(read: Callable[[str, Mapping[str, DataType]], object], text: str) -> object:
    try:
        return read(text, COLUMNS)
    except ExpressionError as error:
        return error


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=40))
def test_arbitrary_text_is_a_tree_or_an_expression_error(text: str) -> None:
    outcome(text)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_expressions_are_a_tree_or_an_expression_error(seed: int) -> None:
    chance = random.Random(seed)
    text = Writer(chance, set()).text(chance.choice(TYPES), 4)
    for _ in range(20):
        at = chance.randrange(len(text) + 1)
        damaged = text[:at] + chance.choice(WORDS) + text[at + chance.randrange(3) :]
        with suppress(ExpressionError):
            to_polars(parse(damaged, ALL_COLUMNS))


REPEATED: Final = (
    "(",
    "NOT ",
    "- ",
    "~ ",
    "abs(",
    "date(",
    "int(",
    "CASE ",
    "CASE WHEN ",
    "CAST(",
    "a IN (",
    "a BETWEEN ",
    "array<",
    "struct<",
    "decimal(",
    "a::",
    "a::decimal(",
    "a.",
    "'x' ",
    "a + ",
    "a || ",
    "1.",
    "INTERVAL '1' ",
    "DATE ",
    "b AND ",
    "a IS ",
    "position(",
    "extract(year FROM ",
    "!",
    "if(b, 1, ",
    "a, ",
)


@pytest.mark.parametrize("part", REPEATED)
def test_endless_repetition_is_refused_quickly(part: str) -> None:
    started = time.monotonic()
    for text in ((part * 20_000)[:20_000], part * 95 + "a" + ")" * 95, part * 30_000):
        outcome(text)
    assert time.monotonic() - started < 120


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(" AND ".join(["b"] * 500), id="500 terms of AND"),
        pytest.param(" OR ".join(["a = 1"] * 500), id="500 terms of OR"),
        pytest.param(" AND ".join(["(a = 1 OR b)"] * 400), id="400 pairs"),
        pytest.param(" || ".join(["s"] * 500), id="500 strings"),
        pytest.param(f"a IN ({', '.join(map(str, range(2000)))})", id="a list of 2000"),
        pytest.param("NOT " * 60 + "b", id="60 times NOT"),
        pytest.param("abs(" * 60 + "a" + ")" * 60, id="60 levels"),
        pytest.param("left(" * 60 + "s" + ", 1)" * 60, id="60 levels that Spark replaces"),
    ],
)
def test_large_expressions_work_in_both_engines(spark: SparkSession, text: str) -> None:
    frame = pl.DataFrame({"a": [1], "b": [True], "s": ["x"]}, schema_overrides={"a": pl.Int32})
    tree = parse(text, COLUMNS)
    theirs = spark_select(spark, frame, {"a": INT, "b": BOOLEAN, "s": STRING}, [to_spark(tree)])
    assert theirs.item() == frame.select(to_polars(tree)).item()


def test_an_expression_that_would_explode_is_refused() -> None:
    text = "a"
    for _ in range(20):
        text = f"nullif({text}, a + 1)"
    with pytest.raises(ExpressionError, match="compiles to at most"):
        parse(text, COLUMNS)


HOSTILE: Final = (
    "'",
    "\\",
    "\\'",
    "'; DROP TABLE x; --",
    "\n\r\t",
    "\x00",
    "\x1a",
    "é",
    "😀",
    "${spark.app.name}",
    "$",
    "`",
    '"',
    "%_",
    "\\u0041",
    "\\x",
    "' || (SELECT 1) || '",
    "\u2028",
    "{x}",
    ":x",
    "?",
    "/* */",
    "--",
    "\\\\",
    "a" * 5000,
    "\ufeff",
    "\ue000",
)


def test_no_string_escapes_its_quotes(spark: SparkSession) -> None:
    sql = [spark_literal(Literal(STRING, text)) for text in HOSTILE]
    assert spark_select(spark, pl.DataFrame({"a": [1]}), {"a": BIGINT}, sql).row(0) == HOSTILE


def test_no_name_escapes_its_backticks(spark: SparkSession) -> None:
    names = [f"{text} x" for text in HOSTILE if "${" not in text and "\0" not in text]
    frame = pl.DataFrame({name: [i] for i, name in enumerate(names)})
    columns = dict.fromkeys(names, BIGINT)
    trees = [parse(quote_name(name), columns) for name in names]
    assert spark_select(spark, frame, columns, [to_spark(tree) for tree in trees]).row(0) == tuple(range(len(names)))


def test_a_name_that_spark_would_replace_is_refused() -> None:
    with pytest.raises(ExpressionError, match="Spark would replace"):
        parse("`${x}`", {"${x}": INT})


ESCAPES: Final = (
    r"'a\nb'",
    r"'a\tb'",
    r"'\\'",
    r"'\''",
    r"'\"'",
    r"'\%'",
    r"'\_'",
    r"'\u00e9'",
    '"it\'s"',
    r"'\r'",
    r"'\\n'",
)


@pytest.mark.parametrize("text", ESCAPES)
def test_escapes_are_read_as_in_spark(spark: SparkSession, text: str) -> None:
    tree = parse(text, {})
    assert isinstance(tree, Literal)
    assert spark_select(spark, pl.DataFrame({"a": [1]}), {"a": BIGINT}, [text]).item() == tree.value
