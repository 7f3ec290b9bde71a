"""Distributing the rows of a stream to its readers: whole to most operators, in parts to instances of spread joins.

Rule 1: a row goes at most once to each place. If several instances run there, each picks its own rows.
Rule 2: every row gets a number, its draw, which decides the instances that it goes to. The draw depends only on the
row's position among the rows sent together, on their sender and on their first event time. So a replay distributes
rows as the first run did, and many small batches are spread as evenly as one large batch.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
import polars as pl

from drover.diffusion.epochs import LEFT, Epochs, destinations, parts
from drover.diffusion.split import Draws, cyclic_draws, digits_of, draws_by_row, weighted_draws
from drover.flow.frames import FRAME_BYTES, Frame, FramePort, pack, stream_port
from drover.flow.instances import JoinInstance
from drover.flow.schedule import DistributionRule, HopNode, Schedule, TravellingColumns
from drover.network.grid import Epoch

DRAW: Final = "drover.draw"  # column with the draw of a row; no column of a stream has a dot in its name
ALL_COLUMNS: Final[TravellingColumns] = MappingProxyType({})


def ship(
    schedule: Schedule,
    stream: str,
    rows: pl.DataFrame,
    origin: int,
    here: HopNode | None = None,
    most: int = FRAME_BYTES,
) -> tuple[list[Frame], dict[FramePort, pl.DataFrame]]:
    """Return the frames, of about `most` bytes, for other places, and by port the rows for instances at `here`."""
    frames = list(_pack_by_columns(schedule, stream, rows, origin, most))
    local: dict[FramePort, pl.DataFrame] = {}
    for rule in schedule.distributions.get(stream, ()):
        for place, mine in _rows_by_place(rows, rule, origin, schedule.columns):
            if place == here:
                local[rule.port] = mine
            else:
                frames += pack(mine, rule.port, [place], origin, most)
    return frames, local


def only_columns(rows: pl.DataFrame, columns: tuple[str, ...] | None) -> pl.DataFrame:
    """Return the rows with these columns, as far as they have them; None means all.

    For an operator that holds its input, more columns may be wanted than the run reads.
    """
    return rows if columns is None else rows.select(name for name in columns if name in rows.columns)


def _pack_by_columns(schedule: Schedule, stream: str, rows: pl.DataFrame, origin: int, most: int) -> Iterator[Frame]:
    """Yield the frames of a stream for every place that reads it; those for the same columns are encoded once."""
    port = stream_port(stream)
    places: dict[tuple[str, ...] | None, list[HopNode]] = {}
    for place in schedule.routes[stream]:
        places.setdefault(schedule.columns.get((port, place)), []).append(place)
    for columns, mine in places.items():
        yield from pack(only_columns(rows, columns), port, mine, origin, most)


def _rows_by_place(
    rows: pl.DataFrame, rule: DistributionRule, origin: int, columns: TravellingColumns = ALL_COLUMNS
) -> Iterator[tuple[HopNode, pl.DataFrame]]:
    """Yield each place that gets rows, with these rows and their draws."""
    if not rows.height:
        return
    # The first event time makes small batches begin at different draws. With the same start, one instance would get the
    # first row of every batch.
    first = rows.get_column(rule.time)[:1].dt.epoch("us").fill_null(0)[0]
    start = zlib.crc32(f"{rule.port.reader} {origin} {first}".encode())
    draws = _draws(rule, rows.height, start)
    # Rows also go where they belong in older epochs, while these have partners in open windows.
    goes = destinations(draws, rule.side, rule.epochs)
    marked = rows.with_columns(pl.Series(DRAW, draws, dtype=pl.UInt32))
    for place in dict.fromkeys(rule.places):
        there = [number for number, each in enumerate(rule.places) if each == place]
        mine = goes[:, there].any(axis=1)
        if mine.any():
            sent = only_columns(marked, columns.get((rule.port, place)))
            yield place, sent if mine.all() else sent.filter(pl.Series(mine))


def _draws(rule: DistributionRule, count: int, start: int) -> Draws:
    """Return the draws of so many rows: by the weights of the newest grid, or even if it has none."""
    present = rule.epochs[-1]
    grid = present.grid
    # Weights may be of an older shape of the join.
    if present.by_row and rule.side != LEFT:
        fitting = len(rule.weights) == grid.cells
        return draws_by_row(count, np.array(rule.weights if fitting else [1.0] * grid.cells).reshape(grid), start)
    fitting = len(rule.weights) == parts(grid, rule.side)
    return weighted_draws(count, rule.weights, start) if fitting else cyclic_draws(count, start)


def own_rows(instance: JoinInstance, inputs: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the rows of one instance, by input, out of the rows that arrived at its place."""
    return {
        port: taken_by(inputs[port], instance.number, side, instance.epochs)
        for side, port in enumerate(instance.inputs)
    }


def taken_by(rows: pl.DataFrame, number: int, side: int, epochs: Epochs) -> pl.DataFrame:
    """Return the rows that belong to an instance, by their draws: `diffusion.epochs.destinations` in Polars."""
    live = [epoch for epoch in epochs if number < epoch.grid.cells]
    # This is faster, and it avoids an error: on some ten thousand rows and with several threads, Polars fails on a
    # condition that uses no column.
    if any(parts(epoch.grid, side) == 1 for epoch in live):
        return rows
    mine = []
    for epoch in live:
        row, column = divmod(number, epoch.grid.columns)
        mine.append(
            part(pl.col(DRAW), epoch.grid.rows) == row
            if side == LEFT
            else column_in(pl.col(DRAW), pl.lit(row, dtype=pl.Int64), epoch) == column
        )
    return rows.filter(pl.any_horizontal(mine)) if mine else rows.clear()


def made_by(left: tuple[str, str], right: tuple[str, str], epochs: Epochs) -> pl.Expr:
    """Return the instance that makes a pair, by its columns of epoch and draw: `diffusion.epochs.owners` in Polars."""
    older = pl.min_horizontal(left[0], right[0])
    found = pl.lit(-1, dtype=pl.Int64)
    for epoch in epochs:
        row = part(pl.col(left[1]), epoch.grid.rows)
        cell = row * epoch.grid.columns + column_in(pl.col(right[1]), row, epoch)
        found = pl.when(older == epoch.number).then(cell).otherwise(found)
    return found


def column_in(draw: pl.Expr, row: pl.Expr, epoch: Epoch) -> pl.Expr:
    """Return the column of a right row in a row of a grid: `diffusion.split.digit_of` in Polars."""
    columns = epoch.grid.columns
    if not epoch.by_row or columns == 1:
        return part(draw, columns)
    power = row % digits_of(columns) + 1
    return (draw.cast(pl.Int64) * pl.lit(columns, dtype=pl.Int64).pow(power)) // (1 << 32) % columns


def part(draw: pl.Expr, count: int) -> pl.Expr:
    """Return the part that a draw belongs to: `diffusion.split.part_of` in Polars."""
    if count == 1:
        return pl.lit(0, dtype=pl.Int64)
    return (draw.cast(pl.Int64) * count) // (1 << 32)
