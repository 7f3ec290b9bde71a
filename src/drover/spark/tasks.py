"""The Python functions that Spark runs in its workers: the router, and a node's place in a hop.

Rule 1: thin shells: rows in, frames out; everything that decides anything is in `flow`.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from drover.flow.frames import DRIVER, Edge, Frame, edges
from drover.flow.router import route, send_strays
from drover.flow.schedule import Place
from drover.flow.spill import spill
from drover.flow.state.layout import state_name
from drover.flow.worker import Assignment, Memory, run_worker

REPORT: Final = ""  # port of a place's report; no stream has this name
ROUTED: Final = "routed:"  # port of a router's report
SOURCE: Final = "drover source"  # column with the number of the source of a row
FRAME_TYPE: Final = StructType(  # not as text, which Java would parse in every batch
    [
        StructField("node", IntegerType()),
        StructField("hop", IntegerType()),
        StructField("port", StringType()),
        StructField("origin", IntegerType()),
        StructField("serial", IntegerType()),
        StructField("payload", BinaryType()),
    ]
)
FRAME_SCHEMA: Final = pa.schema(
    [
        ("node", pa.int32()),
        ("hop", pa.int32()),
        ("port", pa.string()),
        ("origin", pa.int32()),
        ("serial", pa.int32()),
        ("payload", pa.binary()),
    ]
)
ROUTED_BYTES: Final = 64 << 20  # rows that the router gathers before it sends frames

STRAY: Final = "drover stray"  # column with what tells streams apart, in rows that belong to none

Shape = Mapping[str, str]  # column of the source -> column of the union of all sources
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Strays:
    """Rows of a source that carries several streams, but belong to none of them."""

    sources: tuple[str, ...]
    by: str  # what tells the streams apart, in SQL
    shape: Shape


@dataclass(frozen=True, slots=True)
class Layout:
    """What is in the union of all sources: rows numbered from 0 by source; below 0 are strays, from -1 downwards."""

    shapes: Mapping[str, Shape]
    strays: tuple[Strays, ...] = ()


@dataclass(frozen=True, slots=True)
class Routed:
    """What a router task tells the driver: rows by source, what it sent, and how long it worked by the clock."""

    rows: Mapping[str, int]
    edges: tuple[Edge, ...]
    seconds: float


def burn(seconds: float) -> None:
    """Keep the processor busy for so many seconds of CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# One per worker process; workers are reused from batch to batch, but not pinned to a node.
MEMORY: Final = Memory(time.process_time, burn)


# Classes, not closures: Spark pickles a closure together with the globals it uses, so that every task would get a
# MEMORY of its own, empty each time. A class of an importable module is pickled by name.
@dataclass(frozen=True, slots=True)
class RouterTask:
    """Turns source rows into frames."""

    assignment: Assignment
    layout: Layout

    def __call__(self, batches: Batches) -> Batches:
        """Yield the frames of one partition of the sources."""
        network, _ = MEMORY.shop(self.assignment.network)
        partition = _partition()
        counts: Counter[str] = Counter()
        sent: list[Edge] = []
        seconds = 0.0
        for number, rows in enumerate(_gathered(batches)):
            started = time.perf_counter()
            # Each gathering is an origin of its own, so that serial numbers never repeat.
            origin = partition + number * 10_000
            sources = dict(_by_source(rows, self.layout.shapes))
            interest = MEMORY.interest(self.assignment)
            frames = list(route(network, self.assignment.schedule, sources, origin, interest))
            for index, strays in enumerate(self.layout.strays):
                mine = rows.filter(pl.col(SOURCE) == -1 - index)
                columns = _columns({name: column for name, column in strays.shape.items() if name != strays.by})
                letters = mine.select(*columns, pl.col(STRAY).alias(strays.by))
                frames += send_strays(letters, strays.sources, strays.by, origin)
            counts.update({source: mine.height for source, mine in sources.items()})
            sent += edges(frames)
            seconds += time.perf_counter() - started
            name = state_name(self.assignment.batch, origin, f"routed-{_attempt()}")
            yield from _rows(spill(frames, self.assignment.root, name))
        if counts:
            routed = Routed(dict(counts), tuple(sent), seconds)
            yield _batch([Frame(0, DRIVER, ROUTED, partition, 0, pickle.dumps(routed))])
        MEMORY.settle()


@dataclass(frozen=True, slots=True)
class NodeTask:
    """Runs one hop of a node: its number is that of the partition."""

    assignment: Assignment
    hop: int

    def __call__(self, batches: Batches) -> Batches:
        """Yield the frames for later hops and for the driver."""
        place = Place(self.hop, _partition())
        columns = [[column.to_pylist() for column in batch] for batch in batches]
        frames = [Frame(*row) for batch in columns for row in zip(*batch, strict=True)]
        started, busy = time.perf_counter(), time.process_time()
        attempt = f"{self.hop}-{_attempt()}"
        made, report = run_worker(self.assignment, place, frames, attempt, MEMORY)
        name = state_name(self.assignment.batch, place.node, f"rows-{attempt}")
        sent = spill(made, self.assignment.root, name)
        if report.samples or report.tallies or report.parked or report.segments:
            seconds = time.perf_counter() - started
            report = replace(report, busy=time.process_time() - busy, seconds=seconds)
            sent.append(Frame(place.node, DRIVER, REPORT, self.hop * 10_000 + place.node, 0, pickle.dumps(report)))
        yield from _rows(sent)
        MEMORY.settle()


def _attempt() -> str:
    """Return a word that no other attempt of any task ever has."""
    return uuid.uuid4().hex[:12]


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None, "this runs inside a Spark task"
    return context.partitionId()


def _gathered(batches: Batches) -> Iterator[pl.DataFrame]:
    """Yield the rows in large pieces: few frames cost less than many."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > ROUTED_BYTES:
            yield pl.DataFrame(pa.Table.from_batches(waiting))
            waiting, size = [], 0
    if waiting:
        yield pl.DataFrame(pa.Table.from_batches(waiting))


def _by_source(rows: pl.DataFrame, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each source that has rows with them, in their order. One pass, however many sources there are."""
    names = list(shapes)
    for (number,), mine in rows.partition_by(SOURCE, as_dict=True, maintain_order=True).items():
        if number >= 0:
            yield names[number], mine.select(_columns(shapes[names[number]]))


def _columns(shape: Shape) -> list[pl.Expr]:
    return [pl.col(column).alias(name) for name, column in shape.items()]


def _rows(frames: list[Frame]) -> Batches:
    """Yield frames as Arrow rows, a few MB at a time."""
    start, size = 0, 0
    for index, frame in enumerate(frames):
        size += len(frame.payload)
        if size > ROUTED_BYTES:
            yield _batch(frames[start : index + 1])
            start, size = index + 1, 0
    if start < len(frames):
        yield _batch(frames[start:])


def _batch(frames: list[Frame]) -> pa.RecordBatch:
    # pyarrow takes a view of its own buffers, but not the buffers.
    columns = zip(*(frame._replace(payload=memoryview(frame.payload)) for frame in frames), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FRAME_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FRAME_SCHEMA)
