"""Scalar expressions: from text to a typed tree in one step.

Rule 1: this is the only entry; every text is checked here before it reaches the compiler.
Rule 2: the trees of short texts are cached. A network parses each text when it is checked and again when it is
compiled. Sharing a tree is safe because trees are frozen.
Rule 3: a tree depends only on the columns that its text names. Of wide rows, the others are not even looked at.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from drover.errors import ExpressionError
from drover.network.expressions.compile import to_spark
from drover.network.expressions.syntax import deep_stack, read
from drover.network.expressions.translate import Columns, Translator
from drover.network.expressions.tree import UNTYPED, Expression
from drover.network.types import DataType

KEPT: Final = 1_024  # trees
MANY: Final = 100  # columns; the key of more takes longer than to parse a short text
WORD: Final = re.compile(r"\w+")
LONGEST_KEPT: Final = 1_000  # characters, so that the cache stays below about 50 MB

Key = tuple[tuple[str, tuple[tuple[str, DataType], ...]], ...]  # Columns, but hashable


def parse_columns(text: str, columns: Columns) -> Expression:
    """Return the expression that `text` means on rows with `columns`, by side."""
    if sum(map(len, columns.values())) <= MANY:
        return _parse_kept(text, columns)
    words = sorted(set(WORD.findall(text)))
    named = {side: {word: types[word] for word in words if word in types} for side, types in columns.items()}
    try:
        return _parse_kept(text, named)
    except ExpressionError:
        # An error lists all columns, and a name in backticks need not be a word.
        return translate_node(read(text), text, columns)


def _parse_kept(text: str, columns: Columns) -> Expression:
    key = tuple((side, tuple(types.items())) for side, types in columns.items())
    return _parse(text, key) if len(text) <= LONGEST_KEPT else _parse.__wrapped__(text, key)


@lru_cache(KEPT)
def _parse(text: str, key: Key) -> Expression:
    return translate_node(read(text), text, {side: dict(types) for side, types in key})


def translate_node(node: exp.Expr, text: str, columns: Columns) -> Expression:
    """Return the typed tree of a raw one, or refuse."""
    try:
        with deep_stack():
            expression = Translator(text, columns).translate(node)
            if expression.type == UNTYPED:
                raise ExpressionError(text, "this NULL has no type", "Write for example CAST(NULL AS INT).")
    except (RecursionError, SqlglotError):
        rule = "this expression is nested too deeply to be read"
        raise ExpressionError(text, rule, "Compute a part of it in an operator before this one.") from None
    except ExpressionError as error:
        raise ExpressionError(error.found, error.rule, error.way_out + _hidden_columns(node, columns)) from None
    to_spark(expression)  # a column name that cannot be written in Spark SQL is refused now, not when the query runs
    return expression


def _hidden_columns(node: exp.Expr, columns: Columns) -> str:
    """Return a hint if a constant such as NULL hides a column of the same name, which may have been meant."""
    written = {
        "null" if isinstance(found, exp.Null) else str(found.this) for found in node.find_all(exp.Null, exp.Boolean)
    }
    words = {word.lower() for word in written}
    hidden = sorted({name for names in columns.values() for name in names if name.lower() in words})
    return f" If the column {hidden[0]} is meant, put it into `backticks`." if hidden else ""
