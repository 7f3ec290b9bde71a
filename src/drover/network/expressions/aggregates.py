"""Aggregates that can be computed in parts and merged, in any order of rows.

Rule 1: the answer does not depend on the order of rows, except in the last digits of sums of floats.
Rule 2: `first` and `last` go by event time, then by value; there is no other order in a stream.
Rule 3: a total that does not fit is NULL only if the exact total does not fit; intermediate overflow does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import polars as pl
from sqlglot import exp

from drover.errors import ExpressionError, nearest
from drover.network.expressions import check
from drover.network.expressions.compile import to_polars, to_spark
from drover.network.expressions.functions import BY_NAME
from drover.network.expressions.literals import quote_name
from drover.network.expressions.scalar import KEPT, LONGEST_KEPT, MANY, translate_node
from drover.network.expressions.syntax import read
from drover.network.expressions.table import A_NUMBER, ANYTHING, ORDERABLE, Parameter
from drover.network.expressions.tree import ONLY, Expression, Literal
from drover.network.types import BIGINT, DOUBLE, DataType

ALIASES: Final = {"mean": "avg", "stddev_samp": "stddev", "std": "stddev", "var_samp": "variance"}


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate call; `argument` is None for count(*)."""

    function: str  # a row of AGGREGATES
    argument: Expression | None
    type: DataType

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """The columns its argument uses, as (side, name)."""
        return self.argument.columns if self.argument is not None else frozenset()


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate: what it takes, and its two meanings on (argument, time)."""

    takes: Parameter
    gives: Callable[[DataType], DataType]
    polars: Callable[[pl.Expr, pl.Expr, DataType], pl.Expr]
    spark: Callable[[str, str, DataType], str]


def _total_type(argument: DataType) -> DataType:
    return BIGINT if argument.is_integer else DOUBLE


def _same(argument: DataType) -> DataType:
    return argument


def _polars_sum(x: pl.Expr, _: pl.Expr, argument: DataType) -> pl.Expr:
    wide = pl.Int128() if argument.is_integer else pl.Float64()
    return (
        pl.when(x.count() > 0)
        .then(x.cast(wide).sum())
        .cast(pl.Int64 if argument.is_integer else pl.Float64, strict=False)
    )


def _spark_sum(x: str, _: str, argument: DataType) -> str:
    if argument.is_integer:
        return f"TRY_CAST(SUM(CAST({x} AS DECIMAL(38,0))) AS BIGINT)"
    return f"SUM(CAST({x} AS DOUBLE))"


def _polars_avg(x: pl.Expr, _: pl.Expr, argument: DataType) -> pl.Expr:
    wide = pl.Int128() if argument.is_integer else pl.Float64()
    total = x.cast(wide).sum().cast(pl.Float64)
    return pl.when(x.count() > 0).then(total / x.count())


def _spark_avg(x: str, _: str, argument: DataType) -> str:
    if argument.is_integer:
        return f"TRY_DIVIDE(CAST(SUM(CAST({x} AS DECIMAL(38,0))) AS DOUBLE), CAST(COUNT({x}) AS DOUBLE))"
    return f"TRY_DIVIDE(SUM(CAST({x} AS DOUBLE)), CAST(COUNT({x}) AS DOUBLE))"


def _polars_max(x: pl.Expr, _: pl.Expr, argument: DataType) -> pl.Expr:
    return x.nan_max() if argument.is_float else x.max()  # NaN is the largest number


def _polars_first(x: pl.Expr, time: pl.Expr, _: DataType) -> pl.Expr:
    # Not first(): after sort_by, Polars 2.1 lets it turn a NULL of a comparison with NULL into FALSE.
    return x.sort_by(time, x, nulls_last=False, maintain_order=True).get(0, null_on_oob=True)


def _polars_last(x: pl.Expr, time: pl.Expr, _: DataType) -> pl.Expr:
    return x.sort_by(time, x, nulls_last=False, maintain_order=True).get(-1, null_on_oob=True)


AGGREGATES: Final[Mapping[str, AggregateFunction]] = {
    "count": AggregateFunction(
        ANYTHING, lambda _: BIGINT, lambda x, _, __: x.count().cast(pl.Int64), lambda x, _, __: f"COUNT({x})"
    ),
    "count distinct": AggregateFunction(
        ORDERABLE,
        lambda _: BIGINT,
        lambda x, _, __: x.drop_nulls().n_unique().cast(pl.Int64),
        lambda x, _, __: f"COUNT(DISTINCT {x})",
    ),
    "sum": AggregateFunction(A_NUMBER, _total_type, _polars_sum, _spark_sum),
    "avg": AggregateFunction(A_NUMBER, lambda _: DOUBLE, _polars_avg, _spark_avg),
    "min": AggregateFunction(ORDERABLE, _same, lambda x, _, __: x.min(), lambda x, _, __: f"MIN({x})"),
    "max": AggregateFunction(ORDERABLE, _same, _polars_max, lambda x, _, __: f"MAX({x})"),
    "stddev": AggregateFunction(
        A_NUMBER,
        lambda _: DOUBLE,
        lambda x, _, __: x.cast(pl.Float64).std(),
        lambda x, _, __: f"STDDEV_SAMP(CAST({x} AS DOUBLE))",
    ),
    "variance": AggregateFunction(
        A_NUMBER,
        lambda _: DOUBLE,
        lambda x, _, __: x.cast(pl.Float64).var(),
        lambda x, _, __: f"VAR_SAMP(CAST({x} AS DOUBLE))",
    ),
    "first": AggregateFunction(
        ORDERABLE, _same, _polars_first, lambda x, time, _: f"MIN(STRUCT({time} AS t, {x} AS x)).x"
    ),
    "last": AggregateFunction(
        ORDERABLE, _same, _polars_last, lambda x, time, _: f"MAX(STRUCT({time} AS t, {x} AS x)).x"
    ),
}


def parse_aggregate(text: str, columns: Mapping[str, DataType]) -> AggregateCall:
    """Return the one aggregate call that `text` is, e.g. sum(price * 2)."""
    parse = _parse if len(text) <= LONGEST_KEPT and len(columns) <= MANY else _parse.__wrapped__
    return parse(text, tuple(columns.items()))


@lru_cache(KEPT)
def _parse(text: str, key: tuple[tuple[str, DataType], ...]) -> AggregateCall:
    columns = dict(key)
    node = read(text)
    name = node.this.lower() if isinstance(node, exp.Anonymous) and isinstance(node.this, str) else ""
    name = ALIASES.get(name, name)
    if name and name not in AGGREGATES and name not in BY_NAME:
        known = ", ".join(AGGREGATES)
        raise ExpressionError(text, f"there is no aggregate {name!r}", f"{nearest(name, AGGREGATES)}Known: {known}.")
    if name not in AGGREGATES:
        way_out = f"Write one of {', '.join(AGGREGATES)} around the rest, e.g. sum(a + b), and compute on it later."
        raise ExpressionError(text, "there must be exactly one aggregate, on the outside", way_out)
    arguments = node.expressions
    if len(arguments) != 1:
        raise ExpressionError(text, f"{name} takes one argument, not {len(arguments)}", "Write for example sum(x).")
    inner = arguments[0]
    if isinstance(inner, exp.Star):
        return _count_rows(name, text)
    if isinstance(inner, exp.Distinct):
        if name != "count" or len(inner.expressions) != 1:
            raise ExpressionError(
                text,
                "DISTINCT goes with count and one argument",
                "Write count(DISTINCT x), or `distinct` for a column of this name.",
            )
        # To all others it is an aggregate of its own: it cannot be computed from partial counts.
        name = "count distinct"
        inner = inner.expressions[0]
    return _check_argument(name, translate_node(inner, text, {ONLY: columns}), text)


def _count_rows(name: str, text: str) -> AggregateCall:
    if name != "count":
        raise ExpressionError(text, "* goes with count only", "Name a column.")
    return AggregateCall("count", None, BIGINT)


def _check_argument(name: str, argument: Expression, text: str) -> AggregateCall:
    """Return the aggregate if it can take `argument`."""
    row = AGGREGATES[name]
    if not row.takes.accepts(argument.type):
        hint = check.decimal_hint(argument.type) or "Write a CAST, or another column."
        rule = f"the argument of {name} must be {row.takes.words}, not {check.article(argument.type)}"
        raise ExpressionError(text, rule, hint)
    if name == "count" and isinstance(argument, Literal) and argument.value is not None:
        return AggregateCall("count", None, BIGINT)  # count(1)
    if not argument.columns:
        way_out = "Write count(*), or name a column; one named like a constant goes into `backticks`."
        raise ExpressionError(text, "the argument uses no column", way_out)
    return AggregateCall(name, argument, row.gives(argument.type))


def aggregate_to_polars(aggregate: AggregateCall, time: str) -> pl.Expr:
    """Return the aggregate for group_by().agg(); `time` is the column of event times, for first and last."""
    if aggregate.argument is None:
        return pl.len().cast(pl.Int64)
    x = to_polars(aggregate.argument)
    return AGGREGATES[aggregate.function].polars(x, pl.col(time), aggregate.argument.type)


def aggregate_to_spark(aggregate: AggregateCall, time: str) -> str:
    """Return the aggregate as Spark SQL; `time` is the column of event times, for first and last."""
    if aggregate.argument is None:
        return "COUNT(*)"
    x = to_spark(aggregate.argument)
    return AGGREGATES[aggregate.function].spark(x, quote_name(time), aggregate.argument.type)
