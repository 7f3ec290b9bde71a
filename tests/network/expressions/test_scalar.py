from __future__ import annotations

import time

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import parse, parse_pair
from drover.network.expressions.scalar import LONGEST_KEPT, MANY
from drover.network.types import INT, STRING


def test_a_cached_text_still_depends_on_the_columns() -> None:
    assert parse("a", {"a": INT}).type == INT
    assert parse("a", {"a": STRING}).type == STRING
    assert parse("a", {"b": INT, "a": INT}) == parse("a", {"a": INT, "b": INT})
    for _ in range(2):
        with pytest.raises(ExpressionError, match="no column 'a'"):
            parse("a", {"b": INT})


def test_only_short_texts_are_cached() -> None:
    short = "a + 1"
    long = " + ".join(["(a)"] * 20) + " " * LONGEST_KEPT
    assert parse(short, {"a": INT}) is parse(short, {"a": INT})
    assert parse(long, {"a": INT}) is not parse(long, {"a": INT})
    assert parse(long, {"a": INT}) == parse(long.strip(), {"a": INT})


def test_an_expression_on_wide_rows_is_the_same_and_so_are_its_errors() -> None:
    wide = {f"c{i}": INT for i in range(MANY)} | {"odd name": INT, "a": STRING}
    assert parse("c7 + c8 > 1", wide) == parse("c7 + c8 > 1", {"c7": INT, "c8": INT})
    assert parse("`odd name` + c1", wide) == parse("`odd name` + c1", {"odd name": INT, "c1": INT})
    assert parse("'c1'", wide) == parse("'c1'", {})
    with pytest.raises(ExpressionError, match=r"no column 'd1'\. Known: c0, c1, .*, c19, \.\.\. \(102 in all\)\.$"):
        parse("c2 + d1", wide)
    with pytest.raises(ExpressionError, match="both inputs have a column 'c1'"):
        parse_pair("c1 > 1", wide, wide)


def test_thousands_of_expressions_on_thousands_of_columns_take_seconds() -> None:
    wide = {f"c{i}": INT for i in range(5_000)}
    began = time.process_time()
    for i in range(1_000):
        parse(f"c{i} + {i}", wide)
    assert time.process_time() - began < 5
