"""Rows for dates and timestamps, in UTC and in the years 0001 to 9999.

Rule 1: a result outside these years is NULL.
Rule 2: only fixed lengths of time can be added to a timestamp.
Rule 3: nothing here reads the clock; an expression is a function of its row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import polars as pl

from drover.network.expressions.dates import format_to_spark, format_to_strftime, readable_format
from drover.network.expressions.literals import micros
from drover.network.expressions.strings import constant_text
from drover.network.expressions.table import (
    A_COUNT,
    A_DATE,
    A_DAY,
    AN_INSTANT,
    AN_INTEGER,
    Constant,
    PolarsBuilder,
    SparkBuilder,
    SqlFunction,
    first_type,
)
from drover.network.expressions.tree import Call
from drover.network.types import BIGINT, DATE, INT, STRING, TIMESTAMP, polars_type

FIRST_MICRO: Final = micros(dt.datetime.min.replace(tzinfo=dt.UTC))
LAST_MICRO: Final = micros(dt.datetime.max.replace(tzinfo=dt.UTC))
FIRST_DAY: Final = (dt.date.min - dt.date(1970, 1, 1)).days
LAST_DAY: Final = (dt.date.max - dt.date(1970, 1, 1)).days

UNITS: Final[Mapping[str, str]] = {  # of date_trunc, with Polars' word for each
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
}
UNIT: Final = Constant(
    f"one of {', '.join(UNITS)}, in quotes",
    (STRING,),
    lambda value: isinstance(value, str) and value.lower() in UNITS,
    tuple(f"'{unit}'" for unit in UNITS),
)
FORMAT: Final = Constant(
    "made of yyyy MM dd HH mm ss, signs and 'quoted words', in quotes",
    (STRING,),
    readable_format,
    ("'yyyy-MM-dd'", "'yyyy/MM/dd HH:mm:ss'", "'HHmm'", "\"yyyy'Q%d'MM\"", "'dd.MM.yyyy'"),
)


def _within(value: str, first: int, last: int) -> str:
    """Return SQL for `value`, a bigint, or NULL outside first..last, mentioning `value` once.

    Shifting the range to the end of bigint and back makes every number outside it overflow, which TRY_ADD turns
    into NULL. CASE would have to repeat `value`, and nested expressions would grow without bound.
    """
    up = 2**63 - 1 - last
    down = 2**63 + first
    below = f"TRY_SUBTRACT(TRY_ADD({value}, {up}L), {up}L)"
    return f"TRY_ADD(TRY_SUBTRACT({below}, {down}L), {down}L)"


def _polars_within(value: pl.Expr, first: int, last: int) -> pl.Expr:
    return pl.when(value.is_between(first, last)).then(value)


def _as_timestamp(call: Call, index: int, sql: str) -> str:
    """Return the argument as a Spark timestamp; most of Spark's functions take no other kind of time."""
    return sql if call.arguments[index].type == TIMESTAMP else f"CAST({sql} AS TIMESTAMP)"


def _like_argument(call: Call, sql: str) -> str:
    """Return a Spark timestamp as the kind of time the call promises."""
    return sql if call.type == TIMESTAMP else f"CAST({sql} AS TIMESTAMP_NTZ)"


def _part(name: str, polars: Callable[[pl.Expr], pl.Expr], clock: bool = False, **more: tuple[str, ...]) -> SqlFunction:
    """Return the row that takes one number out of a date or timestamp."""
    return SqlFunction(
        name,
        (AN_INSTANT if clock else A_DAY,),
        INT,
        lambda _, a: polars(a[0]).cast(pl.Int32),
        lambda c, a: f"{name.upper()}({_as_timestamp(c, 0, a[0]) if clock else a[0]})",
        aliases=more.get("aliases", ()),
    )


def _unix(name: str, size: int) -> SqlFunction:
    """Return the row that counts units of `size` microseconds since 1970, rounded down."""
    return SqlFunction(
        f"unix_{name}",
        (AN_INSTANT,),
        BIGINT,
        lambda _, a: a[0].to_physical() // size,
        lambda c, a: f"UNIX_{name.upper()}({_as_timestamp(c, 0, a[0])})",
    )


