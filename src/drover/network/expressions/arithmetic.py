"""Rows for numbers: operators, rounding, remainders and bits.

Rule 1: whole numbers never wrap and never fail; a result that does not fit is NULL.
Rule 2: a quotient or remainder by zero is NULL, for doubles too.
Rule 3: a function is here only if IEEE 754 fixes its every bit. exp, ln, pow and the like are not: the last digit
of the two engines differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl

from drover.network.expressions.table import (
    A_FLOAT,
    A_NUMBER,
    AN_INTEGER,
    Constant,
    PolarsBuilder,
    SparkBuilder,
    SqlFunction,
    first_type,
)
from drover.network.expressions.tree import Call, Literal, Value
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGERS,
    DataType,
    polars_type,
    spark_type,
)

TOO_LARGE: Final = "9.223372036854775808E18D"  # 2^63, the first double above every bigint


def _wider(data_type: DataType) -> pl.DataType:
    """Return a type in which + - * and // of two values of `data_type` are exact."""
    return pl.Int128() if data_type == BIGINT else pl.Int64()


def _exact(operate: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> PolarsBuilder:
    """Return a builder that computes whole numbers in a wider type; a result that does not fit back is NULL."""

    def build(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        if call.type.is_float:
            return operate(args[0], args[1])
        wide = _wider(call.type)
        return operate(args[0].cast(wide), args[1].cast(wide)).cast(polars_type(call.type), strict=False)

    return build


def _trying(function: str, operator: str) -> SparkBuilder:
    """Return a builder for `operator`; in Spark, `function` is its name where it can overflow."""

    def build(call: Call, args: Sequence[str]) -> str:
        if call.type.is_float:
            return f"({args[0]} {operator} {args[1]})"
        return f"{function}({args[0]}, {args[1]})"

    return build


def _polars_negate(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    if call.type.is_float:
        return -args[0]
    return (0 - args[0].cast(_wider(call.type))).cast(polars_type(call.type), strict=False)


def _spark_negate(call: Call, args: Sequence[str]) -> str:
    if call.type.is_float:
        return f"(- {args[0]})"
    return f"TRY_SUBTRACT(CAST(0 AS {spark_type(call.type)}), {args[0]})"


def _polars_abs(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    if call.type.is_float:
        return args[0].abs()
    return args[0].cast(_wider(call.type)).abs().cast(polars_type(call.type), strict=False)


def _spark_abs(call: Call, args: Sequence[str]) -> str:
    if call.type.is_float:
        return f"ABS({args[0]})"
    wide = "DECIMAL(20,0)" if call.type == BIGINT else "BIGINT"
    return f"TRY_CAST(ABS(CAST({args[0]} AS {wide})) AS {spark_type(call.type)})"


def _by_numpy(ufunc: np.ufunc, call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Return a quotient or remainder of floats computed by numpy, NULL where the divisor is zero.

    Polars divides by a column of one value by multiplying with 1/b, and rounds twice in `%`. Both are wrong in the last
    digit (7 / 1.5). We found no condition that hides a divisor of one value from it.
    """

    def operate(columns: Sequence[pl.Series]) -> pl.Series:
        a, b = (column.to_numpy() for column in columns)
        with np.errstate(all="ignore"):
            return pl.Series(columns[0].name, ufunc(a, b), dtype=columns[0].dtype)

    a, b = args
    result = pl.map_batches([a, b], operate, return_dtype=polars_type(call.type), is_elementwise=True)
    return pl.when(a.is_not_null() & (b != 0)).then(result)  # numpy has no NULL


def _polars_divide(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    return _by_numpy(np.divide, call, args)


def _polars_div(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Truncate toward zero: Polars rounds down, which is one less if the signs differ and there is a remainder."""
    wide = _wider(call.arguments[0].type)
    a = args[0].cast(wide)
    b = args[1].cast(wide)
    short = (a % b != 0) & ((a < 0) ^ (b < 0))
    return (a // b + short.cast(wide)).cast(pl.Int64, strict=False)


def _spark_div(call: Call, args: Sequence[str]) -> str:
    a, b = args
    divisor = call.arguments[1]
    quotient = f"({a} DIV {b})"
    if isinstance(divisor, Literal) and divisor.value not in (0, -1, None):
        return quotient
    if call.arguments[0].type != BIGINT:  # only the smallest bigint overflows, because DIV gives a bigint
        return f"CASE WHEN {b} <> 0 THEN {quotient} END"
    return f"CASE WHEN {b} = -1 THEN TRY_SUBTRACT(0L, {a}) WHEN {b} <> 0 THEN {quotient} END"


def _polars_mod(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    a, b = args
    if call.type.is_float:
        return _by_numpy(np.fmod, call, args)
    # Polars gives the remainder the sign of the divisor, Spark that of the dividend.
    differs = (a % b != 0) & ((a < 0) ^ (b < 0))
    return a % b - b * differs.cast(polars_type(call.type))


def _polars_whole(name: str) -> PolarsBuilder:
    def build(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        rounded: pl.Expr = getattr(args[0], name)() if call.arguments[0].type.is_float else args[0]
        return rounded.cast(pl.Int64, strict=False)

    return build


def _spark_whole(name: str) -> SparkBuilder:
    def build(call: Call, args: Sequence[str]) -> str:
        x = args[0]
        if not call.arguments[0].type.is_float:
            return f"CAST({x} AS BIGINT)"
        # FLOOR and CEIL saturate or fail beyond a bigint, depending on spark.sql.ansi.enabled. NaN is the largest.
        return f"CASE WHEN {x} >= -{TOO_LARGE} AND {x} < {TOO_LARGE} THEN {name}({x}) END"

    return build


def _polars_round(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    return args[0].round(0, mode="half_away_from_zero") if call.type.is_float else args[0]


def _spark_round(call: Call, args: Sequence[str]) -> str:
    return f"ROUND({args[0]})" if call.type.is_float else args[0]


def _positive(value: Value) -> bool:
    return isinstance(value, int) and value > 0


A_DIVISOR: Final = Constant("a whole number above 0, written out", INTEGERS, _positive, ("7", "1", "256", "86400"))


ARITHMETIC: Final = (
    SqlFunction(
        "+",
        (A_NUMBER, A_NUMBER),
        first_type,
        _exact(lambda a, b: a + b),
        _trying("TRY_ADD", "+"),
        form="({0} + {1})",
        shared="all",
    ),
    SqlFunction(
        "-",
        (A_NUMBER, A_NUMBER),
        first_type,
        _exact(lambda a, b: a - b),
        _trying("TRY_SUBTRACT", "-"),
        form="({0} - {1})",
        shared="all",
    ),
    SqlFunction(
        "*",
        (A_NUMBER, A_NUMBER),
        first_type,
        _exact(lambda a, b: a * b),
        _trying("TRY_MULTIPLY", "*"),
        form="({0} * {1})",
        shared="all",
    ),
    SqlFunction(
        "/",
        (A_NUMBER, A_NUMBER),
        DOUBLE,
        _polars_divide,
        lambda _, a: f"TRY_DIVIDE({a[0]}, {a[1]})",
        form="({0} / {1})",
        through=DOUBLE,
        copies=2,
    ),
    SqlFunction(
        "div", (AN_INTEGER, AN_INTEGER), BIGINT, _polars_div, _spark_div, form="({0} DIV {1})", shared="all", copies=4
    ),
    SqlFunction(
        "%",
        (A_NUMBER, A_NUMBER),
        first_type,
        _polars_mod,
        lambda _, a: f"TRY_MOD({a[0]}, {a[1]})",
        aliases=("mod",),
        form="({0} % {1})",
        shared="all",
        copies=4,
    ),
    SqlFunction(
        "pmod",
        (AN_INTEGER, A_DIVISOR),
        first_type,
        lambda _, a: a[0] % a[1],
        lambda _, a: f"PMOD({a[0]}, {a[1]})",
        shared="all",
    ),
    SqlFunction("negative", (A_NUMBER,), first_type, _polars_negate, _spark_negate, form="(- {0})"),
    SqlFunction("abs", (A_NUMBER,), first_type, _polars_abs, _spark_abs),
    SqlFunction(
        "sign",
        (A_NUMBER,),
        DOUBLE,
        lambda _, a: a[0].sign(),
        lambda _, a: f"SIGN({a[0]})",
        aliases=("signum",),
        through=DOUBLE,
    ),
    SqlFunction("floor", (A_NUMBER,), BIGINT, _polars_whole("floor"), _spark_whole("FLOOR"), copies=3),
    SqlFunction(
        "ceil", (A_NUMBER,), BIGINT, _polars_whole("ceil"), _spark_whole("CEIL"), aliases=("ceiling",), copies=3
    ),
    SqlFunction(
        "round",
        (A_NUMBER,),
        first_type,
        _polars_round,
        _spark_round,
        count_hint="For two digits write floor(x * 100 + 0.5) / 100; the engines print digits differently.",
    ),
    SqlFunction("sqrt", (A_NUMBER,), DOUBLE, lambda _, a: a[0].sqrt(), lambda _, a: f"SQRT({a[0]})", through=DOUBLE),
    SqlFunction(
        "isnan", (A_FLOAT,), BOOLEAN, lambda _, a: a[0].is_nan().fill_null(False), lambda _, a: f"ISNAN({a[0]})"
    ),
    SqlFunction(
        "&",
        (AN_INTEGER, AN_INTEGER),
        first_type,
        lambda _, a: a[0] & a[1],
        lambda _, a: f"({a[0]} & {a[1]})",
        form="({0} & {1})",
        shared="all",
    ),
    SqlFunction(
        "|",
        (AN_INTEGER, AN_INTEGER),
        first_type,
        lambda _, a: a[0] | a[1],
        lambda _, a: f"({a[0]} | {a[1]})",
        form="({0} | {1})",
        shared="all",
    ),
    SqlFunction(
        "^",
        (AN_INTEGER, AN_INTEGER),
        first_type,
        lambda _, a: a[0] ^ a[1],
        lambda _, a: f"({a[0]} ^ {a[1]})",
        form="({0} ^ {1})",
        shared="all",
    ),
    SqlFunction("~", (AN_INTEGER,), first_type, lambda _, a: ~a[0], lambda _, a: f"(~ {a[0]})", form="(~ {0})"),
)
