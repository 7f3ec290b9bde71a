"""Rows for the sources of a network, such that any engine must compute the same from them.

Rule 1: floats are multiples of 1/8 in a modest range, so that sums are exact and do not depend on the order.
Rule 2: no row is late: disorder stays within the lateness of its source.
Rule 3: columns that serve as keys anywhere in the network take few values, so that joins meet and groups fill.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from drover.network.durations import UNITS, Micros
from drover.network.model import Network
from drover.network.parts import Source
from drover.network.types import BIGINT, BINARY, BOOLEAN, DATE, INT, SMALLINT, STRING, TINYINT, DataType, polars_type
from drover_lab.generate.ranges import demand

Ints: TypeAlias = NDArray[np.int64]

REACH: Final = {TINYINT: 100, SMALLINT: 1000, INT: 1000, BIGINT: 1000}  # integers lie in [-reach, reach]
FLOAT_REACH: Final = 128
DECIMAL_REACH: Final = 10_000  # before the point is set, and digits permitting
DAYS: Final = 30  # dates lie in the month after the start
WORDS: Final = ("", "a", "Ab", "ab ", "drover", "Łódź", "naïve", "100%", "x_y", "zebra")
TICK: Final = UNITS["ms"]  # event times are whole milliseconds, so that some are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class RowParameters:
    """How rows are spread over time and values."""

    start: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    gap: Micros = 250 * UNITS["ms"]  # mean time between rows of a source, exponential
    keys: int = 8  # values of a key column
    nulls: float = 0.05  # fraction of NULLs in every column except the event time

    def __post_init__(self) -> None:
        """Raise DroverError for a parameter out of range."""
        demand("gap", self.gap, 0)
        demand("keys", self.keys, 1, 100)  # a tinyint key must hold them
        demand("nulls", self.nulls, 0, 1)

    @property
    def start_ticks(self) -> int:
        """The start in whole milliseconds since 1970."""
        return int(self.start.timestamp() * 1000)


ROWS: Final = RowParameters()


def rows(network: Network, count: int, rng: Generator, parameters: RowParameters = ROWS) -> dict[str, pl.DataFrame]:
    """Return `count` random rows for each source of `network`, in the order in which they arrive."""
    keys = key_names(network)
    return {source.name: _frame(source, keys, count, rng, parameters) for source in network.sources}


def key_names(network: Network) -> frozenset[str]:
    """Return the names of all columns by which a join, an aggregate or a table of `network` finds rows."""
    names = {name for table in network.tables for name in table.key}
    for operator in network.operators:
        names.update(operator.key_columns)
    return frozenset(names)


def _frame(source: Source, keys: frozenset[str], count: int, rng: Generator, parameters: RowParameters) -> pl.DataFrame:
    columns = []
    for name, kind in source.schema.types.items():
        if name == source.time:
            ticks = _times(count, source.lateness, rng, parameters)
            columns.append(_of_type(ticks, kind, parameters).alias(name))
            continue
        low, high = _bounds(kind, parameters.keys if name in keys else None)
        drawn = rng.integers(low, high, size=count)
        full = _of_type(drawn, kind, parameters, is_key=name in keys).alias(name)
        holes = pl.Series(rng.random(count) < parameters.nulls, dtype=pl.Boolean)
        columns.append(full.zip_with(~holes, pl.Series(name, [None] * count, dtype=full.dtype)))
    return pl.DataFrame(columns)


def _times(count: int, lateness: Micros, rng: Generator, parameters: RowParameters) -> Ints:
    """Return (count,) event times in ticks after the start: growing, then each set back by at most `lateness`."""
    grown = np.cumsum(rng.exponential(parameters.gap / TICK, size=count)).astype(np.int64)
    return grown - rng.integers(0, lateness // TICK + 1, size=count)


def _bounds(kind: DataType, keys: int | None) -> tuple[int, int]:
    """Return from where to where (exclusive) to draw the numbers behind a column; `keys` is set for a key column."""
    if kind == BOOLEAN:
        return (0, 2)
    if keys is not None:
        return (0, keys if kind.name != "decimal" else min(keys, 10**kind.precision))
    if kind in REACH:
        reach = REACH[kind]
    elif kind.is_float:
        reach = 8 * FLOAT_REACH
    elif kind.name == "decimal":
        reach = min(DECIMAL_REACH, 10**kind.precision - 1)
    else:
        choices = {DATE: DAYS, STRING: len(WORDS), BINARY: len(WORDS)}
        return (0, choices.get(kind, UNITS["h"] // TICK))  # an instant: within the hour after the start
    return (-reach, reach + 1)


def _of_type(drawn: Ints, kind: DataType, parameters: RowParameters, *, is_key: bool = False) -> pl.Series:
    """Return the numbers `drawn`, (rows,), as values of `kind`; what differs as a number differs as a value."""
    numbers = pl.Series(drawn, dtype=pl.Int64)
    if kind == BOOLEAN:
        values = numbers == 1
    elif kind.is_float:
        values = numbers / 8
    elif kind.name == "decimal":
        exact = [Decimal(number).scaleb(-kind.scale) for number in drawn.tolist()]
        values = pl.Series(exact, dtype=polars_type(kind))
    elif kind in (STRING, BINARY):
        values = pl.Series([f"k{number}" if is_key else WORDS[number] for number in drawn.tolist()], dtype=pl.String)
    elif kind == DATE:
        values = (numbers + parameters.start_ticks // (UNITS["d"] // TICK)).cast(pl.Int32)  # days since 1970
    elif kind in REACH:
        values = numbers
    else:
        values = (numbers + parameters.start_ticks) * TICK  # microseconds since 1970
    return values.cast(polars_type(kind))
