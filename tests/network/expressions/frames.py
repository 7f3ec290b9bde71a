"""Frames for expressions: a column or two of every type, full of values that break things.

Rule 1: equal seeds give equal frames. Rule 2: every column may hold NULL.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from drover.network import types
from drover.network.types import (
    BIGINT,
    BINARY,
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
    polars_type,
)

SMALL_DECIMAL: Final = types.decimal(10, 2)
LARGE_DECIMAL: Final = types.decimal(38, 10)
TYPES: Final = (
    BOOLEAN,
    TINYINT,
    SMALLINT,
    INT,
    BIGINT,
    FLOAT,
    DOUBLE,
    STRING,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    BINARY,
    SMALL_DECIMAL,
    LARGE_DECIMAL,
)
COLUMNS: Final[Mapping[str, DataType]] = {
    f"{letter}_{data_type.name}{data_type.precision or ''}": data_type for data_type in TYPES for letter in "pq"
}

BITS: Final = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
DOUBLES: Final = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    0.1,
    0.49999999999999994,
    1e300,
    -1e300,
    5e-324,
    2.0**63,
    -(2.0**63),
    2.0**53,
    4503599627370495.5,
    2147483647.5,
    -2147483648.9,
    127.9,
    128.0,
    math.inf,
    -math.inf,
    math.nan,
    math.nan,
)
STRINGS: Final = (
    "",
    "a",
    "ab",
    "abc",
    "aab",
    " a ",
    "  ",
    "A_b%",
    "\\",
    "a\nb",
    "é",
    "e\u0301",
    "😀",
    "a😀b",
    "Σ",
    "\u0391Σ",
    "ς",
    "ß",
    "İ",
    "\u0131",
    "ﬁ",
    "Ǆ",
    "$1",
    "a,b,,c",
    "\x00",
    "\u2028",
    "\u00a0",
    "12",
    " -7 ",
    "+5",
    "128",
    "1.5",
    "1e3",
    ".5",
    "9223372036854775808",
    "00000000000000000000007",
    "5.",
    "1d",
    "0x10",
    "NaN",
    "nan",
    "Infinity",
    "-inf",
    "1e400",
    "true",
    " T ",
    "no",
    "ON",
    "1",
    "\t3\n",
    "\u30003",
    "\u0661",
    "2024-02-29",
    "2023-02-29",
    "0001-01-01",
    "0000-01-01",
    "9999-12-31",
    "10000-01-01",
    " 2024-01-01 ",
    "2024-1-1",
    "2024-01-01 12:30",
    "2024-01-01T12:30:45.123456",
    "2024-01-01 12:30:45.1Z",
    "2024-01-01 24:00:00",
    "2024-01-01 12:30:60",
    "2024-01-01 12:30:45.1234567",
    "2024-01-01 00:00:00+02:00",
)
DAYS: Final = (
    "0001-01-01",
    "9999-12-31",
    "1970-01-01",
    "1969-12-31",
    "2000-02-29",
    "1900-02-28",
    "2024-12-30",
    "2021-01-03",
    "0004-02-29",
    "1582-10-10",
)
CLOCKS: Final = ("00:00:00", "23:59:59.999999", "12:30:45.100000", "00:00:00.000001", "07:08:09")


def random_value(data_type: DataType, chance: random.Random) -> Any:
    """Return a value that the type can hold, often an awkward one."""
    if chance.random() < 0.15:
        return None
    return MAKERS[data_type.name](data_type, chance)


def random_integer(data_type: DataType, chance: random.Random) -> int:
    edge: int = 2 ** (BITS[data_type] - 1)
    near = [0, 1, -1, 2, 3, 7, -7, 10, edge - 1, -edge, edge // 2, -edge + 1, chance.randrange(-edge, edge)]
    return chance.choice(near)


def random_double(_: DataType, chance: random.Random) -> float:
    return chance.choice([*DOUBLES, chance.uniform(-1e4, 1e4), chance.uniform(-1e19, 1e19), chance.randrange(9)])


def random_float(_: DataType, chance: random.Random) -> float:
    value = chance.choice([*DOUBLES, chance.uniform(-1e4, 1e4), 16777217.0, 3e38])
    return value if math.isnan(value) or abs(value) < 3.4e38 or math.isinf(value) else 1.5


def random_string(_: DataType, chance: random.Random) -> str:
    return chance.choice(STRINGS) if chance.random() < 0.8 else "".join(chance.choices("aAbB ,é😀Σ%_\\1", k=5))


def random_decimal(data_type: DataType, chance: random.Random) -> decimal.Decimal:
    edge = 10**data_type.precision - 1
    whole = chance.choice([0, 1, -1, 50, -50, 150, 199, -199, edge, -edge, chance.randrange(-edge, edge)])
    with decimal.localcontext(prec=50):
        return decimal.Decimal(whole).scaleb(-data_type.scale)


def random_date(_: DataType, chance: random.Random) -> dt.date:
    return chance.choice([*map(dt.date.fromisoformat, DAYS), dt.date.fromordinal(chance.randrange(1, 3652060))])


def random_instant(data_type: DataType, chance: random.Random) -> dt.datetime:
    return dt.datetime.combine(random_date(data_type, chance), dt.time.fromisoformat(chance.choice(CLOCKS)))


MAKERS: Final[Mapping[str, Callable[[DataType, random.Random], Any]]] = {
    **{data_type.name: random_integer for data_type in BITS},
    "double": random_double,
    "float": random_float,
    "string": random_string,
    "boolean": lambda _, chance: chance.random() < 0.5,
    "binary": lambda _, chance: chance.choice([b"", b"a", b"\x00\xff", b"\xf0"]),
    "decimal": random_decimal,
    "date": random_date,
    "timestamp": random_instant,
    "timestamp_ntz": random_instant,
}


def random_frame(chance: random.Random, rows: int, columns: Mapping[str, DataType] = COLUMNS) -> pl.DataFrame:
    """Return a frame with every column of `columns`."""
    series = []
    for name, data_type in columns.items():
        values = [random_value(data_type, chance) for _ in range(rows)]
        if data_type == TIMESTAMP:
            series.append(pl.Series(name, values, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC"))
        elif data_type.is_float:
            floats = [None if value is None else float(value) for value in values]
            series.append(pl.Series(name, floats, dtype=pl.Float64).cast(polars_type(data_type)))
        else:
            series.append(pl.Series(name, values, dtype=polars_type(data_type)))
    return pl.DataFrame(series)


def random_layout(chance: random.Random, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame as Polars may hold it in real life: in several chunks, or with columns of one value.

    Polars has other code for a column that is one value (dividing by it multiplies with 1/x), so the answers differ.
    """
    kind = chance.randrange(3)
    if kind == 0 and frame.height > 1:
        middle = chance.randrange(frame.height)
        return pl.concat([frame[:middle], frame[middle:]], rechunk=False)
    if kind == 1 and frame.height > 0:
        return frame.with_columns(
            pl.lit(frame[name][0], frame.schema[name]).alias(name) for name in frame.columns[1::2]
        )
    return frame
