"""Rows for truth: comparisons, three-valued logic, and choosing among values.

Rule 1: NaN equals itself and is the largest number, -0.0 equals 0.0, strings compare by their bytes.
Rule 2: AND, OR and NOT have three values; a condition that is NULL selects nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from drover.network.expressions.table import (
    A_BOOLEAN,
    ANYTHING,
    ORDERABLE,
    ORDERED,
    Constant,
    PolarsBuilder,
    SparkBuilder,
    SqlFunction,
    first_type,
    last_type,
)
from drover.network.expressions.tree import Call, Literal
from drover.network.types import BOOLEAN, STRING, DataType, polars_type

Comparison = Callable[[pl.Expr, pl.Expr], pl.Expr]


def _compare(name: str, polars: Comparison, mirrored: Comparison) -> SqlFunction:
    """Return the row of one comparison; `mirrored` means the same with its operands exchanged."""

    def build(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        # If a column is one value throughout (it was a literal once), Polars 2.1 compares a constant on its left to
        # one row only; a constant on its right is fine.
        constant_first = not call.arguments[0].columns and call.arguments[1].columns
        return mirrored(args[1], args[0]) if constant_first else polars(args[0], args[1])

    return SqlFunction(
        name,
        (ORDERABLE, ORDERABLE),
        BOOLEAN,
        build,
        lambda _, a: f"({a[0]} {name} {a[1]})",
        form=f"({{0}} {name} {{1}})",
        shared="all",
    )


def _balanced(args: Sequence[pl.Expr], join: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> pl.Expr:
    """Join many expressions in a tree of logarithmic depth, so that 500 terms do not exhaust a stack."""
    if len(args) == 1:
        return args[0]
    middle = len(args) // 2
    return join(_balanced(args[:middle], join), _balanced(args[middle:], join))


def _polars_case(_: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Build CASE from its flat arguments: condition, value, condition, value, ..., default."""
    chain = pl.when(args[0]).then(args[1])
    if len(args) == 3:
        return chain.otherwise(args[2])
    longer = chain.when(args[2]).then(args[3])
    for i in range(4, len(args) - 1, 2):
        longer = longer.when(args[i]).then(args[i + 1])
    return longer.otherwise(args[-1])


