from __future__ import annotations

import pytest

from drover.errors import ExpressionError
from drover.network.expressions import parse
from drover.network.expressions.scalar import LONGEST_KEPT
from drover.network.types import INT, STRING


def test_a_cached_text_still_depends_on_the_columns() -> None:
    assert parse("a", {"a": INT}).type == INT
    assert parse("a", {"a": STRING}).type == STRING
    assert parse("a", {"b": INT, "a": INT}) == parse("a", {"a": INT, "b": INT})
    for _ in range(2):
        with pytest.raises(ExpressionError, match="no column 'a'"):
            parse("a", {"b": INT})


def test_only_short_texts_are_cached() -> None:
    short, long = "a + 1", " + ".join(["(a)"] * 20) + " " * LONGEST_KEPT
    assert parse(short, {"a": INT}) is parse(short, {"a": INT})
    assert parse(long, {"a": INT}) is not parse(long, {"a": INT})
    assert parse(long, {"a": INT}) == parse(long.strip(), {"a": INT})
