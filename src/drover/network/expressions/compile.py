"""From the typed tree to Polars and to Spark SQL.

Rule 1: both engines share one walk; only the builder from the function table differs.
Rule 2: this module decides nothing about meaning.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from drover.network.expressions.casts import Cast, find_cast
from drover.network.expressions.functions import FUNCTIONS
from drover.network.expressions.literals import quote_name, spark_literal
from drover.network.expressions.tree import Call, ColumnRef, Expression, Literal
from drover.network.types import TIMESTAMP, polars_type

NameColumn = Callable[[str, str], str]  # (side, column) -> how the engine calls it


def _polars_name(side: str, name: str) -> str:
    """Return the default name of a column in Polars: `x`, or `left.x` in a join."""
    return f"{side}.{name}" if side else name


def _spark_name(side: str, name: str) -> str:
    """Return the default name of a column in Spark SQL: `x`, or `left`.`x` in a join."""
    return f"{quote_name(side)}.{quote_name(name)}" if side else quote_name(name)


def to_polars(expression: Expression, name: NameColumn = _polars_name) -> pl.Expr:
    """Return the expression for Polars; `name` says what the column of a side is called in the frame."""
    if isinstance(expression, ColumnRef):
        return pl.col(name(expression.side, expression.name))
    if isinstance(expression, Literal):
        return _polars_literal(expression)
    assert isinstance(expression, Call)
    arguments = [to_polars(argument, name) for argument in expression.arguments]
    if expression.function == "cast":
        return _cast_of(expression).polars(arguments[0])
    return FUNCTIONS[expression.function].polars(expression, arguments)


def to_spark(expression: Expression, name: NameColumn = _spark_name) -> str:
    """Return the expression as Spark SQL; `name` gives the SQL of a column, backticks included."""
    if isinstance(expression, ColumnRef):
        return name(expression.side, expression.name)
    if isinstance(expression, Literal):
        return spark_literal(expression)
    assert isinstance(expression, Call)
    arguments = [to_spark(argument, name) for argument in expression.arguments]
    if expression.function == "cast":
        return _cast_of(expression).spark(arguments[0])
    return FUNCTIONS[expression.function].spark(expression, arguments)


def _cast_of(call: Call) -> Cast:
    found = find_cast(call.arguments[0].type, call.type)
    assert found is not None, "the checker approved this cast"
    return found


def _polars_literal(literal: Literal) -> pl.Expr:
    """Return the literal with exactly its type, also where it is NULL."""
    if literal.type == TIMESTAMP and literal.value is not None:
        return pl.lit(literal.value, pl.Datetime("us")).dt.replace_time_zone("UTC")
    return pl.lit(literal.value, polars_type(literal.type))
