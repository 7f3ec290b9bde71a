"""Cells: the rows of a batch that have the same key, pane and GROUP BY values.

Rule 1: everything here follows from the rows. So families that read the same rows share it, whatever their members.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.flow.families.bounds import Bound, order_keys
from drover.flow.families.cells_kernels import (
    NO_ROW,
    Numbers,
    least,
    running_least,
    running_sums,
    sort_by_cell,
    sums,
)
from drover.flow.families.fan_out import CodedRows
from drover.flow.families.local_members import Ints
from drover.flow.operators.panes import PANE, pane_of_row
from drover.flow.operators.partials import GREATEST, SUM, Fold
from drover.network.durations import Micros
from drover.network.expressions import Expression, to_polars

VALUE = "drover.value"
Flags = NDArray[np.bool_]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Numbered cells; those of one key are neighbours."""

    coded: CodedRows
    number: Ints  # (rows,) cell of each row, or -1 if it is in none
    first: Ints  # (keys + 1,) first cell of each key
    pane: Ints  # (cells,)
    row: Ints  # (cells,) the first row
    _sorted: dict[tuple[tuple[Expression, bool], ...], SortedCells] = field(default_factory=dict)

    def sorted_by(self, bounds: tuple[Bound, ...]) -> SortedCells:
        """Return the rows that have values for all bounds, sorted by cell and then by the value of the first bound."""
        by = tuple((bound.value, bound.descends) for bound in bounds)
        if by not in self._sorted:
            given = _order(self.coded, by)
            inside = self.number[given] >= 0
            given = given if inside.all() else given[inside]
            start = np.empty(len(self.pane) + 1, np.int64)
            rows = np.empty(len(given), np.int64)
            sort_by_cell(self.number, given, start, rows)
            keys = np.empty((len(by), len(rows)), np.int64)
            for one, (value, descends) in enumerate(by):
                keys[one] = _keys(self.coded, value, descends=descends)[0][rows]
            self._sorted[by] = SortedCells(self.coded, start, rows, keys)
        return self._sorted[by]


def cells_of(
    coded: CodedRows, time: str, width: Micros, groups: tuple[str, ...], oldest: Micros | None
) -> tuple[Cells, Cells | None]:
    """Return the cells of the rows from `oldest` on, and those of the rows before it, if there are any.

    `time` is the column with event time, `width` that of panes; `groups` are the columns of GROUP BY.
    """
    micros, known, first, last = coded.once(("times", time), lambda: _times(coded.rows[time]))
    if oldest is not None and (first < oldest or not known.all()):
        key = ("cells", time, width, groups, oldest)
        on_time = known & (micros >= oldest)
        dropped = ("cells", time, "before", oldest)
        return (
            coded.once(key, lambda: _number_cells(coded, time, width, groups, on_time)),
            coded.once(dropped, lambda: _number_cells(coded, time, None, (), ~on_time)),
        )
    # Of a batch, few widths cut its rows into several panes, and the others have the same cells.
    if first - first % width == last - last % width and known.all() and not groups:
        found = coded.once(("cells", time), lambda: _number_cells(coded, time, None, (), known))
        pane = np.full(len(found.pane), first - first % width)
        return Cells(coded, found.number, found.first, pane, found.row, found._sorted), None
    return coded.once(("cells", time, width, groups), lambda: _number_cells(coded, time, width, groups, known)), None


def _times(column: pl.Series) -> tuple[Ints, Flags, int, int]:
    """Return event times in microseconds, which of them are known, the least and the greatest; 0 if there is none."""
    known = column.is_not_null().to_numpy()
    micros = column.dt.epoch("us").fill_null(0).to_numpy()
    seen = micros if known.all() else micros[known]
    return micros, known, int(seen.min(initial=2**62)) if len(seen) else 0, int(seen.max(initial=0)) if len(seen) else 0


