"""Windowed aggregates with a time-out: a window closes some time after its first row, or at its end.

Rule 1: rows are stored until their windows have ended. An earlier row may still come and close the window sooner, and
rows cannot be removed from a partial aggregate. Rule 2: rows at or below the watermark of the previous batch are late,
so that a closed window cannot open again.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from drover.flow.operators.aggregate import START, RunAggregate, as_instant, oldest_needed, tag_windows
from drover.flow.operators.base import CompileContext, Frames, Runner, UnitState, Watermarks, on_time
from drover.flow.operators.panes import PANE
from drover.network.expressions import aggregate_to_polars, parse_aggregate
from drover.network.operators import WINDOW_END, WINDOW_START, WINDOW_TIME, Aggregate
from drover.network.types import polars_type

ROWS: Final = "rows"
CLOSE: Final = "drover.close"


def run_aggregate(operator: Aggregate, context: CompileContext) -> Runner:
    """Return the runner of an aggregate: over panes, or over rows if a time-out can close its windows early."""
    if operator.timeout is not None and operator.timeout < operator.size:
        return RunTimeout(operator, context)
    return RunAggregate(operator, context)


class RunTimeout:
    """Keeps rows and aggregates them when their window closes."""

    def __init__(self, operator: Aggregate, context: CompileContext) -> None:
        self.operator = operator
        self.may_be_late = operator.input in context.may_be_late
        schema = context.network.streams[operator.input]
        self.time = schema.time or ""
        self.timeout = operator.timeout or operator.size
        calls = {named.name: parse_aggregate(named.expression, schema.types) for named in operator.compute}
        self.compute = [aggregate_to_polars(call, self.time).alias(name) for name, call in calls.items()]
        used = {name for call in calls.values() for _, name in call.columns}
        self.kept = [name for name in schema.names if name in {*used, *operator.group_by, self.time}]
        self.output = {name: polars_type(kind) for name, kind in context.network.streams[operator.name].types.items()}

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Add the batch's rows and emit the windows that close."""
        micros = pl.col(self.time).dt.epoch("us")
        rows = inputs[self.operator.input]
        if self.may_be_late and clock.late is not None:
            rows = on_time(rows, micros > clock.late, state, self.operator.input)
        state.append(ROWS, rows.select(micros.alias(PANE), *self.kept))
        result = self._give_out(state, clock)
        if clock.now is not None:
            state.evict(ROWS, oldest_needed(self.operator, clock.now))
        return {self.operator.name: result}

    def _give_out(self, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        empty = pl.DataFrame(schema=self.output)
        rows = state.parts.get(ROWS)
        if rows is None or clock.now is None:
            return empty
        # Any window that has not ended may time out, so take all that end after `late`, however far in the future.
        far = Watermarks(clock.late, clock.now + self.operator.size)
        tagged = tag_windows(self.operator, rows, far, 1)
        if tagged is None:
            return empty
        keys = [START, *self.operator.group_by]
        end = pl.col(START) + self.operator.size
        first = pl.col(PANE).min().over(keys)
        closed = tagged.with_columns(pl.min_horizontal(end, first + self.timeout).alias(CLOSE)).filter(
            (pl.col(CLOSE) <= clock.now) & (pl.col(PANE) < pl.col(CLOSE))
        )
        if clock.late is not None:
            closed = closed.filter(pl.col(CLOSE) > clock.late)
        windows = closed.group_by(keys, maintain_order=True).agg(self.compute)
        start = pl.col(START)
        return windows.select(
            as_instant(start).alias(WINDOW_START),
            as_instant(start + self.operator.size).alias(WINDOW_END),
            as_instant(start + self.operator.size - 1).alias(WINDOW_TIME),
            *self.operator.group_by,
            *(pl.col(named.name).cast(self.output[named.name]) for named in self.operator.compute),
        )
