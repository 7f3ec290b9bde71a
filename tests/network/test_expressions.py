"""SQL expressions from text: over one row, over a pair of rows, and as conditions."""

from __future__ import annotations

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import (
    ColumnRef,
    parse,
    parse_pair,
    parse_pair_predicate,
    parse_predicate,
    to_polars,
    to_spark,
)
from drover.network.types import BOOLEAN, DOUBLE, INT

COLUMNS = {"price": DOUBLE}


def test_an_expression_over_one_row() -> None:
    assert parse("price", COLUMNS) == ColumnRef(DOUBLE, "price")
    with pytest.raises(ExpressionError, match="no column 'cost'"):
        parse("cost", COLUMNS)


def test_a_condition_must_be_a_boolean() -> None:
    assert parse_predicate("price > 1", COLUMNS).type == BOOLEAN
    with pytest.raises(ExpressionError, match=r"a condition must be a boolean, not a double\. Write a comparison"):
        parse_predicate("price", COLUMNS)
    with pytest.raises(ExpressionError, match=r"must be a boolean, not an int"):
        parse_pair_predicate("left.a + right.a", {"a": INT}, {"a": INT})


def test_a_pair_names_its_sides() -> None:
    left = {"a": INT, "k": INT}
    right = {"b": INT, "k": INT}
    tree = parse_pair("left.k = right.k AND a < b", left, right)
    assert tree.columns == {("left", "k"), ("right", "k"), ("left", "a"), ("right", "b")}
    assert to_spark(tree) == "((`left`.`k` = `right`.`k`) AND (`left`.`a` < `right`.`b`))"
    assert set(to_polars(tree).meta.root_names()) == {"left.k", "right.k", "left.a", "right.b"}
    assert to_polars(parse_pair("a", left, right), lambda side, name: f"{side[0]}_{name}").meta.root_names() == ["l_a"]
    assert parse_pair("a", left, right) == ColumnRef(INT, "a", "left")
    with pytest.raises(ExpressionError, match=r"both inputs have a column 'k'\. Write left\.k or right\.k"):
        parse_pair("k = 1", left, right)
    with pytest.raises(ExpressionError, match=r"no column 'z'\. Known: left\.a, left\.k, right\.b, right\.k"):
        parse_pair("z = 1", left, right)