def _number_cells(coded: CodedRows, time: str, width: Micros | None, groups: tuple[str, ...], inside: Flags) -> Cells:
    """Return the cells of the rows that are `inside`; without a width, all are in one pane."""
    chosen = np.flatnonzero(inside)
    code = coded.code[chosen]
    pane = np.zeros(len(chosen), np.int64)
    number = code
    if width is not None:
        pane = coded.rows.select(pane_of_row(time, width))[PANE].to_numpy()[chosen]
        number = _combined(number, _compact(pane // width))
    if groups:
        values = coded.rows.select(groups)[chosen]
        distinct = values.unique(maintain_order=True).with_row_index(VALUE)
        found = values.join(distinct, on=list(groups), how="left", nulls_equal=True, maintain_order="left")[VALUE]
        number = _combined(number, found.to_numpy().astype(np.int64))
    number = _compact(number)
    cells = int(number.max(initial=-1)) + 1
    first_at = np.empty(cells, np.int64)
    first_at[number[::-1]] = np.arange(len(number))[::-1]  # the last one written is the first row
    whole = np.full(len(inside), -1)
    whole[chosen] = number
    first = np.searchsorted(code[first_at], np.arange(len(coded.size) + 1))
    return Cells(coded, whole, first, pane[first_at], chosen[first_at])


def _combined(number: Ints, other: Ints) -> Ints:
    # Renumber first, because the product of many counts would overflow.
    return _compact(number) * (int(other.max(initial=0)) + 1) + other


def _compact(number: Ints) -> Ints:
    """Return numbers from 0 without gaps, in the same order."""
    if not len(number):
        return number
    low = int(number.min())
    span = int(number.max()) - low + 1
    if span > 8 * len(number) + 1024:
        return np.unique(number, return_inverse=True)[1]
    used = np.zeros(span, np.int64)
    used[number - low] = 1
    return (np.cumsum(used) - 1)[number - low]


def _keys(coded: CodedRows, value: Expression, *, descends: bool) -> tuple[Ints, Flags]:
    def make() -> tuple[Ints, Flags]:
        return order_keys(coded.rows.select(to_polars(value).alias(VALUE))[VALUE], descends=descends)

    return coded.once(("keys", value, descends), make)


def _order(coded: CodedRows, by: tuple[tuple[Expression, bool], ...]) -> Ints:
    """Return the rows that have all values, by the first of them, and then by arrival."""
    if not by:
        return np.arange(coded.rows.height)
    first, descends = by[0]
    order = coded.once(
        ("order", first, descends), lambda: np.argsort(_keys(coded, first, descends=descends)[0], kind="stable")
    )
    known = np.ones(coded.rows.height, bool)
    for value, down in by:
        known &= _keys(coded, value, descends=down)[1]
    return order if known.all() else order[known[order]]


@dataclass(frozen=True, slots=True, eq=False)
class FoldedColumn:
    """A column of panes: a fold over values of rows, in which constants may take part."""

    name: str
    fold: Fold
    constants: pl.DataFrame  # (1, constants)
    variant: str  # the same for the same constants

    @property
    def key(self) -> tuple[str, str]:
        """The same for the same values."""
        return self.name, self.variant

    def values(self, coded: CodedRows) -> pl.Series:
        """Return the values of all rows."""

        def make() -> pl.Series:
            constants = [one.new_from_index(0, coded.rows.height) for one in self.constants]
            rows = coded.rows.with_columns(constants) if constants else coded.rows
            # Not `select`, because a constant must have a value for each row.
            return rows.with_columns(self.fold.values.alias(VALUE))[VALUE]

        return coded.once(("folded", self.key), make)

    def keys(self, coded: CodedRows) -> tuple[Ints, Flags]:
        """Return the values as order keys of which the least is sought, and which are not NULL."""
        descends = self.fold.how == GREATEST
        return coded.once(("extremes", self.key), lambda: order_keys(self.values(coded), descends=descends))


@dataclass(frozen=True, slots=True, eq=False)
class SortedCells:
    """Rows by cell, and within a cell by a key; a place is a position in this order."""

    coded: CodedRows
    start: Ints  # (cells + 1,) place of the first row
    rows: Ints  # (places,)
    keys: Ints  # (bounds, places)
    _made: dict[Hashable, Any] = field(default_factory=dict)  # Any: as the key says

    def first_rows(self, column: FoldedColumn, places: Ints) -> pl.Series:
        """Return the fold of all rows of a cell up to a place, for each of the places."""
        if column.fold.how == SUM:
            return pl.Series(column.name, self._once(("sums", column.key), lambda: self._running_sums(column))[places])
        least_at = self._once(("least", column.key), lambda: self._running_least(column))
        return self._extremes(column, least_at[places])

    def some_rows(self, column: FoldedColumn, places: Ints, ends: Ints) -> pl.Series:
        """Return the fold of rows at places, given the end of each part of them."""
        if column.fold.how == SUM:
            values = self._summands(column)
            out = np.empty(len(ends), values.dtype)
            sums(ends, places, values, out)
            return pl.Series(column.name, out)
        at = np.empty(len(ends), np.int64)
        least(ends, places, *self._compared(column), self.rows, at)
        return self._extremes(column, at)

    def _running_sums(self, column: FoldedColumn) -> Numbers:
        values = self._summands(column)
        out = np.empty_like(values)
        running_sums(self.start, values, out)
        return out

    def _running_least(self, column: FoldedColumn) -> Ints:
        out = np.empty(len(self.rows), np.int64)
        running_least(self.start, *self._compared(column), self.rows, out)
        return out

    def _summands(self, column: FoldedColumn) -> Numbers:
        return self._once(("values", column.key), lambda: column.values(self.coded).to_numpy()[self.rows])

    def _compared(self, column: FoldedColumn) -> tuple[Ints, Flags]:
        keys, known = column.keys(self.coded)
        return self._once(("keys", column.key), lambda: (keys[self.rows], known[self.rows]))

    def _extremes(self, column: FoldedColumn, at: Ints) -> pl.Series:
        """Return the values at places, and NULL for NO_ROW."""
        values = column.values(self.coded)
        if len(at) and at.min() == NO_ROW:
            chosen = pl.Series(self.rows[at]).set(pl.Series(at == NO_ROW), None)
            return values.gather(chosen).alias(column.name)
        if not values.dtype.is_numeric() or values.null_count():
            return values.gather(pl.Series(self.rows[at])).alias(column.name)
        return pl.Series(column.name, values.to_numpy()[self.rows[at]])

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found