def _spark_case(_: Call, args: Sequence[str]) -> str:
    branches = "".join(f" WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2))
    return f"CASE{branches} ELSE {args[-1]} END"


def _polars_in(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    values = [item.value for item in call.arguments[1:] if isinstance(item, Literal)]
    known = pl.Series([value for value in values if value is not None], dtype=_literal_type(call.arguments[0].type))
    if call.arguments[0].type.name == "timestamp":
        known = known.dt.replace_time_zone("UTC")
    found = args[0].is_in(pl.lit(known).implode())
    # x IN (1, NULL) is TRUE or NULL, never FALSE.
    return found if None not in values else pl.when(found).then(True)


def _literal_type(data_type: DataType) -> pl.DataType:
    return pl.Datetime("us") if data_type.name == "timestamp" else polars_type(data_type)


def _polars_extreme(largest: bool) -> PolarsBuilder:
    """Return the builder of greatest or least, which skip NULL; NaN is the largest number."""

    def build(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        if call.type == STRING:  # Polars compares no strings across columns, but sorts lists of them
            ranked = pl.concat_list(args).list.sort(nulls_last=not largest)
            return ranked.list.last() if largest else ranked.list.first()
        if call.type == BOOLEAN:
            numbers = [arg.cast(pl.Int8) for arg in args]
            return (pl.max_horizontal(numbers) if largest else pl.min_horizontal(numbers)).cast(pl.Boolean)
        if call.type.is_float and largest:
            nan = pl.any_horizontal([arg.is_nan().fill_null(False) for arg in args])  # max_horizontal skips NaN
            return pl.when(nan).then(pl.lit(math.nan, polars_type(call.type))).otherwise(pl.max_horizontal(args))
        return pl.max_horizontal(args) if largest else pl.min_horizontal(args)

    return build


def _polars_coalesce(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    if call.arguments[0].columns:
        return pl.coalesce(list(args))
    # Polars stops at a constant that is not NULL, and then forgets to make it as long as the frame.
    rest = pl.coalesce(list(args[1:])) if len(args) > 1 else args[0]
    return pl.when(args[0].is_not_null()).then(args[0]).otherwise(rest)


def _joined(word: str) -> SparkBuilder:
    return lambda _, a: "(" + f" {word} ".join(a) + ")"


def called(name: str) -> SparkBuilder:
    """Return a builder for a Spark function that takes the arguments as they are."""
    return lambda _, a: f"{name}({', '.join(a)})"


AN_ITEM: Final = Constant("a literal (for other values write x = a OR x = b)", ORDERED, lambda _: True, ("NULL",))

LOGIC: Final = (
    _compare("=", operator.eq, operator.eq),
    _compare("<>", operator.ne, operator.ne),
    _compare("<", operator.lt, operator.gt),
    _compare("<=", operator.le, operator.ge),
    _compare(">", operator.gt, operator.lt),
    _compare(">=", operator.ge, operator.le),
    _compare("<=>", pl.Expr.eq_missing, pl.Expr.eq_missing),
    SqlFunction(
        "is null",
        (ANYTHING,),
        BOOLEAN,
        lambda _, a: a[0].is_null(),
        lambda _, a: f"({a[0]} IS NULL)",
        aliases=("isnull",),
        form="({0} IS NULL)",
    ),
    SqlFunction(
        "is not null",
        (ANYTHING,),
        BOOLEAN,
        lambda _, a: a[0].is_not_null(),
        lambda _, a: f"({a[0]} IS NOT NULL)",
        aliases=("isnotnull",),
        form="({0} IS NOT NULL)",
    ),
    SqlFunction(
        "in",
        (ORDERABLE, AN_ITEM),
        BOOLEAN,
        _polars_in,
        lambda _, a: f"({a[0]} IN ({', '.join(a[1:])}))",
        form="({0} IN ({rest}))",
        shared="all",
        repeats=True,
    ),
    SqlFunction(
        "and",
        (A_BOOLEAN, A_BOOLEAN),
        BOOLEAN,
        lambda _, a: _balanced(a, lambda x, y: x & y),
        _joined("AND"),
        form="({0} AND {1})",
        repeats=True,
    ),
    SqlFunction(
        "or",
        (A_BOOLEAN, A_BOOLEAN),
        BOOLEAN,
        lambda _, a: _balanced(a, lambda x, y: x | y),
        _joined("OR"),
        form="({0} OR {1})",
        repeats=True,
    ),
    SqlFunction("not", (A_BOOLEAN,), BOOLEAN, lambda _, a: ~a[0], lambda _, a: f"(NOT {a[0]})", form="(NOT {0})"),
    SqlFunction("if", (A_BOOLEAN, ANYTHING, ANYTHING), last_type, _polars_case, _spark_case, shared="branches"),
    SqlFunction(
        "case",
        (A_BOOLEAN, ANYTHING, ANYTHING),
        last_type,
        _polars_case,
        _spark_case,
        form="CASE WHEN {0} THEN {1} ELSE {2} END",
        shared="branches",
        repeats=True,
    ),
    SqlFunction(
        "coalesce",
        (ANYTHING,),
        first_type,
        _polars_coalesce,
        called("COALESCE"),
        aliases=("ifnull", "nvl"),
        shared="all",
        repeats=True,
        copies=2,
    ),
    SqlFunction(
        "greatest",
        (ORDERABLE, ORDERABLE),
        first_type,
        _polars_extreme(largest=True),
        called("GREATEST"),
        shared="all",
        repeats=True,
        copies=2,
    ),
    SqlFunction(
        "least",
        (ORDERABLE, ORDERABLE),
        first_type,
        _polars_extreme(largest=False),
        called("LEAST"),
        shared="all",
        repeats=True,
    ),
)
