"""Expressions as SQL: parsing the text gives the same tree."""

from __future__ import annotations

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import parse, parse_aggregate
from drover.network.queries.sql_text import aggregate_to_sql, to_sql
from tests.network.expressions.frames import COLUMNS
from tests.network.queries.test_parameterize import TEXTS, random_texts


@pytest.mark.parametrize("seed", range(2))
def test_the_text_of_a_random_expression_parses_to_it(seed: int) -> None:
    written = 0
    for text in random_texts(seed):
        tree = parse(text, COLUMNS)
        try:
            again = parse(to_sql(tree), COLUMNS)
        except ExpressionError:
            continue  # too long or too deep
        assert again == tree
        written += 1
    assert written > TEXTS * 0.9


@pytest.mark.parametrize("text", ["count(*)", "sum(b + 1)", "count(DISTINCT a)", "first(x * 2)"])
def test_the_text_of_an_aggregate_parses_to_it(text: str) -> None:
    types = {name: parse("1" if name != "x" else "1.5", {}).type for name in ("a", "b", "x")}
    aggregate = parse_aggregate(text, types)
    assert parse_aggregate(aggregate_to_sql(aggregate), types) == aggregate
