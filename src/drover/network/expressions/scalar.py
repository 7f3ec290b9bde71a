"""Scalar expressions: from text to a typed tree in one step.

Rule 1: this is the only door; no text reaches the compiler without passing the checks behind it.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from drover.errors import ExpressionError
from drover.network.expressions.compile import to_spark
from drover.network.expressions.syntax import deep_stack, read
from drover.network.expressions.translate import Columns, Translator
from drover.network.expressions.tree import UNTYPED, Expression


def parse_columns(text: str, columns: Columns) -> Expression:
    """Return the expression that `text` means on rows with `columns`, by side."""
    return translate_node(read(text), text, columns)


def translate_node(node: exp.Expr, text: str, columns: Columns) -> Expression:
    """Return the typed tree of a raw one, or refuse."""
    try:
        with deep_stack():
            expression = Translator(text, columns).translate(node)
    except (RecursionError, SqlglotError):
        rule = "this expression is nested too deeply to be read"
        raise ExpressionError(text, rule, "Compute a part of it in an operator before this one.") from None
    if expression.type == UNTYPED:
        raise ExpressionError(text, "this NULL has no type", "Write for example CAST(NULL AS INT).")
    to_spark(expression)  # a column name that Spark cannot be told is found now, not when the query runs
    return expression
