"""Constants: how their text is parsed, and how they are written in Spark SQL.

Rule 1: no character of a user's string reaches Spark's parser unless it is on the list of harmless ones.
Rule 2: a date or timestamp is one of the years 0001 to 9999, which both engines and Python can hold.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from drover.errors import ExpressionError
from drover.network.expressions.tree import Literal
from drover.network.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    spark_type,
)

YEAR: Final = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9][0-9]|[1-9][0-9][0-9][0-9])"
DATE_FORMAT: Final = rf"{YEAR}-[0-9][0-9]-[0-9][0-9]"
CLOCK_FORMAT: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
TIMESTAMP_FORMAT: Final = rf"{DATE_FORMAT}(?:[ T]{CLOCK_FORMAT})?"
DATE_WORDS: Final = "yyyy-MM-dd, years 0001 to 9999"
TIMESTAMP_WORDS: Final = f"yyyy-MM-dd[ HH:mm[:ss[.ffffff]]] ({DATE_WORDS.split(', ')[1]}), and Z at the end for UTC"

EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND: Final = dt.timedelta(microseconds=1)
INTEGER_RANGE: Final = {TINYINT: 2**7, SMALLINT: 2**15, INT: 2**31, BIGINT: 2**63}

# Everything else goes through hexadecimal digits. `$` is not harmless: Spark replaces ${...} before parsing.
HARMLESS: Final = re.compile(r"[A-Za-z0-9 _.,:;/()+*=<>!?@%&|~^-]*")


def read_number(text: str) -> Literal:
    """Return the literal that `text`, a number without a sign, stands for."""
    if re.fullmatch(r"[0-9]+", text):
        return integer_literal(int(text), text)
    if not re.fullmatch(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", text):
        raise ExpressionError(text, "this is not a number", "Write for example 12, 1.5 or 1e3.")
    value = float(text)
    if value == float("inf"):
        raise ExpressionError(text, "the largest double is about 1.8e308", "Write CAST('Infinity' AS DOUBLE).")
    return Literal(DOUBLE, value)


def integer_literal(value: int, text: str) -> Literal:
    """Return `value` as an int, or as a bigint if only that holds it."""
    for data_type in (INT, BIGINT):
        if -INTEGER_RANGE[data_type] <= value < INTEGER_RANGE[data_type]:
            return Literal(data_type, value)
    raise ExpressionError(text, "a whole number must fit into a bigint", f"Write {text}.0 for a double.")


def read_date(text: str) -> Literal:
    """Return the literal DATE 'text'."""
    try:
        if re.fullmatch(DATE_FORMAT, text.strip(" ")):
            return Literal(DATE, dt.date.fromisoformat(text.strip(" ")))
    except ValueError:
        pass
    raise ExpressionError(text, f"a date is written {DATE_WORDS}", "Write for example DATE '2024-02-29'.")


def read_timestamp(text: str, data_type: DataType) -> Literal:
    """Return the literal TIMESTAMP 'text' or TIMESTAMP_NTZ 'text'."""
    zone = "Z?" if data_type == TIMESTAMP else ""
    try:
        if re.fullmatch(TIMESTAMP_FORMAT + zone, text.strip(" ")):
            return Literal(data_type, dt.datetime.fromisoformat(text.strip(" ").removesuffix("Z")))
    except ValueError:
        pass
    way_out = "Write for example TIMESTAMP '2024-02-29 12:30:00'."
    raise ExpressionError(text, f"a {data_type} is written {TIMESTAMP_WORDS}", way_out)


def micros(value: dt.datetime) -> int:
    """Return the microseconds since 1970 of a time in UTC. Literals have no zone: all of them are UTC."""
    return (value.replace(tzinfo=dt.UTC) - EPOCH) // MICROSECOND


def quote(text: str) -> str:
    """Return a Spark SQL string that means exactly `text`, whatever its characters and Spark's settings."""
    if HARMLESS.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def quote_name(name: str) -> str:
    """Return a column name as Spark SQL writes it."""
    if "${" in name:
        raise ExpressionError(name, "Spark would replace the ${ in this column name", "Rename the column.")
    if "\0" in name:
        raise ExpressionError(name, "Arrow holds no column name with a NUL character", "Rename the column.")
    return "`" + name.replace("`", "``") + "`"


def spark_literal(literal: Literal) -> str:
    """Return the literal as Spark SQL that has its type and its value."""
    if literal.value is None:
        return f"CAST(NULL AS {spark_type(literal.type)})"
    return WRITERS[literal.type](literal.value)


WRITERS: Final[Mapping[DataType, Callable[[Any], str]]] = {  # the SQL of a value that is not NULL
    BOOLEAN: lambda value: "TRUE" if value else "FALSE",
    TINYINT: "({}Y)".format,
    SMALLINT: "({}S)".format,
    INT: "({})".format,
    BIGINT: "({}L)".format,
    FLOAT: "({!r}F)".format,
    DOUBLE: "({!r}D)".format,
    STRING: quote,
    DATE: "DATE'{}'".format,
    TIMESTAMP: lambda value: f"TIMESTAMP_MICROS({micros(value)}L)",  # no text, so no time zone either
    TIMESTAMP_NTZ: lambda value: f"TIMESTAMP_NTZ'{value.isoformat(sep=' ', timespec='microseconds')}'",
}
