"""User-defined operators: a function of the user, called on whole frames.

Rule 1: the returned frame is checked against the declaration of the function: its columns, and that every row has event
time. An exception, or a call that takes too long, is reported as its fault.
Rule 2: a function with state gets rows in order of event time. Rows that arrive in another order wait until the
watermark has passed them.
"""

from __future__ import annotations

from typing import Final

import polars as pl
import pyarrow as pa

from drover.errors import DroverError, one_line, shorten
from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.flow.operators.calls import call
from drover.network.durations import EARLIEST, LATEST
from drover.network.functions import resolve
from drover.network.operators import UserDefined
from drover.network.types import arrow_type, polars_type
from drover.wording import count

WAITING: Final = "waiting"
BLOB: Final = "blob"
MICROS: Final = "drover.time"  # a name with a dot cannot collide with columns


class RunUserDefined:
    """Calls the function of one operator."""

    def __init__(self, operator: UserDefined, context: CompileContext) -> None:
        self.operator = operator
        self.may_be_late = operator.input in context.may_be_late
        self.function = resolve(operator.function)
        self.input = context.network.streams[operator.input]
        self.limit = None if operator.timeout is None else operator.timeout / 1e6  # seconds
        self.output = {column.name: polars_type(column.type) for column in operator.columns}

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Return the result of the function for the rows that are ready."""
        rows = inputs[self.operator.input]
        if self.operator.keeps_state:
            return {self.operator.name: self._with_state(rows, state, clock)}
        if not rows.height:
            return {self.operator.name: pl.DataFrame(schema=self.output)}
        return {self.operator.name: self._checked(call(self.function, self._frame(rows), limit=self.limit))}

    def _with_state(self, rows: pl.DataFrame, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        time = self.input.time or ""
        rows = rows.select(pl.col(time).dt.epoch("us").alias(MICROS), pl.all())
        if self.may_be_late and clock.late is not None:
            in_time = rows.filter(pl.col(MICROS) > clock.late)
            if in_time.height < rows.height:
                late = rows.filter(pl.col(MICROS) <= clock.late)
                state.drop_late(self.operator.input, late.drop(MICROS))
            rows = in_time
        state.append(WAITING, rows)
        waiting = state.parts.get(WAITING)
        if waiting is None or clock.now is None:
            return pl.DataFrame(schema=self.output)
        rest = [name for name in self.input.names if name != time]
        ready = waiting.filter(pl.col(MICROS) <= clock.now).sort(time, *rest, nulls_last=False)
        state.evict(WAITING, clock.now + 1)
        if not ready.height:
            return pl.DataFrame(schema=self.output)
        before = state.parts[BLOB]["state"][0] if BLOB in state.parts else None
        made = call(self.function, self._frame(ready.drop(MICROS)), before, limit=self.limit)
        result, after = self._pair(made)
        if after != before:
            state.replace(BLOB, pl.DataFrame({"state": [after]}, schema={"state": pl.Binary()}))
        return self._checked(result)

    def _frame(self, rows: pl.DataFrame) -> pl.DataFrame | pa.Table:
        if self.operator.frame == "polars":
            return rows
        return rows.to_arrow().cast(pa.schema([(c.name, arrow_type(c.type)) for c in self.input.columns]))

    def _pair(self, result: object) -> tuple[object, bytes | None]:
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], bytes | None):
            return result
        raise DroverError(self._says(f"returned {shorten(str(result))}, but keeps state: it returns (frame, bytes)"))

    def _checked(self, result: object) -> pl.DataFrame:
        frame = pl.DataFrame(result) if isinstance(result, pa.Table) else result
        if not isinstance(frame, pl.DataFrame):
            raise DroverError(self._says(f"returned {type(result).__name__}, but a frame is expected"))
        if set(frame.columns) != set(self.output):
            raise DroverError(self._says(f"returned columns {frame.columns}, but declares {sorted(self.output)}"))
        rows = frame.select(list(self.output))
        if dict(rows.schema) != self.output:
            rows = self._converted(rows)
        self._check_time(rows)
        return rows

    def _converted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with the declared types, by Arrow: unlike Polars, it refuses to lose a part of a value."""
        target = pa.schema([(column.name, arrow_type(column.type)) for column in self.operator.columns])
        try:
            return pl.DataFrame(rows.to_arrow().cast(target)).cast(self.output)  # type: ignore[arg-type] # by name
        except (pl.exceptions.PolarsError, pa.ArrowException) as error:
            said = one_line(str(error))
            raise DroverError(self._says(f"returned values that do not fit its declared columns ({said})")) from error

    def _check_time(self, rows: pl.DataFrame) -> None:
        """Refuse rows without a usable event time: operators behind this one could not put them into a window."""
        time = self.operator.time
        if time is None:
            return
        nulls = rows[time].null_count()
        far = rows.height - nulls - int(rows[time].dt.epoch("us").is_between(EARLIEST, LATEST).sum())
        for unusable, what in ((nulls, "NULL"), (far, "a time outside the years 1 to 9999")):
            if unusable:
                where = f"{count(unusable, 'row')} of {rows.height:,} with {what} in {time}, its event time"
                raise DroverError(self._says(f"returned {where}"))

    def _says(self, what: str) -> str:
        return f"function {self.operator.function!r} of operator {self.operator.name!r} {what}. Correct the function."
