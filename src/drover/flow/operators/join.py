"""Sliding-window joins: emits once every pair that is close in time, has equal keys and satisfies the predicate.

Rule 1: a pair is found in the batch in which the second of its rows arrives. Rule 2: memory is bounded, because
candidate pairs are made in pieces of about PIECE; the pieces do not affect the order. Rule 3: a window stores only the
columns that the result or the predicate uses. Rule 4: with keys, candidates are found by hashing. Without keys, they
are found by sorting: by a value that the predicate bounds (a band), within buckets of time, or else by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl

from drover.diffusion.split import cyclic_draws, part_of
from drover.flow.operators.bands import find_band, numbers
from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.flow.operators.ranges import CandidateRanges, by_band, by_time, count_by_time, pieces
from drover.network.expressions import Expression, parse_pair, to_polars
from drover.network.operators import Join
from drover.network.types import TIMESTAMP, polars_type

LEFT: Final = "left"
RIGHT: Final = "right"
TIME: Final = "drover.time"  # event time in microseconds; names with a dot cannot collide with columns
BUCKET: Final = "drover.bucket"
PIECE: Final = 2_000_000  # candidate pairs at a time
SHELVES: Final = 1 << 18  # keys are counted by their hash, modulo this
SAMPLE: Final = 16  # the sample has one row of this many
HOT: Final = (
    2_000  # candidates of a row from which on a sample is not enough: a few missed rows would be many missed pairs
)
# If rows are further apart than this many widths, they are bucketed by time before they are paired: a backlog of an
# hour in one batch has few pairs but many candidates. Within a few widths nearly all candidates are pairs, and buckets
# cost more than they save.
SPREAD: Final = 4


class RunJoin:
    """Keeps both windows and pairs new rows with them."""

    def __init__(self, operator: Join, context: CompileContext) -> None:
        self.operator = operator
        left, right = (context.network.streams[stream] for stream in operator.inputs)
        self.times = {LEFT: left.time or "", RIGHT: right.time or ""}
        self.may_be_late = {LEFT: operator.left in context.may_be_late, RIGHT: operator.right in context.may_be_late}
        self.windows = {LEFT: operator.left_window, RIGHT: operator.right_window}
        self.keys = {LEFT: [f"left.{p.left}" for p in operator.on], RIGHT: [f"right.{p.right}" for p in operator.on]}
        # Every candidate shares a bucket: for a left row at t1, t2 lies in [t1 - w2, t1 + w1], at most two buckets.
        self.width = max(operator.left_window + operator.right_window, 1)
        made = {
            named.name: parse_pair(named.expression, left.types, right.types)
            for named in operator.full_select(left, right)
        }
        where = [] if operator.where is None else [parse_pair(operator.where, left.types, right.types)]
        self.ports = {LEFT: operator.left, RIGHT: operator.right}
        self.bands = {side: find_band(where[0] if where else None, side) for side in (LEFT, RIGHT)}
        t1 = pl.col(f"left.{TIME}")
        t2 = pl.col(f"right.{TIME}")
        close = (t2 - t1).is_between(-self.windows[RIGHT], self.windows[LEFT])
        self.fits = [close, *(to_polars(one) for one in where)]
        latest = pl.max_horizontal(t1, t2).cast(polars_type(TIMESTAMP))
        self.select = [latest.alias(self.times[LEFT]), *(to_polars(one).alias(name) for name, one in made.items())]
        self.kept = {
            side: [
                name
                for name in schema.names
                if f"{side}.{name}" in {*self.keys[side], *_used([*made.values(), *where])}
            ]
            for side, schema in ((LEFT, left), (RIGHT, right))
        }
        self.output = {name: polars_type(kind) for name, kind in context.network.streams[operator.name].types.items()}

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        """Pair the batch's rows with each other and with the windows, then keep them."""
        new = {side: self._enter(side, inputs[port], state, clock) for side, port in self.ports.items()}
        old_left = state.parts.get(LEFT)
        for side in (LEFT, RIGHT):
            state.append(side, new[side])
        found = list(self._pairs(new[LEFT], state.parts.get(RIGHT), RIGHT))
        # Not the new left rows: the call before has paired them with the new right ones.
        found += self._pairs(old_left, new[RIGHT], LEFT)
        if clock.now is not None:
            for side in (LEFT, RIGHT):
                # A later row of the other side is above `now`, so this row can still meet it if t + window > now.
                state.evict(side, clock.now - self.windows[side] + 1)
        return {self.operator.name: pl.concat(found) if found else pl.DataFrame(schema=self.output)}

    def _enter(self, side: str, rows: pl.DataFrame, state: UnitState, clock: Watermarks) -> pl.DataFrame:
        micros = pl.col(self.times[side]).dt.epoch("us")
        if self.may_be_late[side] and clock.late is not None:
            in_time = rows.filter(micros > clock.late)
            if in_time.height < rows.height:
                self._drop_late(side, rows.filter(micros <= clock.late), state)
            rows = in_time
        kept = (pl.col(name).alias(f"{side}.{name}") for name in self.kept[side])
        return rows.select(micros.alias(f"{side}.{TIME}"), *kept, *self._marks(side))

    def _drop_late(self, side: str, rows: pl.DataFrame, state: UnitState) -> None:
        """Note the rows of one side that came too late."""
        state.drop_late(self.operator.inputs[side == RIGHT], rows)

    def _marks(self, side: str) -> list[pl.Expr]:
        """Return the columns that a window adds to every row."""
        return []

    def _pairs(self, left: pl.DataFrame | None, right: pl.DataFrame | None, longer: str) -> Iterator[pl.DataFrame]:
        """Yield the pairs in the order of the side `longer`; the hash table is built from the other side."""
        if left is None or right is None or not left.height or not right.height:
            return
        if not self.keys[LEFT]:
            yield from self._sorted_pairs({LEFT: left, RIGHT: right}, longer)
            return
        on = self.keys
        if self._spread(left, right):
            left, right = self._bucketed(left, right)
            on = {side: [*keys, BUCKET] for side, keys in self.keys.items()}
        if longer == LEFT:
            cut = ((piece, right) for piece in cut_by_candidates(left, right, on[LEFT], on[RIGHT]))
        else:
            cut = ((left, piece) for piece in cut_by_candidates(right, left, on[RIGHT], on[LEFT]))
        for one, other in cut:
            # Lazy, so that only the columns in use are gathered, and key columns only once.
            pairs = one.lazy().join(
                other.lazy(),
                left_on=on[LEFT],
                right_on=on[RIGHT],
                how="inner",
                coalesce=False,
                maintain_order="left_right" if longer == LEFT else "right_left",
            )
            # Polars' `cast` takes a mapping of names, which its types do not say.
            found = pairs.filter(self.fits).select(self.select).cast(self.output).collect()  # type: ignore[arg-type]
            if found.height:
                yield found

    def _sorted_pairs(self, rows: dict[str, pl.DataFrame], longer: str) -> Iterator[pl.DataFrame]:
        """Yield the pairs without keys: the rows of one side, in their order, probe the other side, which is sorted."""
        band = self.bands[_other(longer)]
        side = band.side if band is not None else _other(longer)
        for probes, candidates in pieces(self._stretches(rows, side), PIECE):
            sides = {side: rows[side][candidates], _other(side): rows[_other(side)][probes]}
            pairs = pl.concat(list(sides.values()), how="horizontal").lazy()
            # Polars' `cast` takes a mapping of names, which its types do not say.
            found = pairs.filter(self.fits).select(self.select).cast(self.output).collect()  # type: ignore[arg-type]
            if found.height:
                yield found

    def _stretches(self, rows: dict[str, pl.DataFrame], side: str) -> CandidateRanges:
        """Return the candidates of the other side's rows among those of `side`: by band or by time, the fewer ones."""
        sorted_rows = rows[side]
        probing = rows[_other(side)]
        times, probes = (each.get_column(each.columns[0]).to_numpy() for each in (sorted_rows, probing))
        # A row at t waits one window for later rows of the other side, and earlier rows of that side wait theirs for
        # it.
        low = probes - self.windows[side]
        high = probes + self.windows[_other(side)]
        band = self.bands[side]
        count = 0 if band is None else count_by_time(times, low, high)
        # Few candidates by time alone: sorting by the band would cost more than it saves.
        if band is None or count <= max(len(times), len(probes)):
            return by_time(times, low, high)
        bounds = (numbers(probing, bound) for bound in (band.low, band.high))
        narrow = by_band(times, low, high, self.width, numbers(sorted_rows, band.key), *bounds)
        return narrow if narrow.count < count else by_time(times, low, high)

    def _spread(self, left: pl.DataFrame, right: pl.DataFrame) -> bool:
        """Return whether the rows of either side are far apart in time."""
        times = (rows.get_column(rows.columns[0]) for rows in (left, right))
        # `max` of a column of integers is an integer, which its types do not say.
        return any(int(one.max()) - int(one.min()) > SPREAD * self.width for one in times)  # type: ignore[arg-type]

    def _bucketed(self, left: pl.DataFrame, right: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the rows with their buckets of time; a left row is in both buckets in which it may find partners."""
        t1 = pl.col(f"left.{TIME}")
        t2 = pl.col(f"right.{TIME}")
        low = (t1 - self.windows[RIGHT]) // self.width
        high = (t1 + self.windows[LEFT]) // self.width
        doubled = [left.with_columns(low.alias(BUCKET)), left.filter(high != low).with_columns(high.alias(BUCKET))]
        return pl.concat(doubled), right.with_columns((t2 // self.width).alias(BUCKET))


def _other(side: str) -> str:
    return RIGHT if side == LEFT else LEFT


def _used(expressions: list[Expression]) -> set[str]:
    return {f"{side}.{name}" for expression in expressions for side, name in expression.columns}


def cut_by_candidates(
    rows: pl.DataFrame, others: pl.DataFrame, on_rows: list[str], on_others: list[str], most: int = PIECE
) -> Iterator[pl.DataFrame]:
    """Yield the rows in pieces with about `most` candidates each. Candidates are counted by hash, so a few too many."""
    # Even if every row met every other one, this would fit into one piece.
    if rows.height * others.height <= most:
        yield rows
        return
    counts = np.bincount(_shelves(others, on_others), minlength=SHELVES)
    # Counting for every row takes a third of the time of a join. Usually a sample shows that it is not needed.
    if counts.max() <= HOT and SAMPLE * counts[_shelves(_sample(rows.select(on_rows)), on_rows)].sum() <= most / 2:
        yield rows
        return
    ends = np.cumsum(counts[_shelves(rows, on_rows)])
    cuts = [int(one) for one in np.searchsorted(ends, np.arange(most, int(ends[-1]), most))]
    for start, end in zip([0, *cuts], [*cuts, rows.height], strict=True):
        if start < end:
            yield rows.slice(start, end - start)


def _sample(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row of every SAMPLE rows, at varying positions, because the keys of many streams repeat in turn."""
    start = np.arange(0, rows.height, SAMPLE)
    chosen = np.minimum(start + part_of(cyclic_draws(len(start), 0), SAMPLE), rows.height - 1)
    return rows.select(pl.all().gather(pl.Series(chosen)))


def _shelves(rows: pl.DataFrame, keys: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    hashes = rows.select(keys).hash_rows() if len(keys) > 1 else rows.get_column(keys[0]).hash()
    return (hashes % SHELVES).cast(pl.Int64).to_numpy()
