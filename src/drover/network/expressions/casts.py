"""CAST: which pairs of types have one, and what it means in both engines.

Rule 1: CAST never fails; a value that cannot be read or does not fit becomes NULL.
Rule 2: a pair of types that is not in the table is refused, with the way out beside it.
Rule 3: text is read by the formats stated here; Spark would accept more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from drover.errors import ExpressionError
from drover.network.expressions.literals import CLOCK_FORMAT, DATE_FORMAT, quote
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    polars_type,
    spark_type,
)

BLANKS: Final = "".join(map(chr, range(0x21))) + "\x7f"  # what Spark trims before reading a number
BLANK: Final = r"[\x00-\x20\x7F]*"
NUMBER_FORMAT: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?|[+-]?(?:Infinity|Inf)|NaN"
TRUE_WORDS: Final = ("t", "true", "y", "yes", "1")
FALSE_WORDS: Final = ("f", "false", "n", "no", "0")


@dataclass(frozen=True, slots=True)
class Cast:
    """The two meanings of one CAST, which must be the same."""

    polars: Callable[[pl.Expr], pl.Expr]
    spark: Callable[[str], str]
    copies: int = 1


def _plain(target: DataType) -> Cast:
    """Return a cast for which both engines already agree."""
    return Cast(lambda x: x.cast(polars_type(target), strict=False), lambda x: f"TRY_CAST({x} AS {spark_type(target)})")


def _float_to_bigint() -> Cast:
    # Spark turns 2^63, which does not fit, into the largest bigint, which no other double becomes; one more and one
    # less makes that NULL.
    return Cast(
        lambda x: x.cast(pl.Int64, strict=False),
        lambda x: f"TRY_SUBTRACT(TRY_ADD(TRY_CAST({x} AS BIGINT), 1L), 1L)",
    )


def _matching(x: str, pattern: str) -> str:
    """Return SQL for the part of `x` in the group of `pattern`, or an empty string; it mentions `x` once."""
    return f"REGEXP_EXTRACT({x}, {quote(pattern)}, 1)"


def _extract(x: pl.Expr, pattern: str) -> pl.Expr:
    return x.str.extract(pattern, 1)


def _string_to_integer(target: DataType) -> Cast:
    pattern = rf"\A{BLANK}([+-]?[0-9]+){BLANK}\z"
    return Cast(
        lambda x: _extract(x, pattern).cast(polars_type(target), strict=False),
        lambda x: f"TRY_CAST({x} AS {spark_type(target)})",
    )


def _string_to_float(target: DataType) -> Cast:
    # Spark would also read 1d, 1f and hexadecimal numbers.
    pattern = rf"\A{BLANK}({NUMBER_FORMAT}){BLANK}\z"
    return Cast(
        lambda x: _extract(x, pattern).cast(polars_type(target), strict=False),
        lambda x: f"TRY_CAST({_matching(x, pattern)} AS {spark_type(target)})",
    )


def _string_to_boolean() -> Cast:
    def polars(x: pl.Expr) -> pl.Expr:
        word = x.str.strip_chars(BLANKS).str.to_lowercase()
        words = {**dict.fromkeys(TRUE_WORDS, True), **dict.fromkeys(FALSE_WORDS, False)}
        return word.replace_strict(words, default=None, return_dtype=pl.Boolean)

    return Cast(polars, lambda x: f"TRY_CAST({x} AS BOOLEAN)")


def _string_to_date() -> Cast:
    pattern = rf"\A *({DATE_FORMAT}) *\z"
    return Cast(
        lambda x: _extract(x, pattern).str.to_date("%Y-%m-%d", strict=False),
        lambda x: f"TRY_CAST({_matching(x, pattern)} AS DATE)",
    )


def _string_to_instant(target: DataType) -> Cast:
    zone = "Z?" if target == TIMESTAMP else ""
    pattern = rf"\A *({DATE_FORMAT}(?:[ T]{CLOCK_FORMAT})?){zone} *\z"

    def polars(x: pl.Expr) -> pl.Expr:
        # All forms are brought to the longest one: 2024-02-29 12:30 becomes 2024-02-29T12:30:00.000000.
        text = _extract(x, pattern)
        full = pl.concat_str([text, text.str.len_chars().replace_strict(FILLERS, default="", return_dtype=pl.String)])
        whole = full.str.replace(" ", "T", literal=True)
        read = whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
        return read.dt.replace_time_zone("UTC") if target == TIMESTAMP else read

    return Cast(polars, lambda x: f"TRY_CAST({_matching(x, pattern)} AS {spark_type(target)})", copies=2)


FILLERS: Final = {10: "T00:00:00.0", 16: ":00.0", 19: ".0"}


def _instant_to_string() -> Cast:
    def polars(x: pl.Expr) -> pl.Expr:
        return x.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.strip_chars_end("0").str.strip_chars_end(".")

    return Cast(polars, lambda x: f"CAST({x} AS STRING)")


def _cast_table() -> dict[tuple[DataType, DataType], Cast]:
    """Return every cast between types without parameters."""
    numbers = (*INTEGERS, *FLOATS)
    table = {(a, b): _plain(b) for a in numbers for b in numbers if a != b}
    # These replace plain casts: Spark would turn 2^63 into the largest bigint.
    table |= {(a, BIGINT): _float_to_bigint() for a in FLOATS}
    table |= {(BOOLEAN, number): _plain(number) for number in numbers}
    table |= {(number, BOOLEAN): Cast(lambda x: x != 0, lambda x: f"({x} <> 0)") for number in INTEGERS}
    table |= {(a, STRING): _plain(STRING) for a in (*INTEGERS, BOOLEAN, DATE)}
    table |= {(a, STRING): _instant_to_string() for a in (TIMESTAMP, TIMESTAMP_NTZ)}
    table |= {(STRING, number): _string_to_integer(number) for number in INTEGERS}
    table |= {(STRING, number): _string_to_float(number) for number in FLOATS}
    table |= {(STRING, BOOLEAN): _string_to_boolean(), (STRING, DATE): _string_to_date()}
    table |= {(STRING, target): _string_to_instant(target) for target in (TIMESTAMP, TIMESTAMP_NTZ)}
    table |= {(DATE, target): _plain(target) for target in (TIMESTAMP, TIMESTAMP_NTZ)}
    table |= {(a, DATE): _plain(DATE) for a in (TIMESTAMP, TIMESTAMP_NTZ)}
    table[TIMESTAMP, TIMESTAMP_NTZ] = Cast(
        lambda x: x.dt.replace_time_zone(None), lambda x: f"CAST({x} AS TIMESTAMP_NTZ)"
    )
    table[TIMESTAMP_NTZ, TIMESTAMP] = Cast(lambda x: x.dt.replace_time_zone("UTC"), lambda x: f"CAST({x} AS TIMESTAMP)")
    return table


CASTS: Final[Mapping[tuple[DataType, DataType], Cast]] = _cast_table()
# Polars rounds a decimal twice on its way to a float; its text is exact.
DECIMAL_TO_DOUBLE: Final = Cast(lambda x: x.cast(pl.String).cast(pl.Float64), lambda x: f"CAST({x} AS DOUBLE)")


def _decimal_to_integer(target: DataType) -> Cast:
    return Cast(
        lambda x: _extract(x.cast(pl.String), r"\A(-?[0-9]+)").cast(polars_type(target), strict=False),
        lambda x: f"TRY_CAST({x} AS {spark_type(target)})",
    )


def find_cast(source: DataType, target: DataType) -> Cast | None:
    """Return the cast from `source` to `target`, if there is one with the same meaning in both engines."""
    if source.name == "decimal" and target == DOUBLE:
        return DECIMAL_TO_DOUBLE
    if source.name == "decimal" and target.is_integer:
        return _decimal_to_integer(target)
    return CASTS.get((source, target))


def refuse_cast(source: DataType, target: DataType, text: str) -> ExpressionError:
    """Return the error for a cast that is not in the table."""
    if source.is_float and target == STRING:
        why = "the digits of a printed double differ between engines"
        way_out = "Cast to bigint or int first."
    elif source.name in ("timestamp", "timestamp_ntz") and target.is_numeric:
        why = "a timestamp is not a number"
        way_out = "Write unix_micros(x), unix_millis(x) or unix_seconds(x)."
    elif source.is_numeric and target == TIMESTAMP:
        why = "a number is not a timestamp"
        way_out = "Write timestamp_micros(x) or timestamp_seconds(x)."
    elif source.is_float and target == BOOLEAN:
        why = "a double is not a boolean"
        way_out = "Write x <> 0."
    elif target.name == "decimal":
        why = "the engines round decimals differently"
        way_out = "Cast to double, or keep the column as it is."
    elif source.name == "decimal" and target == FLOAT:
        why = "decimals go to double or whole numbers only"
        way_out = "Cast to double, then to float."
    else:
        why = "there is no such cast"
        way_out = "Cast through another type, or see docs/reference/expressions.md for all casts."
    return ExpressionError(text, f"{source} cannot be cast to {target}: {why}", way_out)
