"""Sliding-window joins: every pair that is close in time, equal in its keys and fits the predicate, once.

Rule 1: a pair is found in the batch in which the later of its rows (by arrival) comes in.
Rule 2: memory is bounded: candidate pairs are made in pieces of about PIECE.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from drover.flow.operators.base import Clock, Frames, UnitState
from drover.network.expressions import parse_pair, to_polars
from drover.network.model import Network
from drover.network.operators import Join
from drover.network.types import polars_type

LEFT: Final = "left"
RIGHT: Final = "right"
TIME: Final = "drover.time"  # event time in microseconds; names with a dot cannot collide with columns
BUCKET: Final = "drover.bucket"
PIECE: Final = 2_000_000  # candidate pairs at a time


class RunJoin:
    """Keeps both windows and pairs new rows with them."""

    def __init__(self, operator: Join, network: Network, left_late: bool, right_late: bool) -> None:
        self.operator = operator
        left, right = (network.streams[stream] for stream in operator.inputs)
        self.times = {LEFT: left.time or "", RIGHT: right.time or ""}
        self.may_be_late = {LEFT: left_late, RIGHT: right_late}
        self.windows = {LEFT: operator.left_window, RIGHT: operator.right_window}
        self.keys = {LEFT: [f"left.{p.left}" for p in operator.on], RIGHT: [f"right.{p.right}" for p in operator.on]}
        # Every candidate shares a bucket: for a left row at t1, t2 lies in [t1 - w2, t1 + w1], at most two buckets.
        self.width = max(operator.left_window + operator.right_window, 1)
        where = operator.where
        self.where = None if where is None else to_polars(parse_pair(where, left.types, right.types))
        latest = pl.max_horizontal(f"left.{self.times[LEFT]}", f"right.{self.times[RIGHT]}")
        self.select = [latest.alias(left.time or "")] + [
            to_polars(parse_pair(named.expression, left.types, right.types)).alias(named.name)
            for named in operator.full_select(left, right)
        ]
        self.output = {name: polars_type(kind) for name, kind in network.streams[operator.name].types.items()}
        self.empty = {
            side: pl.DataFrame(
                schema={f"{side}.{TIME}": pl.Int64()}
                | {f"{side}.{name}": polars_type(kind) for name, kind in schema.types.items()}
            )
            for side, schema in ((LEFT, left), (RIGHT, right))
        }

    def run(self, inputs: Frames, state: UnitState, clock: Clock) -> dict[str, pl.DataFrame]:
        """Pair the batch's rows with each other and with the windows, then keep them."""
        new = {
            side: self._enter(side, inputs[stream], clock)
            for side, stream in ((LEFT, self.operator.left), (RIGHT, self.operator.right))
        }
        old = {side: state.parts.get(side, self.empty[side]) for side in (LEFT, RIGHT)}
        pieces = [*self._pairs(new[LEFT], old[RIGHT]), *self._pairs(old[LEFT], new[RIGHT]),
                  *self._pairs(new[LEFT], new[RIGHT])]  # fmt: skip
        for side in (LEFT, RIGHT):
            state.append(side, new[side])
            if clock.now is not None:
                # A later row of the other side is above `now`, so this row can still meet it if t + window > now.
                state.evict(side, clock.now - self.windows[side] + 1)
        return {self.operator.name: pl.concat(pieces) if pieces else pl.DataFrame(schema=self.output)}

    def _enter(self, side: str, rows: pl.DataFrame, clock: Clock) -> pl.DataFrame:
        rows = rows.select(pl.col(self.times[side]).dt.epoch("us").alias(TIME), pl.all())
        if self.may_be_late[side] and clock.late is not None:
            rows = rows.filter(pl.col(TIME) > clock.late)
        return rows.rename({name: f"{side}.{name}" for name in rows.columns})

    def _pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
        if not left.height or not right.height:
            return
        t1, t2 = pl.col(f"left.{TIME}"), pl.col(f"right.{TIME}")
        low, high = ((t1 - self.windows[RIGHT]) // self.width, (t1 + self.windows[LEFT]) // self.width)
        doubled = pl.concat([
            left.with_columns(low.alias(BUCKET)),
            left.filter(high != low).with_columns(high.alias(BUCKET)),
        ])  # fmt: skip
        bucketed = right.with_columns((t2 // self.width).alias(BUCKET))
        close = (t2 - t1).is_between(-self.windows[RIGHT], self.windows[LEFT])
        fits = close if self.where is None else close & self.where
        on_left, on_right = [*self.keys[LEFT], BUCKET], [*self.keys[RIGHT], BUCKET]
        for piece in self._pieces(doubled, bucketed, on_left, on_right):
            pairs = piece.join(bucketed, left_on=on_left, right_on=on_right, how="inner", maintain_order="left_right")
            found = pairs.filter(fits)
            if found.height:
                yield found.select(self.select).cast(self.output)  # type: ignore[arg-type] # a plain dict of types

    @staticmethod
    def _pieces(
        left: pl.DataFrame, right: pl.DataFrame, on_left: list[str], on_right: list[str]
    ) -> Iterator[pl.DataFrame]:
        """Yield the left rows in pieces that have about PIECE candidates each."""
        counts = right.group_by(on_right).agg(pl.len().alias("drover.count"))
        matched = left.join(counts, left_on=on_left, right_on=on_right, how="left", maintain_order="left")
        candidates = matched["drover.count"].fill_null(0).cast(pl.Int64)
        if int(candidates.sum() or 0) <= PIECE:
            yield left
            return
        number = (candidates.cum_sum() - 1) // PIECE
        for part in number.unique().sort():
            yield left.filter(number == part)
