"""One operator on small batches: rows in, rows out, with the state and the watermarks in plain sight.

Times are seconds since 1970 throughout, so that a case can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import polars as pl

import drover
from drover.flow.operators import (
    CompileContext,
    Runner,
    Spend,
    UnitState,
    Wait,
    Watermarks,
    late_streams,
    make_runner,
    no_wait,
)
from drover.flow.tables import Address
from drover.network.build import Stream
from drover.network.model import Network
from drover.network.types import polars_type

Row = tuple[Any, ...]  # Any: cells of every type
COLUMNS: Final = {"ts": "timestamp", "k": "string", "v": "bigint"}
SECOND: Final = 1_000_000
INSTANT: Final = pl.Datetime("us", "UTC")


def one_source(make: Callable[[Stream], Stream | dict[str, Stream]]) -> Network:
    """Return a network of the source `s` and one operator, which `make` adds to it."""
    net = drover.Builder("n")
    made = make(net.source("s", COLUMNS, time="ts"))
    for stream in made.values() if isinstance(made, dict) else (made,):
        stream.output()
    return net.build()


def two_sources(make: Callable[[Stream, Stream], Stream]) -> Network:
    """Return a network of the sources `a` and `b` and one operator, which `make` adds to them."""
    net = drover.Builder("n")
    make(net.source("a", COLUMNS, time="ts"), net.source("b", COLUMNS, time="ts")).output()
    return net.build()


def frame(network: Network, stream: str, rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows of a stream as a frame; times are seconds."""
    schema = {name: polars_type(kind) for name, kind in network.streams[stream].types.items()}
    times = [name for name, kind in schema.items() if kind == INSTANT]
    given = schema | dict.fromkeys(times, pl.Float64())
    cells = pl.DataFrame(list(rows), schema=given, orient="row")
    return cells.with_columns((pl.col(name) * SECOND).round().cast(pl.Int64).cast(INSTANT) for name in times)


def cells(rows: pl.DataFrame) -> list[Row]:
    """Return a frame as rows; times are seconds."""
    micros = rows.with_columns(pl.col(name).dt.epoch("us") for name, kind in rows.schema.items() if kind == INSTANT)
    times = [kind == INSTANT for kind in rows.schema.values()]
    # Not Polars' division: it multiplies by the reciprocal, which is wrong in the last digit.
    return [
        tuple(cell / SECOND if time and cell is not None else cell for time, cell in zip(times, row, strict=True))
        for row in micros.rows()
    ]


class SmallBatches:
    """Runs the last operator of a network, batch by batch."""

    def __init__(
        self,
        network: Network,
        *,
        spend: Spend = lambda _: None,
        wait: Wait = no_wait,
        tables: Mapping[str, Address] | None = None,
    ) -> None:
        self.network = network
        self.operator = network.operators[-1]
        context = CompileContext(network, spend, late_streams(network), tables or {}, wait)
        self.runner: Runner = make_runner(self.operator, context)
        self.state = UnitState()

    def run(self, *inputs: Iterable[Row], late: float | None = None, now: float | None = None) -> dict[str, list[Row]]:
        """Return what the operator emits for the rows of its inputs, by stream; the watermarks are seconds."""
        given = {
            stream: frame(self.network, stream, rows) for stream, rows in zip(self.operator.inputs, inputs, strict=True)
        }
        clock = Watermarks(None if late is None else round(late * SECOND), None if now is None else round(now * SECOND))
        self.state.begin()
        found = self.runner.run(given, self.state, clock)
        for stream, rows in found.items():
            wanted = {name: polars_type(kind) for name, kind in self.network.streams[stream].types.items()}
            assert dict(rows.schema) == wanted, stream
        return {stream: cells(rows) for stream, rows in found.items()}

    def only(self, *inputs: Iterable[Row], late: float | None = None, now: float | None = None) -> list[Row]:
        """Return what an operator with one output emits."""
        (found,) = self.run(*inputs, late=late, now=now).values()
        return found
