"""Rows for strings, which are sequences of Unicode code points, never bytes or UTF-16 units.

Rule 1: positions count from 1, as in SQL.
Rule 2: patterns and counts are literals, so that their size is bounded.
Rule 3: there are no regular expressions for users, because the dialects of Java and Rust differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from drover.network.expressions.like import like_to_regex, like_to_spark, readable_pattern
from drover.network.expressions.literals import quote
from drover.network.expressions.logic import called
from drover.network.expressions.table import A_COUNT, A_STRING, Constant, PolarsBuilder, SqlFunction
from drover.network.expressions.text_size import joined, joined_with, padded, repeated, replaced
from drover.network.expressions.tree import Call, Literal, Value
from drover.network.types import BOOLEAN, INT, INTEGERS, STRING

CAPITAL_SIGMA: Final = "\u03a3"
SMALL_SIGMA: Final = "\u03c3"
MAX_INT: Final = 2**31 - 1  # the length that Spark takes where none is given
MAX_COUNT: Final = 10_000  # characters that lpad, rpad and repeat may produce per character of their argument


def constant_text(call: Call, index: int) -> str:
    """Return the value of an argument that the table guarantees to be a string literal."""
    argument = call.arguments[index]
    assert isinstance(argument, Literal)
    assert isinstance(argument.value, str)
    return argument.value


def _constant_count(call: Call, index: int) -> int:
    """Return the value of an argument that the table guarantees to be a whole literal."""
    argument = call.arguments[index]
    assert isinstance(argument, Literal)
    assert isinstance(argument.value, int)
    return argument.value


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_count(value: Value) -> bool:
    return isinstance(value, int) and value <= MAX_COUNT


TEXT: Final = Constant("a string, written out", (STRING,), _is_text, ("'a'", "''", "'ab'", "'é'", "'$1'", "' '"))
COUNT: Final = Constant(
    f"a whole number up to {MAX_COUNT}, written out", INTEGERS, _is_count, ("0", "1", "3", "7", "-1")
)
PART: Final = Constant(
    "a whole number other than 0, written out",
    INTEGERS,
    lambda value: isinstance(value, int) and 0 < abs(value) <= MAX_COUNT,
    ("1", "2", "-1", "-2", "5"),
)
PATTERN: Final = Constant(
    "a pattern of up to 1000 characters, written out, in which \\ stands only before % _ or \\",
    (STRING,),
    readable_pattern,
    ("'%a%'", "'_'", "'a%'", "'%'", "''", "'%b'", "'a\\\\_%'", "'%\\n%'", "'_%_'", "'é_'", "'ab'", "'%a%b'"),
)


def _polars_substring(_: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    """Take code points from `position`, which counts from 1, or from the end if negative; 0 means 1.

    If the start is before the text, Polars and Spark both count the missing characters: substring('abc', -5, 3) is 'a'.
    """
    position = args[1].cast(pl.Int64)
    length = args[2].cast(pl.Int64) if len(args) == 3 else pl.lit(MAX_INT, pl.Int64)
    start = pl.when(position > 0).then(position - 1).otherwise(position)
    taken = args[0].str.slice(start, pl.max_horizontal(length, pl.lit(0, pl.Int64)))
    return pl.when(position.is_not_null() & length.is_not_null()).then(taken)  # to Polars, no length means all


def _polars_position(text: pl.Expr, part: pl.Expr) -> pl.Expr:
    # Polars finds bytes; the code points before them are counted by cutting there.
    before = text.cast(pl.Binary).bin.slice(pl.lit(0), text.str.find(part, literal=True)).cast(pl.String)
    found = before.str.len_chars().cast(pl.Int32) + 1
    return (
        pl.when(text.str.contains(part, literal=True))
        .then(found)
        .when(text.is_not_null() & part.is_not_null())
        .then(pl.lit(0, pl.Int32))
    )


def _padding(call: Call) -> str:
    size = _constant_count(call, 1)
    pad = constant_text(call, 2) if len(call.arguments) == 3 else " "
    return (pad * max(size, 0))[: max(size, 0)]


def _polars_lpad(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    size = max(_constant_count(call, 1), 0)
    text = args[0]
    missing = (size - text.str.len_chars().cast(pl.Int64)).clip(lower_bound=0)
    return pl.concat_str([pl.lit(_padding(call)).str.slice(pl.lit(0), missing), text.str.head(size)])


def _polars_rpad(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    size = max(_constant_count(call, 1), 0)
    return pl.concat_str([args[0], pl.lit(_padding(call))]).str.head(size)


def _polars_repeat(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    times = max(_constant_count(call, 1), 0)
    # Joining a list of NULLs, or an empty list, gives an empty string, not NULL.
    repeated = args[0].repeat_by(pl.lit(times, pl.UInt32)).list.join("")
    return pl.when(args[0].is_not_null()).then(repeated)


def _polars_replace(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    old = constant_text(call, 1)
    return args[0].str.replace_all(old, constant_text(call, 2), literal=True) if old else args[0]


def _polars_split_part(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    by = constant_text(call, 1)
    part = _constant_count(call, 2)
    index = part - 1 if part > 0 else part
    if not by:
        return pl.when(args[0].is_not_null()).then(args[0] if part in (1, -1) else pl.lit(""))
    found = args[0].str.split(by).list.get(index, null_on_oob=True)
    return pl.when(args[0].is_not_null()).then(found.fill_null(""))


def _polars_reverse(_: Call, args: Sequence[pl.Expr]) -> pl.Expr:
    # str.reverse keeps a letter and its accents together; Spark reverses code points.
    return args[0].str.split("").list.reverse().list.join("")


def _each(method: Callable[[pl.Expr], pl.Expr]) -> PolarsBuilder:
    return lambda _, a: method(a[0])


STRINGS: Final = (
    SqlFunction(
        "length",
        (A_STRING,),
        INT,
        _each(lambda x: x.str.len_chars().cast(pl.Int32)),
        called("CHAR_LENGTH"),
        aliases=("char_length", "character_length", "len"),
    ),
    SqlFunction(
        "octet_length", (A_STRING,), INT, _each(lambda x: x.str.len_bytes().cast(pl.Int32)), called("OCTET_LENGTH")
    ),
    SqlFunction(
        "upper", (A_STRING,), STRING, _each(lambda x: x.str.to_uppercase()), called("UPPER"), aliases=("ucase",)
    ),
    # The small form of the Greek sigma depends on its neighbours, and on the Unicode version of each engine:
    # here it is never the final one.
    SqlFunction(
        "lower",
        (A_STRING,),
        STRING,
        _each(lambda x: x.str.replace_all(CAPITAL_SIGMA, SMALL_SIGMA, literal=True).str.to_lowercase()),
        lambda _, a: f"LOWER(REPLACE({a[0]}, {quote(CAPITAL_SIGMA)}, {quote(SMALL_SIGMA)}))",
        aliases=("lcase",),
    ),
    SqlFunction(
        "concat",
        (A_STRING,),
        STRING,
        lambda _, a: pl.concat_str(list(a)),
        called("CONCAT"),
        aliases=("||",),
        repeats=True,
        length=joined,
    ),
    SqlFunction(
        "concat_ws",
        (TEXT, A_STRING),
        STRING,
        lambda c, a: pl.concat_str(list(a[1:]), separator=constant_text(c, 0), ignore_nulls=True),
        called("CONCAT_WS"),
        repeats=True,
        length=joined_with,
    ),
    SqlFunction(
        "substring",
        (A_STRING, A_COUNT, A_COUNT),
        STRING,
        _polars_substring,
        called("SUBSTRING"),
        aliases=("substr", "mid"),
        optional=1,
        copies=4,
    ),
    SqlFunction(
        "left",
        (A_STRING, A_COUNT),
        STRING,
        lambda _, a: a[0].str.head(a[1].cast(pl.Int64).clip(lower_bound=0)),
        called("LEFT"),
    ),
    SqlFunction(
        "right",
        (A_STRING, A_COUNT),
        STRING,
        lambda _, a: a[0].str.tail(a[1].cast(pl.Int64).clip(lower_bound=0)),
        called("RIGHT"),
    ),
    SqlFunction("trim", (A_STRING,), STRING, _each(lambda x: x.str.strip_chars(" ")), called("TRIM")),
    SqlFunction("ltrim", (A_STRING,), STRING, _each(lambda x: x.str.strip_chars_start(" ")), called("LTRIM")),
    SqlFunction("rtrim", (A_STRING,), STRING, _each(lambda x: x.str.strip_chars_end(" ")), called("RTRIM")),
    SqlFunction(
        "startswith", (A_STRING, A_STRING), BOOLEAN, lambda _, a: a[0].str.starts_with(a[1]), called("STARTSWITH")
    ),
    SqlFunction("endswith", (A_STRING, A_STRING), BOOLEAN, lambda _, a: a[0].str.ends_with(a[1]), called("ENDSWITH")),
    SqlFunction(
        "contains",
        (A_STRING, A_STRING),
        BOOLEAN,
        lambda _, a: a[0].str.contains(a[1], literal=True),
        called("CONTAINS"),
    ),
    SqlFunction(
        "instr", (A_STRING, A_STRING), INT, lambda _, a: _polars_position(a[0], a[1]), called("INSTR"), copies=4
    ),
    SqlFunction(
        "locate",
        (A_STRING, A_STRING),
        INT,
        lambda _, a: _polars_position(a[1], a[0]),
        called("LOCATE"),
        aliases=("position",),
        copies=4,
    ),
    SqlFunction("replace", (A_STRING, TEXT, TEXT), STRING, _polars_replace, called("REPLACE"), length=replaced),
    SqlFunction("repeat", (A_STRING, COUNT), STRING, _polars_repeat, called("REPEAT"), copies=2, length=repeated),
    SqlFunction(
        "lpad", (A_STRING, COUNT, TEXT), STRING, _polars_lpad, called("LPAD"), optional=1, copies=2, length=padded
    ),
    SqlFunction("rpad", (A_STRING, COUNT, TEXT), STRING, _polars_rpad, called("RPAD"), optional=1, length=padded),
    SqlFunction("split_part", (A_STRING, TEXT, PART), STRING, _polars_split_part, called("SPLIT_PART"), copies=2),
    SqlFunction("reverse", (A_STRING,), STRING, _polars_reverse, called("REVERSE")),
    SqlFunction(
        "like",
        (A_STRING, PATTERN),
        BOOLEAN,
        lambda c, a: a[0].str.contains(like_to_regex(constant_text(c, 1))),
        lambda c, a: f"({a[0]} LIKE {like_to_spark(constant_text(c, 1))})",
        form="({0} LIKE {1})",
    ),
)
