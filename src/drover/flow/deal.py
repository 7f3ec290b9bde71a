"""Dealing: the rows of a stream on their way to the instances of spread joins, and to everybody else who reads it.

Rule 1: a row goes once to each place, however many instances are there; each takes what is its own.
Rule 2: the draw of a row follows from its place among those that are sent together, from who sends them, and from their
first event time: so a replay deals as the first run did, and many small batches are spread as well as a large one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from drover.diffusion.epochs import Epochs, destinations, parts
from drover.diffusion.split import turns, weighted
from drover.flow.frames import Frame, pack
from drover.flow.instances import JoinInstance
from drover.flow.schedule import Deal, Place, Schedule

DRAW: Final = "drover.draw"  # column with the draw of a row; names with a dot cannot collide with columns


def ship(
    schedule: Schedule, stream: str, rows: pl.DataFrame, origin: int, here: Place | None = None
) -> tuple[list[Frame], dict[str, pl.DataFrame]]:
    """Return the frames that carry rows of a stream away, and by port the rows for instances at the place `here`."""
    frames = list(pack(rows, stream, schedule.routes[stream], origin))
    local: dict[str, pl.DataFrame] = {}
    for deal in schedule.deals.get(stream, ()):
        for place, mine in _dealt(rows, deal, origin):
            if place == here:
                local[deal.port] = mine
            else:
                frames += pack(mine, deal.port, [place], origin)
    return frames, local


def _dealt(rows: pl.DataFrame, deal: Deal, origin: int) -> Iterator[tuple[Place, pl.DataFrame]]:
    """Yield the rows for each place that gets any, with their draws."""
    if not rows.height:
        return
    first = rows.get_column(deal.time)[:1].dt.epoch("us").fill_null(0)[0]
    start = zlib.crc32(f"{deal.port} {origin} {first}".encode())
    present = deal.epochs[-1].grid
    fitting = len(deal.weights) == parts(present, deal.side)
    draws = weighted(rows.height, deal.weights, start) if fitting else turns(rows.height, start)
    goes = destinations(draws, deal.side, deal.epochs)
    marked = rows.with_columns(pl.Series(DRAW, draws, dtype=pl.UInt32))
    for place in dict.fromkeys(deal.places):
        there = [number for number, each in enumerate(deal.places) if each == place]
        mine = goes[:, there].any(axis=1)
        if mine.any():
            yield place, marked if mine.all() else marked.filter(pl.Series(mine))


def own_rows(instance: JoinInstance, inputs: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return what goes to one instance, by port, of the rows that came to its place."""
    return {
        port: taken_by(inputs[port], instance.number, side, instance.epochs)
        for side, port in enumerate(instance.inputs)
    }


def taken_by(rows: pl.DataFrame, number: int, side: int, epochs: Epochs) -> pl.DataFrame:
    """Return the rows that go to that instance, by their draws; the twin of `destinations`."""
    grids = [grid for _, grid in epochs if number < grid.cells]
    # Not only quicker: with several threads, Polars fails on some ten thousand rows and a condition without a column.
    if any(parts(grid, side) == 1 for grid in grids):
        return rows
    mine = [
        _part(pl.col(DRAW), parts(grid, side)) == (number // grid.columns if side == 0 else number % grid.columns)
        for grid in grids
    ]
    return rows.filter(pl.any_horizontal(mine)) if mine else rows.clear()


def made_by(left: tuple[str, str], right: tuple[str, str], epochs: Epochs) -> pl.Expr:
    """Return the instance that makes a pair, by the names of the columns of epoch and draw; the twin of `owners`."""
    older = pl.min_horizontal(left[0], right[0])
    found = pl.lit(-1, dtype=pl.Int64)
    for number, grid in epochs:
        cell = _part(pl.col(left[1]), grid.rows) * grid.columns + _part(pl.col(right[1]), grid.columns)
        found = pl.when(older == number).then(cell).otherwise(found)
    return found


def _part(draw: pl.Expr, count: int) -> pl.Expr:
    """Return the part that a draw belongs to, as `diffusion.split.part_of`."""
    if count == 1:
        return pl.lit(0, dtype=pl.Int64)
    return (draw.cast(pl.Int64) * count) // (1 << 32)
