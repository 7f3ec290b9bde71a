"""Strategies for what streams consist of: types, schemas, frames, lengths of time, SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from operator import mul
from typing import Any, Final, TypeAlias

import polars as pl
from hypothesis import strategies as st

from drover.network.durations import LONGEST, UNITS, Micros
from drover.network.schema import Column, Schema
from drover.network.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INTEGERS,
    SIMPLE,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
    polars_type,
)

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]  # Any: as Hypothesis types its own `draw`

SIMPLE_TYPES: Final = tuple(dict.fromkeys(SIMPLE.values()))
# Words of SQL are column names too, in backticks; nothing here differs from another in case alone.
COLUMN_NAMES: Final = ("a", "b", "c", "d", "ts", "x1", "_y", "Value", "select", "order", "left", "naam", "k2", "Total")
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
BITS: Final = {kind: 2 ** (width - 1) for kind, width in zip(INTEGERS, (8, 16, 32, 64), strict=True)}


def types() -> st.SearchStrategy[DataType]:
    """Column types, decimals of any precision among them."""
    decimals = st.integers(1, 38).flatmap(lambda digits: st.builds(decimal, st.just(digits), st.integers(0, digits)))
    return st.sampled_from(SIMPLE_TYPES) | decimals


def column_names(taken: Collection[str] = ()) -> st.SearchStrategy[str]:
    """Column names that differ from those taken, upper and lower case being one."""
    lower = {name.lower() for name in taken}
    free = [name for name in COLUMN_NAMES if name.lower() not in lower]
    longer = st.integers(0, 999).map(lambda number: f"n{number}").filter(lambda name: name not in lower)
    return st.sampled_from(free) | longer if free else longer


@st.composite
def schemas(draw: Draw, *, timed: bool | None = None, max_columns: int = 5) -> Schema:
    """Schemas of streams: with event time, without, or (None) either."""
    has_time = draw(st.booleans()) if timed is None else timed
    names = draw(st.lists(st.sampled_from(COLUMN_NAMES), min_size=1, max_size=max_columns, unique=True))
    columns = [Column(name, draw(types())) for name in names]
    if not has_time:
        return Schema(tuple(columns))
    place = draw(st.integers(0, len(columns) - 1))
    columns[place] = Column(columns[place].name, TIMESTAMP)
    return Schema(tuple(columns), columns[place].name)


def durations(least: Micros = 0, most: Micros = LONGEST) -> st.SearchStrategy[Micros]:
    """Lengths of time from `least` to `most` microseconds; whole units before odd ones."""
    counted = [
        st.builds(mul, st.integers(-(-least // unit), min(100, most // unit)), st.just(unit))
        for unit in UNITS.values()
        if max(1, least) <= unit <= most
    ]
    return st.one_of(*counted, st.integers(least, most))


def values(kind: DataType) -> st.SearchStrategy[Any]:
    """Values of a type, never NULL; floats are multiples of 1/8, so that sums do not depend on the order."""
    instants = st.integers(0, 3_600_000).map(lambda ms: START + timedelta(milliseconds=ms))
    if kind.is_integer:
        return st.integers(-10, 10) | st.integers(-BITS[kind], BITS[kind] - 1)
    if kind.is_float:
        return st.integers(-1024, 1024).map(lambda eighths: eighths / 8)
    if kind.name == "decimal":
        most = 10**kind.precision - 1
        # Shifting the point by hand: Decimal's own arithmetic rounds to 28 digits.
        return st.integers(-most, most).map(
            lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
        )
    simple: dict[DataType, st.SearchStrategy[Any]] = {
        BOOLEAN: st.booleans(),
        STRING: st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
        BINARY: st.binary(max_size=8),
        DATE: st.dates(date(1970, 1, 1), date(2100, 1, 1)),
        TIMESTAMP: instants,
    }
    return simple.get(kind, instants.map(lambda instant: instant.replace(tzinfo=None)))


@st.composite
def frames(draw: Draw, schema: Schema, *, max_rows: int = 20) -> pl.DataFrame:
    """Frames with the columns of `schema`; NULL anywhere but in the event time."""
    count = draw(st.integers(0, max_rows))
    columns = []
    for name, kind in schema.types.items():
        cell = values(kind) if name == schema.time else st.none() | values(kind)
        cells = draw(st.lists(cell, min_size=count, max_size=count))
        columns.append(pl.Series(name, cells, dtype=polars_type(kind), strict=True))
    return pl.DataFrame(columns)


def predicates(schema: Schema, side: str = "") -> st.SearchStrategy[str]:
    """SQL predicates over the columns of `schema`, prefixed with `side` (`left.`) in joins."""
    simple = []
    for name, kind in schema.types.items():
        column = f"{side}`{name}`"
        simple += [f"{column} IS NOT NULL", f"{column} IS NULL"]
        simple += [column, f"NOT {column}"] if kind == BOOLEAN else []
        simple += [f"{column} > 3", f"{column} <= 100"] if kind.is_integer or kind.is_float else []
        simple += [f"{column} = {column}"] if kind != BINARY else []
        simple += [f"{column} LIKE '%a%'", f"{column} IN ('a', 'b')"] if kind == STRING else []
    one = st.sampled_from(simple)
    return one | st.builds("({}) {} ({})".format, one, st.sampled_from(("AND", "OR")), one)


def scalars(schema: Schema, side: str = "") -> st.SearchStrategy[str]:
    """SQL expressions over the columns of `schema`, of any type."""
    simple = [f"{side}`{name}`" for name in schema.names]
    for name, kind in schema.types.items():
        column = f"{side}`{name}`"
        simple += [f"coalesce({column}, {column})", f"CASE WHEN {column} IS NULL THEN 1 ELSE 2 END"]
        simple += [f"{column} + 1", f"-{column}", f"abs({column})"] if kind.is_integer else []
        simple += [f"upper({column})"] if kind == STRING else []
    return st.sampled_from([*simple, "1", "'some text'", "TRUE", "CAST(NULL AS DATE)"])


def aggregations(schema: Schema) -> st.SearchStrategy[str]:
    """SQL aggregates over the columns of `schema` that do not depend on the order of rows."""
    simple = ["count(*)"]
    for name, kind in schema.types.items():
        simple += [f"count(`{name}`)"]
        simple += [f"min(`{name}`)", f"max(`{name}`)"] if kind != BINARY else []
        simple += [f"sum(`{name}`)"] if kind.is_integer or kind.is_float else []
    return st.sampled_from(simple)
