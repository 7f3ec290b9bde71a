"""From text to a raw tree: what is refused before it costs anything, and what stays as it was written."""

from __future__ import annotations

import sys
from typing import Final

import pytest
from sqlglot import exp

from drover.errors import ExpressionError
from drover.network.expressions.syntax import FRAMES, MAX_NESTING, deep_stack, read
from tests.network.expressions import refusals
from tests.network.expressions.refusals import Refusal

REFUSALS: Final[tuple[Refusal, ...]] = (
    ("row_number() OVER (ORDER BY price)", "no window function", "windowed aggregate"),
    ("(SELECT 1)", "no subquery", "Join the other stream"),
    ("price IN (SELECT 1)", "no subquery", "Join the other stream"),
    ("price; price", "';' has no meaning", "backticks"),
    ("@price", "'@' has no meaning", "backticks"),
    (":price", "':' has no meaning", "backticks"),
    ("x -> x", "'->' has no meaning", "backticks"),
    ("price -- note", "no comments and no hints", "Remove"),
    ("/*+ hint */ price", "no comments and no hints", "Remove"),
    ("price p", "not a SQL expression .at 'p'.", "missing operator"),
    ("", "exactly one expression", "Write one"),
    (r"'\x'", "backslash in a string is not understood", "Write the character itself"),
    ("x'00'", "'00' has no meaning", "backticks"),
    ("x" * 20_001, "at most 20000 characters", "two operators"),
    ("(" * 200 + "price" + ")" * 200, "nests at most 100 levels", "operator before this one"),
)


@pytest.mark.parametrize(("text", "rule", "way_out"), refusals.listed(REFUSALS))
def test_refusal(text: str, rule: str, way_out: str) -> None:
    refusals.check_refusal(text, rule, way_out)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("a", exp.Column, id="a column"),
        pytest.param("a + 1", exp.Add, id="an operator"),
        pytest.param("length(a)", exp.Anonymous, id="a function stays a name"),
        pytest.param("if(a, 1, 2)", exp.Anonymous, id="also one that sqlglot knows"),
        pytest.param("CAST(a AS INT)", exp.TryCast, id="a cast"),
        pytest.param("CASE WHEN a THEN 1 END", exp.Case, id="a case"),
    ],
)
def test_the_kind_of_the_raw_tree(text: str, kind: type[exp.Expr]) -> None:
    assert type(read(text)) is kind


@pytest.mark.parametrize("part", ["(", "NOT ", "- ", "CASE WHEN "], ids=str.strip)
def test_nesting_is_bounded_before_it_is_parsed(part: str) -> None:
    with pytest.raises(ExpressionError, match=f"nests at most {MAX_NESTING} levels"):
        read(part * (MAX_NESTING + 1) + "a")


def test_nesting_up_to_the_bound_is_read() -> None:
    assert isinstance(read("(" * MAX_NESTING + "a" + ")" * MAX_NESTING), exp.Paren)


def test_side_by_side_is_not_nested() -> None:
    assert isinstance(read(" + ".join(["(a)"] * (2 * MAX_NESTING))), exp.Add)


def fail_on_a_deep_stack() -> None:
    with deep_stack():
        assert sys.getrecursionlimit() >= FRAMES
        raise ZeroDivisionError


def test_the_stack_is_deep_only_while_it_is_needed() -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(ZeroDivisionError):
        fail_on_a_deep_stack()
    assert sys.getrecursionlimit() == before
