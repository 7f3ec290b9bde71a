"""Column types: those that Spark, Arrow and Polars all have, under Spark's names.

Rule 1: a type is a frozen value; two types are the same if and only if they are equal.
Rule 2: timestamps count microseconds. `timestamp` is an instant (UTC), `timestamp_ntz` a wall-clock time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa

from drover.errors import ExpressionError, nearest

MAX_PRECISION: Final = 38  # digits of a decimal, in Spark and in Arrow's decimal128


@dataclass(frozen=True, slots=True)
class DataType:
    """A column type; `precision` and `scale` are digits and are 0 for all but decimals."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def is_known(self) -> bool:
        """Whether the type exists; one that is constructed directly may not."""
        if self.name == "decimal":
            return 1 <= self.precision <= MAX_PRECISION and 0 <= self.scale <= self.precision
        return SIMPLE.get(self.name) == self

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers of 8 to 64 bits."""
        return self in INTEGERS

    @property
    def is_float(self) -> bool:
        """Whether values are IEEE 754 numbers."""
        return self in FLOATS

    @property
    def is_numeric(self) -> bool:
        """Whether values can be added: integers, floats and decimals."""
        return self.is_integer or self.is_float or self.name == "decimal"


BOOLEAN: Final = DataType("boolean")
TINYINT: Final = DataType("tinyint")
SMALLINT: Final = DataType("smallint")
INT: Final = DataType("int")
BIGINT: Final = DataType("bigint")
FLOAT: Final = DataType("float")
DOUBLE: Final = DataType("double")
STRING: Final = DataType("string")
BINARY: Final = DataType("binary")
DATE: Final = DataType("date")
TIMESTAMP: Final = DataType("timestamp")
TIMESTAMP_NTZ: Final = DataType("timestamp_ntz")

INTEGERS: Final = (TINYINT, SMALLINT, INT, BIGINT)  # from narrow to wide
FLOATS: Final = (FLOAT, DOUBLE)


def decimal(precision: int, scale: int) -> DataType:
    """Return the type of exact numbers with `precision` digits, `scale` of them after the point."""
    return DataType("decimal", precision, scale)


# Spark's own synonyms are taken too; a network always prints the first name.
SIMPLE: Final = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}

POLARS: Final[dict[DataType, pl.DataType]] = {
    BOOLEAN: pl.Boolean(),
    TINYINT: pl.Int8(),
    SMALLINT: pl.Int16(),
    INT: pl.Int32(),
    BIGINT: pl.Int64(),
    FLOAT: pl.Float32(),
    DOUBLE: pl.Float64(),
    STRING: pl.String(),
    BINARY: pl.Binary(),
    DATE: pl.Date(),
    TIMESTAMP: pl.Datetime("us", "UTC"),
    TIMESTAMP_NTZ: pl.Datetime("us"),
}

ARROW: Final[dict[DataType, pa.DataType]] = {
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    TIMESTAMP_NTZ: pa.timestamp("us"),
}

DECIMAL_TEXT: Final = re.compile(r"(?:decimal|dec|numeric)(?:\(\s*(\d{1,3})\s*(?:,\s*(\d{1,3})\s*)?\))?")


def parse_type(text: str) -> DataType:
    """Return the type that `text` names as Spark would read it, e.g. `bigint` or `decimal(10,2)`."""
    word = text.strip().lower()
    if word in SIMPLE:
        return SIMPLE[word]
    if match := DECIMAL_TEXT.fullmatch(word):
        found = decimal(int(match[1] or 10), int(match[2] or 0))  # Spark's default is decimal(10,0)
        if not found.is_known:
            raise ExpressionError(
                text,
                f"a decimal has 1 to {MAX_PRECISION} digits and no more of them after the point than in total",
                "Write for example decimal(10,2).",
            )
        return found
    hint = nearest(word, SIMPLE)
    known = ", ".join(sorted({str(t) for t in SIMPLE.values()}))
    raise ExpressionError(text, "there is no such column type", f"{hint}Known: {known}, decimal(p,s).")


def polars_type(data_type: DataType) -> pl.DataType:
    """Return the Polars type that holds the same values."""
    if data_type.name == "decimal":
        return pl.Decimal(data_type.precision, data_type.scale)
    return POLARS[data_type]


def arrow_type(data_type: DataType) -> pa.DataType:
    """Return the Arrow type that holds the same values."""
    if data_type.name == "decimal":
        return pa.decimal128(data_type.precision, data_type.scale)
    return ARROW[data_type]


def spark_type(data_type: DataType) -> str:
    """Return the type as Spark's DDL writes it, e.g. `bigint`."""
    return str(data_type)