def _from_unix(name: str, size: int) -> SqlFunction:
    """Return the row that turns a count of units of `size` microseconds since 1970 into a timestamp."""

    def polars(_: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        count = _polars_within(args[0].cast(pl.Int64), -(-FIRST_MICRO // size), LAST_MICRO // size)
        return (count * size).cast(polars_type(TIMESTAMP))

    def spark(_: Call, args: Sequence[str]) -> str:
        count = f"TRY_MULTIPLY(CAST({args[0]} AS BIGINT), {size}L)"
        return f"TIMESTAMP_MICROS({_within(count, FIRST_MICRO, LAST_MICRO)})"

    return SqlFunction(f"timestamp_{name}", (AN_INTEGER,), TIMESTAMP, polars, spark, copies=2)


def _polars_shift_days(sign: int) -> PolarsBuilder:
    def build(_: Call, args: Sequence[pl.Expr]) -> pl.Expr:
        day = args[0].to_physical().cast(pl.Int64) + sign * args[1].cast(pl.Int64)
        return _polars_within(day, FIRST_DAY, LAST_DAY).cast(pl.Int32).cast(pl.Date)

    return build


def _spark_shift_days(function: str) -> SparkBuilder:
    def build(_: Call, args: Sequence[str]) -> str:
        day = f"{function}(CAST(UNIX_DATE({args[0]}) AS BIGINT), CAST({args[1]} AS BIGINT))"
        return f"DATE_FROM_UNIX_DATE(CAST({_within(day, FIRST_DAY, LAST_DAY)} AS INT))"

    return build


def _polars_shift(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Add microseconds to a timestamp; they are a literal that fits, so the sum of 64-bit numbers does too."""
    moved = args[0].to_physical() + args[1]
    return _polars_within(moved, FIRST_MICRO, LAST_MICRO).cast(polars_type(call.type))


def _spark_shift(call: Call, args: Sequence[str]) -> str:
    moved = f"TRY_ADD(UNIX_MICROS({_as_timestamp(call, 0, args[0])}), {args[1]})"
    return _like_argument(call, f"TIMESTAMP_MICROS({_within(moved, FIRST_MICRO, LAST_MICRO)})")


def _polars_trunc(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    return args[1].dt.truncate(UNITS[constant_text(call, 0).lower()])


def _polars_format(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    instant = args[0].cast(pl.Datetime("us")) if call.arguments[0].type == DATE else args[0]
    return instant.dt.strftime(format_to_strftime(constant_text(call, 1)))


MAX_SHIFT: Final = LAST_MICRO - FIRST_MICRO
MICROS: Final = Constant(
    "an INTERVAL of at most 9999 years",
    (BIGINT,),
    lambda value: isinstance(value, int) and abs(value) <= MAX_SHIFT,
    ("INTERVAL '5' MINUTE", "INTERVAL '-3' DAY", "INTERVAL '2' WEEK", "INTERVAL '900000' HOUR", "INTERVAL 7 SECONDS"),
)

TIMES: Final = (
    _part("year", lambda x: x.dt.year()),
    _part("quarter", lambda x: x.dt.quarter()),
    _part("month", lambda x: x.dt.month()),
    _part("day", lambda x: x.dt.day(), aliases=("dayofmonth",)),
    _part("dayofweek", lambda x: x.dt.weekday() % 7 + 1),
    _part("weekday", lambda x: x.dt.weekday() - 1),
    _part("dayofyear", lambda x: x.dt.ordinal_day()),
    _part("weekofyear", lambda x: x.dt.week()),
    _part("hour", lambda x: x.dt.hour(), clock=True),
    _part("minute", lambda x: x.dt.minute(), clock=True),
    _part("second", lambda x: x.dt.second(), clock=True),
    _unix("micros", 1),
    _unix("millis", 1_000),
    _unix("seconds", 1_000_000),
    _from_unix("micros", 1),
    _from_unix("millis", 1_000),
    _from_unix("seconds", 1_000_000),
    SqlFunction(
        "date_trunc",
        (UNIT, AN_INSTANT),
        lambda types: types[1],
        _polars_trunc,
        lambda c, a: _like_argument(c, f"DATE_TRUNC({a[0]}, {_as_timestamp(c, 1, a[1])})"),
    ),
    SqlFunction(
        "to_date",
        (A_DAY,),
        DATE,
        lambda _, a: a[0].cast(pl.Date),
        lambda _, a: f"CAST({a[0]} AS DATE)",
        aliases=("date",),
    ),
    SqlFunction(
        "date_add",
        (A_DATE, A_COUNT),
        DATE,
        _polars_shift_days(1),
        _spark_shift_days("TRY_ADD"),
        copies=2,
        aliases=("dateadd",),
    ),
    SqlFunction(
        "date_sub", (A_DATE, A_COUNT), DATE, _polars_shift_days(-1), _spark_shift_days("TRY_SUBTRACT"), copies=2
    ),
    SqlFunction(
        "datediff",
        (A_DATE, A_DATE),
        INT,
        lambda _, a: a[0].to_physical() - a[1].to_physical(),
        lambda _, a: f"DATEDIFF({a[0]}, {a[1]})",
        aliases=("date_diff",),
    ),
    SqlFunction("last_day", (A_DATE,), DATE, lambda _, a: a[0].dt.month_end(), lambda _, a: f"LAST_DAY({a[0]})"),
    SqlFunction(
        "date_format",
        (A_DAY, FORMAT),
        STRING,
        _polars_format,
        lambda c, a: f"DATE_FORMAT({_as_timestamp(c, 0, a[0])}, {format_to_spark(constant_text(c, 1))})",
    ),
    # What `ts + INTERVAL` means; the interval has become a count of microseconds.
    SqlFunction("shift", (AN_INSTANT, MICROS), first_type, _polars_shift, _spark_shift, form="({0} + {1})", copies=2),
)

INTERVAL_MICROS: Final[Mapping[str, int]] = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
EXTRACTS: Final[Mapping[str, str]] = {  # EXTRACT(unit FROM x) and the function that means it
    "year": "year",
    "years": "year",
    "quarter": "quarter",
    "month": "month",
    "months": "month",
    "week": "weekofyear",
    "weeks": "weekofyear",
    "day": "day",
    "days": "day",
    "dayofweek": "dayofweek",
    "dow": "dayofweek",
    "doy": "dayofyear",
    "hour": "hour",
    "hours": "hour",
    "minute": "minute",
    "minutes": "minute",
}
