"""SQL expressions with one meaning in Polars and in Spark.

Rule 1: text becomes a typed tree of allowed functions or an ExpressionError, never anything else.
Rule 2: an expression never fails on a row: overflow, division by zero and unreadable text give NULL.
Rule 3: an expression that the two engines cannot compute equally, bit for bit, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from drover.errors import ExpressionError
from drover.network.expressions.aggregates import (
    AggregateCall,
    aggregate_to_polars,
    aggregate_to_spark,
    parse_aggregate,
)
from drover.network.expressions.check import require_boolean
from drover.network.expressions.compile import to_polars, to_spark
from drover.network.expressions.scalar import parse_columns
from drover.network.expressions.tree import LEFT, ONLY, RIGHT, Call, ColumnRef, Expression, Literal
from drover.network.types import DataType


def parse(text: str, columns: Mapping[str, DataType]) -> Expression:
    """Return the expression that `text` means on rows with `columns`."""
    return parse_columns(text, {ONLY: columns})


def parse_pair(text: str, left: Mapping[str, DataType], right: Mapping[str, DataType]) -> Expression:
    """Return an expression over two rows, whose columns are left.x and right.y (or x, if just one has it)."""
    return parse_columns(text, {LEFT: left, RIGHT: right})


def parse_predicate(text: str, columns: Mapping[str, DataType]) -> Expression:
    """Return the condition that `text` means on rows with `columns`; it must be a boolean."""
    return require_boolean(parse(text, columns), text)


def parse_pair_predicate(text: str, left: Mapping[str, DataType], right: Mapping[str, DataType]) -> Expression:
    """Return a condition over two rows; it must be a boolean."""
    return require_boolean(parse_pair(text, left, right), text)


__all__ = [
    "AggregateCall",
    "Call",
    "ColumnRef",
    "Expression",
    "ExpressionError",
    "Literal",
    "aggregate_to_polars",
    "aggregate_to_spark",
    "parse",
    "parse_aggregate",
    "parse_pair",
    "parse_pair_predicate",
    "parse_predicate",
    "to_polars",
    "to_spark",
]
