"""What an operator is while it runs: a compiled object that turns the frames of a batch into frames.

Rule 1: whatever outlives a batch is in `UnitState`; an operator object holds only what follows from the network.
Rule 2: the outcome depends on the rows and on the clock's watermarks, never on how rows were cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from drover.network.durations import Micros

Frames = Mapping[str, pl.DataFrame]  # by stream


@dataclass(frozen=True, slots=True)
class Clock:
    """Watermarks of one operator in one batch, in microseconds since 1970; None before the first row.

    `late` is the watermark of the batch before: rows at or below it came too late. `now` is this batch's: windows that
    end at or below it close.
    """

    late: Micros | None
    now: Micros | None


@dataclass(slots=True)
class UnitState:
    """The live state of one operator: parts by name, and what this batch did to them.

    A part either grows at its end and shrinks by time: then its first column is that time, in microseconds since 1970,
    and its `bound` is the least time of rows that are still needed; or it is replaced as a whole. `appended` and
    `replaced` are what must be written to the log.
    """

    parts: dict[str, pl.DataFrame] = field(default_factory=dict)
    bounds: dict[str, Micros] = field(default_factory=dict)
    appended: dict[str, pl.DataFrame] = field(default_factory=dict)
    replaced: dict[str, pl.DataFrame] = field(default_factory=dict)
    _before: tuple[dict[str, pl.DataFrame], dict[str, Micros]] = field(default_factory=lambda: ({}, {}))

    def begin(self) -> None:
        """Start a batch: nothing has been written yet, and `restore` comes back to here."""
        self.appended, self.replaced = {}, {}
        self._before = (dict(self.parts), dict(self.bounds))

    def restore(self) -> None:
        """Forget what the batch has done so far."""
        self.appended, self.replaced = {}, {}
        parts, bounds = self._before
        self.parts, self.bounds = dict(parts), dict(bounds)

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
        """Put rows in place of all that was in a part."""
        self.parts[part] = rows
        self.replaced[part] = rows

    def merge(self, part: str, rows: pl.DataFrame) -> None:
        """Put fewer rows that say the same in place of a part's live rows; the log is not touched."""
        self.parts[part] = rows

    def evict(self, part: str, bound: Micros) -> None:
        """Forget the rows of a part whose time is below `bound`."""
        if bound <= self.bounds.get(part, bound - 1):
            return
        self.bounds[part] = bound
        if part in self.parts:
            rows = self.parts[part]
            self.parts[part] = rows.filter(pl.col(rows.columns[0]) >= bound)


def passing(rows: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows for which a condition is true; it may be a constant.

    Polars shares many rows out to its threads and then fails, because each of them has one value for all its rows.
    """
    if condition.meta.root_names():
        return rows.filter(condition)
    return rows if pl.select(condition).item() else rows.clear()


class Runner(Protocol):
    """A compiled operator."""

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Return the rows of each output stream for this batch's input rows; may be given empty inputs."""
        ...
