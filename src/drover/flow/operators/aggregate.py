"""Windowed aggregates over panes. A pane is a partial aggregate of a group over a time range that no window divides.

Rule 1: a pane is as long as the greatest common divisor of size and advance, so a window is a whole number of panes.
Rule 2: a window is emitted in the batch whose watermark first reaches its end: late < end <= now. So no state is needed
for closed windows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks, on_time
from drover.flow.operators.panes import PANE, PaneKey, PaneNeeds, pane_of_row, panes_of_rows
from drover.flow.operators.partials import SUM, common_prefix, make_partial
from drover.flow.operators.sliding_sums import AFTER_LATE, PauseSums, in_order, ready_sums, sums_of
from drover.flow.operators.window_core import core_pays, merge_core
from drover.network.durations import Micros
from drover.network.expressions import parse_aggregate, to_polars
from drover.network.operators import WINDOW_END, WINDOW_START, WINDOW_TIME, Aggregate
from drover.network.types import FLOATS, TIMESTAMP, DataType, polars_type

START: Final = "drover.start"  # first microsecond of a window
VALUE: Final = "drover.value"
PANES: Final = "panes"  # the part of the state that has them
SET: Final = "drover.set."  # before the name of a column that counts different values, in results only
MOST_CHUNKS: Final = 16  # appended pieces after which live panes are merged: a compromise between merging and scanning


class RunAggregate:
    """Aggregates rows into panes and panes into windows."""

    def __init__(self, operator: Aggregate, context: CompileContext) -> None:
        self.operator = operator
        self.may_be_late = operator.input in context.may_be_late
        schema = context.network.streams[operator.input]
        self.time = schema.time or ""
        self.pane = math.gcd(operator.size, operator.advance)
        self.groups = list(operator.group_by)
        calls = [(named.name, parse_aggregate(named.expression, schema.types)) for named in operator.compute]
        merged = {name: call for name, call in calls if call.function != "count distinct"}
        self.partials = {
            name: make_partial(call, self.time, f"drover.{index}.")
            for index, (name, call) in enumerate(calls)
            if name in merged
        }
        common = {name: make_partial(call, self.time, common_prefix(call)) for name, call in merged.items()}
        self.needs = PaneNeeds(
            PaneKey(self.pane, frozenset(self.groups)),
            {common_prefix(merged[name]): partial for name, partial in common.items()},
        )
        # By column of the state: the column of a pane table with the same meaning.
        self.stored = {
            own: made
            for name, partial in self.partials.items()
            for own, made in zip(partial.make, common[name].make, strict=True)
        }
        self.distinct = {
            name: self._needs_values(common_prefix(call), to_polars(call.argument))
            for name, call in calls
            if call.function == "count distinct" and call.argument is not None
        }
        # By part of the state: the name of its column, unless that is a part already.
        self.sets = {f"{SET}{name}" if name == PANES else name: name for name in self.distinct}
        self.slides = self._may_slide([schema.types[name] for name in self.groups])
        self.output = {name: polars_type(kind) for name, kind in context.network.streams[operator.name].types.items()}
        self.nothing = pl.DataFrame(schema=self.output)  # made once: it takes half a millisecond

    def _may_slide(self, keys: Sequence[DataType]) -> bool:
        """Return whether `sliding_sums` can give the windows: only sums, of groups that look the same if they are."""
        if not self.groups or self.operator.size <= self.operator.advance:
            return False
        # 0.0 and -0.0 are one group, which shows the one that came first.
        if any(kind in FLOATS for kind in keys) or not self.needs.rolls_up:
            return False
        return all(
            partial.folds is not None and all(fold.how == SUM for fold in partial.folds.values())
            for partial in self.partials.values()
        )

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Add the batch's rows and emit the windows that close."""
        rows = inputs[self.operator.input]
        needed = self.all_needs if rows.height else ()
        return self.run_on(rows, {one.key: panes_of_rows(rows, self.time, one) for one in needed}, state, clock)

    @property
    def all_needs(self) -> tuple[PaneNeeds, ...]:
        """The pane tables that it needs of a batch."""
        return (self.needs, *self.distinct.values())

    def _needs_values(self, name: str, value: pl.Expr) -> PaneNeeds:
        return PaneNeeds(PaneKey(self.pane, frozenset([*self.groups, name])), values={name: value})

    def run_on(
        self, rows: pl.DataFrame, tables: Mapping[PaneKey, pl.DataFrame], state: UnitState, clock: Watermarks
    ) -> dict[str, pl.DataFrame]:
        """Do the same as `run`, with the pane tables of the rows at hand."""
        if rows.height:
            self._take_in(rows, tables, state, clock)
        result = self._give_out(state, clock)
        if clock.now is not None:
            sums = sums_of(state, PANES)
            for part in (PANES, *self.sets):
                state.evict(part, oldest_needed(self.operator, clock.now))
            if sums is not None:
                sums.seen = state.parts[PANES]
        return {self.operator.name: result}

    def _take_in(
        self, rows: pl.DataFrame, tables: Mapping[PaneKey, pl.DataFrame], state: UnitState, clock: Watermarks
    ) -> None:
        """Add rows to the state; the tables have all of them, late ones included."""
        oldest = self.oldest(clock)
        # A pane is late as a whole, because `oldest` is aligned to panes. So rows are looked at only if one is late.
        if oldest is not None and (tables[self.needs.key][PANE] < oldest).any():
            self.in_panes(rows, state, clock)
            tables = {one.key: tables[one.key].filter(pl.col(PANE) >= oldest) for one in self.all_needs}
        keys = [PANE, *self.groups]
        stored = [pl.col(made).alias(own) for own, made in self.stored.items()]
        self.take_panes(tables[self.needs.key].select(*keys, *stored), state)
        for part, name in self.sets.items():
            needs = self.distinct[name]
            (value,) = needs.values
            state.append(part, tables[needs.key].select(*keys, pl.col(value).alias(VALUE)).drop_nulls(VALUE))
            if (values := state.parts.get(part)) is not None and values.n_chunks() > MOST_CHUNKS:
                state.merge(part, values.unique(maintain_order=True))

    def oldest(self, clock: Watermarks) -> Micros | None:
        """Return the least event time of rows that are not late; None if no row can be late."""
        return oldest_needed(self.operator, clock.late) if self.may_be_late and clock.late is not None else None

    def in_panes(self, rows: pl.DataFrame, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        """Return the rows that are not late, each with its pane; note the others in the state."""
        oldest = self.oldest(clock)
        # Most batches have no late row, and to look for the oldest is faster than to copy all others.
        if oldest is not None and rows.height and not _are_on_time(rows[self.time], oldest):
            rows = on_time(rows, pl.col(self.time).dt.epoch("us") >= oldest, state, self.operator.input)
        return rows.with_columns(pane_of_row(self.time, self.pane))

    def take_panes(self, made: pl.DataFrame, state: UnitState) -> None:
        """Keep partial aggregates, one row per pane and group."""
        sums = sums_of(state, PANES)
        state.append(PANES, made)
        if (panes := state.parts.get(PANES)) is not None and panes.n_chunks() > MOST_CHUNKS:
            keys = [PANE, *self.groups]
            state.merge(PANES, panes.group_by(keys, maintain_order=True).agg(self._merges()))
        if sums is not None:
            sums.seen = state.parts[PANES]
            state.derived = sums if sums.take(made) else PauseSums(AFTER_LATE)

    def _merges(self) -> list[pl.Expr]:
        return [expr.alias(name) for partial in self.partials.values() for name, expr in partial.merge.items()]

    def _give_out(self, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        panes = state.parts.get(PANES)
        if panes is None or not _may_close(self.operator, clock):
            return self.nothing
        ends = ends_within(self.operator, panes, clock, self.pane)
        windows = self._slid(state, ends)
        if windows is None:
            windows = self._merged(panes, ends)
        if windows is None:
            return self.nothing
        keys = [START, *self.groups]
        for part, name in self.sets.items():
            windows = windows.join(
                self._distinct(part, name, state, clock), on=keys, how="left", nulls_equal=True, maintain_order="left"
            )
        start = pl.col(START)
        computed = {
            **{name: partial.finish for name, partial in self.partials.items()},
            **{name: pl.col(f"{SET}{name}").fill_null(0) for name in self.distinct},
        }
        instants = {
            WINDOW_START: start,
            WINDOW_END: start + self.operator.size,
            WINDOW_TIME: start + self.operator.size - 1,
        }
        return windows.select(
            *(as_instant(micros).alias(name) for name, micros in instants.items()),
            *self.groups,
            *(computed[name].cast(self.output[name]).alias(name) for name in (n.name for n in self.operator.compute)),
        )

    def _slid(self, state: UnitState, ends: range) -> pl.DataFrame | None:
        """Return the windows that end at `ends` from sliding sums; None if there are none, or no sums in this batch."""
        if not self.slides or not ends or len(ends) > _most_windows(self.operator):
            return None
        size = self.operator.size
        sums = ready_sums(state, PANES, ends[0] - size, self.groups, self._merges())
        if sums is None:
            return None
        moved = ((end - size, sums.move(end - size, end)) for end in ends)
        found = [rows.with_columns(pl.lit(start, pl.Int64).alias(START)) for start, rows in moved if rows.height]
        return pl.concat(found) if found else None

    def _merged(self, panes: pl.DataFrame, ends: range) -> pl.DataFrame | None:
        """Return the windows that end at `ends` by merging all their panes; None if there is none."""
        if self.slides:
            panes = in_order(panes)  # as sliding sums give them
        if self.needs.rolls_up and ends and core_pays(self.operator, panes, ends, self.pane):
            panes = merge_core(self.operator, panes, ends, self._merges())
        return self._windows(panes, ends)

    def _windows(self, panes: pl.DataFrame, ends: range) -> pl.DataFrame | None:
        """Return panes merged into the windows that end at `ends`; None if there is none."""
        tagged = _tagged(self.operator, panes, ends)
        if not self.groups or len(ends) > _most_windows(self.operator):
            pieces = list(tagged)
            keys = [START, *self.groups]
            return pl.concat(pieces).group_by(keys, maintain_order=True).agg(self._merges()) if pieces else None
        # Window by window, because a key less makes grouping up to three times as fast.
        merges = [pl.col(START).first(), *self._merges()]
        found = [piece.group_by(self.groups, maintain_order=True).agg(merges) for piece in tagged]
        return pl.concat(found) if found else None

    def _distinct(self, part: str, name: str, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        """Return the number of different values per closing window and group."""
        keys = [START, *self.groups]
        values = state.parts.get(part)
        tagged = None if values is None else tag_windows(self.operator, values, clock, self.pane)
        if tagged is None:
            groups = {name: self.output[name] for name in self.groups}
            return pl.DataFrame(schema={START: pl.Int64(), **groups, f"{SET}{name}": pl.Int64()})
        return tagged.group_by(keys).agg(pl.col(VALUE).n_unique().cast(pl.Int64).alias(f"{SET}{name}"))


def as_instant(micros: pl.Expr) -> pl.Expr:
    """Return microseconds since 1970 as a timestamp."""
    return micros.cast(polars_type(TIMESTAMP))


def oldest_needed(operator: Aggregate, now: Micros) -> Micros:
    """Return the least event time whose last window ends after `now`; aligned to the advance, hence to panes."""
    return ((now - operator.size) // operator.advance + 1) * operator.advance


def _are_on_time(times: pl.Series, bound: Micros) -> bool:
    """Return whether all rows have a time, and none is before the bound."""
    oldest = times.dt.epoch("us").min()
    return not times.null_count() and isinstance(oldest, int) and oldest >= bound


def tag_windows(operator: Aggregate, panes: pl.DataFrame, clock: Watermarks, pane: Micros) -> pl.DataFrame | None:
    """Return each pane once per closing window it lies in, with the window's START; None if no window closes.

    There are two ways to pair panes with windows, and either may be the shorter: window by window, or offset by offset
    (every pane lies in at most ceil(size / advance) windows).
    """
    pieces = list(_tagged(operator, panes, ends_within(operator, panes, clock, pane)))
    return pl.concat(pieces) if pieces else None


def _tagged(operator: Aggregate, panes: pl.DataFrame, ends: range) -> Iterator[pl.DataFrame]:
    by_window = len(ends) <= _most_windows(operator)
    return _by_window(operator, panes, ends) if by_window else _by_offset(operator, panes, ends)


def _most_windows(operator: Aggregate) -> int:
    """Return the number of windows that a pane may lie in."""
    return -(-operator.size // operator.advance)


def _may_close(operator: Aggregate, clock: Watermarks) -> bool:
    """Return whether any window may close, whatever panes there are."""
    if clock.now is None:
        return False
    return clock.late is None or len(closing_ends(operator, clock.late, clock.now)) > 0


def ends_within(operator: Aggregate, panes: pl.DataFrame, clock: Watermarks, pane: Micros) -> range:
    """Return the ends of the windows that close and may have one of these panes."""
    if not panes.height or clock.now is None:
        return range(0)
    first, last = panes.select(low=pl.col(PANE).min(), high=pl.col(PANE).max()).row(0)
    late = first if clock.late is None else max(clock.late, first)  # no window of `first` ends at or before it
    return closing_ends(operator, late, min(clock.now, last + pane - 1 + operator.size))


def closing_ends(operator: Aggregate, late: Micros, now: Micros) -> range:
    """Return the ends of windows in (late, now]."""
    first = ((late - operator.size) // operator.advance + 1) * operator.advance + operator.size
    return range(first, now + 1, operator.advance)


def _by_window(operator: Aggregate, panes: pl.DataFrame, ends: Sequence[Micros]) -> Iterator[pl.DataFrame]:
    for end in ends:
        inside = panes.filter(pl.col(PANE).is_between(end - operator.size, end, closed="left"))
        if inside.height:
            yield inside.with_columns(pl.lit(end - operator.size, pl.Int64).alias(START))


def _by_offset(operator: Aggregate, panes: pl.DataFrame, ends: range) -> Iterator[pl.DataFrame]:
    newest = pl.col(PANE) - pl.col(PANE) % operator.advance
    for offset in range(_most_windows(operator)):
        start = newest - offset * operator.advance
        end = start + operator.size
        inside = (end > pl.col(PANE)) & end.is_between(ends[0], ends[-1])
        yield panes.filter(inside).with_columns(start.alias(START))
