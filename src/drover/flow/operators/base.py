"""Runners: compiled operators that turn the input frames of a batch into output frames.

Rule 1: whatever outlives a batch is in `UnitState`. A runner holds only what follows from the network.
Rule 2: the result depends on the rows and on the watermarks, never on how rows were cut into batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import polars as pl

from drover.flow.tables import Address
from drover.network.durations import Micros
from drover.network.expressions import parse, to_polars
from drover.network.model import Network
from drover.network.schema import Schema

Frames = Mapping[str, pl.DataFrame]  # by stream
Spend = Callable[[float], None]  # keeps the processor busy for so many seconds
Wait = Callable[[float], None]  # waits so many seconds and uses no processor
# What an expression raises if it fails after all. A panic is an unexpected failure in Polars, and no Exception.
EXPRESSION_ERRORS: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def no_wait(_seconds: float) -> None:
    """Return at once."""


@dataclass(frozen=True, slots=True)
class CompileContext:
    """What a runner is compiled with, besides its operator."""

    network: Network
    spend: Spend
    may_be_late: frozenset[str]  # streams with rows that may come after their watermark
    tables: Mapping[str, Address] = field(default_factory=dict)  # address of every table that operators use
    wait: Wait = no_wait


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Watermarks of one operator in one batch, in microseconds since 1970; None before the first row.

    `late` is the watermark of the previous batch: rows at or below it are late. `now` is the watermark of this batch:
    windows that end at or below it close.
    """

    late: Micros | None
    now: Micros | None


@dataclass(slots=True)
class UnitState:
    """The live state of one operator: parts by name, and the changes of this batch.

    A part is one of two things. It grows at its end and shrinks by time: then its first column is that time, in
    microseconds since 1970, and its `bound` is the least time of the rows still needed. Or it is replaced as a whole.
    `appended` and `replaced` must be written to the log.
    """

    parts: dict[str, pl.DataFrame] = field(default_factory=dict)
    bounds: dict[str, Micros] = field(default_factory=dict)
    appended: dict[str, pl.DataFrame] = field(default_factory=dict)
    replaced: dict[str, pl.DataFrame] = field(default_factory=dict)
    late: dict[str, pl.DataFrame] = field(default_factory=dict)  # rows that came too late in this batch, by input
    waited: float = 0.0  # seconds of this batch in which the operator was busy but used no core
    derived: object = None  # what a runner worked out from the parts, to save work in the next batch; never saved
    _before: tuple[dict[str, pl.DataFrame], dict[str, Micros]] = field(default_factory=lambda: ({}, {}))

    def begin(self) -> None:
        """Start a batch; `restore` returns to this point."""
        self.appended = {}
        self.replaced = {}
        self.late = {}
        self.waited = 0.0
        self._before = (dict(self.parts), dict(self.bounds))

    def restore(self) -> None:
        """Undo the changes of this batch."""
        self.appended = {}
        self.replaced = {}
        self.late = {}
        parts, bounds = self._before
        self.parts = dict(parts)
        self.bounds = dict(bounds)
        self.derived = None

    def bytes(self) -> int:
        """Return the size of the live rows in memory."""
        return sum(int(rows.estimated_size()) for rows in self.parts.values())

    def append(self, part: str, rows: pl.DataFrame) -> None:
        """Add rows at the end of a part."""
        if rows.height:
            before = self.parts.get(part)
            self.parts[part] = rows if before is None else pl.concat([before, rows], rechunk=False)
            added = self.appended.get(part)
            self.appended[part] = rows if added is None else pl.concat([added, rows])

    def replace(self, part: str, rows: pl.DataFrame) -> None:
        """Replace all rows of a part."""
        self.parts[part] = rows
        self.replaced[part] = rows

    def merge(self, part: str, rows: pl.DataFrame) -> None:
        """Replace a part's live rows by fewer rows of the same meaning; the log stays as it is."""
        self.parts[part] = rows

    def drop_late(self, stream: str, rows: pl.DataFrame) -> None:
        """Note rows of an input that came too late, so that they are counted."""
        before = self.late.get(stream)
        # Both sides of a spread join may get the same stream, each with the columns that it reads.
        self.late[stream] = rows if before is None else pl.concat([before, rows], how="diagonal")

    def evict(self, part: str, bound: Micros) -> None:
        """Drop the rows of a part whose time is below `bound`."""
        if bound <= self.bounds.get(part, bound - 1):
            return
        self.bounds[part] = bound
        if part in self.parts:
            rows = self.parts[part]
            self.parts[part] = rows.filter(pl.col(rows.columns[0]) >= bound)


def scalar(text: str, schema: Schema) -> pl.Expr:
    """Return a SQL expression over the columns of `schema` as a Polars expression."""
    return to_polars(parse(text, schema.types))


def passing(rows: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows for which a condition is true; it may be a constant."""
    # Polars splits a large frame over its threads. A constant then has one value per piece, and `filter` fails.
    if condition.meta.root_names():
        return rows.filter(condition)
    return rows if pl.select(condition).item() else rows.clear()


def on_time(rows: pl.DataFrame, fits: pl.Expr, state: UnitState, stream: str) -> pl.DataFrame:
    """Return the rows of an input for which `fits` is true, and note the others as late."""
    kept = rows.filter(fits)
    if kept.height < rows.height:
        state.drop_late(stream, rows.filter(fits.not_()))
    return kept


class Runner(Protocol):
    """A compiled operator."""

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the rows of each output stream for this batch's input rows, which may be none."""
