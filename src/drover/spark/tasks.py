"""The Python functions that Spark runs in its workers: the router, and a node in one hop.

Rule 1: these are thin shells: rows in, frames out. All decisions are in `flow`.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import polars as pl
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, StringType, StructField, StructType

from drover.flow.frames import DRIVER, LARGE, Edge, Frame, FrameKind, FramePort, edges
from drover.flow.malformed_rows import CheckedRows, check_rows
from drover.flow.node import NOTHING_STREAMED, StreamedPart
from drover.flow.router import route, send_malformed, send_strays
from drover.flow.schedule import HopNode
from drover.flow.spill import spill
from drover.flow.state.layout import state_name
from drover.flow.worker import HOPS_APART, Assignment, TaskId, WorkerCache, run_worker

SOURCE: Final = "drover source"  # column with the number of the source of a row
FRAME_TYPE: Final = StructType(  # Java would parse a text in every batch
    [
        StructField("node", IntegerType()),
        StructField("hop", IntegerType()),
        StructField("kind", IntegerType()),
        StructField("stream", StringType()),
        StructField("reader", StringType()),
        StructField("origin", IntegerType()),
        StructField("serial", IntegerType()),
        StructField("payload", BinaryType()),
        StructField("spilled", BooleanType()),
    ]
)
FRAME_SCHEMA: Final = pa.schema(
    [
        ("node", pa.int32()),
        ("hop", pa.int32()),
        ("kind", pa.int32()),
        ("stream", pa.string()),
        ("reader", pa.string()),
        ("origin", pa.int32()),
        ("serial", pa.int32()),
        ("payload", pa.binary()),
        ("spilled", pa.bool_()),
    ]
)
ROUTED_BYTES: Final = 64 << 20  # rows that the router gathers before it sends frames
STRAY: Final = "drover stray"  # column with the value of `Strays.by`, in rows that belong to no stream

Shape = Mapping[str, str]  # column of the source -> column of the union of all sources
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Strays:
    """Rows of a shared source that belong to none of its streams."""

    sources: tuple[str, ...]
    by: str  # the SQL expression that names the stream of a row
    shape: Shape


@dataclass(frozen=True, slots=True)
class SourceLayout:
    """The columns in the union of all sources. SOURCE numbers the sources from 0, and strays from -1 downwards."""

    shapes: Mapping[str, Shape]
    strays: tuple[Strays, ...] = ()


@dataclass(frozen=True, slots=True)
class RouterReport:
    """What a router task reports to the driver: rows by source, what it sent, and its wall-clock seconds."""

    rows: Mapping[str, int]
    edges: tuple[Edge, ...]
    seconds: float


def burn(seconds: float) -> None:
    """Use so many seconds of CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# One per worker process. Spark reuses workers from batch to batch, but does not pin them to a node.
CACHE: Final = WorkerCache(time.process_time, burn, time.time, time.sleep)


# Classes, not closures: Spark pickles a closure together with the globals that it uses, so every task would get an
# empty CACHE of its own. A class of an importable module is pickled by name.
@dataclass(frozen=True, slots=True)
class RouterTask:
    """Turns source rows into frames."""

    assignment: Assignment
    layout: SourceLayout

    def __call__(self, batches: Batches) -> Batches:
        """Run in a task of Spark: its number, and the memory of its worker, come from the process."""
        yield from self.run(batches, partition_number(), attempt_word(), CACHE)
        CACHE.freeze()

    def run(self, batches: Batches, partition: int, attempt: str, cache: WorkerCache) -> Batches:
        """Yield the frames of one partition of the sources; no other attempt of any task has the word `attempt`."""
        for frames in self.pieces(batches, partition, attempt, cache):
            yield from record_batches(frames)

    def pieces(self, batches: Batches, partition: int, attempt: str, cache: WorkerCache) -> Iterator[list[Frame]]:
        """Yield the frames piece by piece: those of the rows that are gathered at a time, and the report."""
        network, _ = cache.compile_context(self.assignment.network)
        counts: Counter[str] = Counter()
        sent: list[Edge] = []
        seconds = 0.0
        for number, rows in enumerate(_gathered(batches)):
            started = time.perf_counter()
            # Each piece of a partition is an origin of its own, so that serial numbers never repeat.
            origin = partition + number * 10_000
            checked = check_rows(rows)
            usable = rows if checked is None else checked.good
            sources = dict(_by_source(usable, self.layout.shapes))
            interest = cache.interest(self.assignment)
            most = self.assignment.frame_bytes
            frames = list(route(network, self.assignment.schedule, sources, origin, interest, most))
            for index, strays in enumerate(self.layout.strays):
                mine = usable.filter(pl.col(SOURCE) == -1 - index)
                columns = _columns({name: column for name, column in strays.shape.items() if name != strays.by})
                letters = mine.select(*columns, pl.col(STRAY).alias(strays.by))
                frames += send_strays(letters, strays.sources, strays.by, origin)
            counts.update({source: mine.height for source, mine in sources.items()})
            if checked is not None:
                malformed, counted = _malformed(checked, self.layout, origin)
                frames += malformed
                counts.update(counted)
            sent += edges(frames)
            seconds += time.perf_counter() - started
            name = state_name(self.assignment.batch, origin, f"routed-{attempt}")
            yield spill(frames, self.assignment.root, name)
        if counts:
            routed = RouterReport(dict(counts), tuple(sent), seconds)
            yield [Frame(0, DRIVER, FramePort(FrameKind.ROUTER_REPORT), partition, 0, pickle.dumps(routed))]


@dataclass(frozen=True, slots=True)
class NodeTask:
    """Runs one hop of a node; the node's number is that of the partition."""

    assignment: Assignment
    hop: int

    def __call__(self, batches: Batches) -> Batches:
        """Run in a task of Spark, as `RouterTask` does."""
        return self.run(batches, partition_number(), attempt_word(), CACHE)

    def run(self, batches: Batches, node: int, attempt: str, cache: WorkerCache) -> Batches:
        """Yield the frames for later hops and for the driver."""
        # All of them before the clock starts: waiting for Spark's shuffle is not the node's work.
        frames = [frame for batch in batches for frame in frames_of(batch.columns)]
        yield from record_batches(self.run_frames(frames, node, attempt, cache))
        cache.freeze()

    def run_frames(
        self,
        frames: Iterable[Frame],
        node: int,
        attempt: str,
        cache: WorkerCache,
        streamed: StreamedPart = NOTHING_STREAMED,
    ) -> list[Frame]:
        """Return the frames for later hops and for the driver; what is `streamed` has run before, piece by piece."""
        place = HopNode(self.hop, node)
        started = time.perf_counter()
        began = time.process_time()
        word = f"{self.hop}-{attempt}"
        made, report = run_worker(self.assignment, place, frames, word, cache, streamed)
        name = state_name(self.assignment.batch, place.node, f"rows-{word}")
        sent = spill(made, self.assignment.root, name)
        # A place without work has nothing to report: in a plan with several hops, that is most places.
        if report.operators or report.tallies or report.parked or report.segments or report.held or report.failures:
            seconds = time.perf_counter() - started + streamed.seconds
            waited = sum(one.sample.waited for one in report.operators)
            busy = time.process_time() - began + streamed.busy + waited
            report = replace(report, busy=busy, seconds=seconds, task=task_id())
            origin = self.hop * HOPS_APART + place.node
            sent.append(Frame(place.node, DRIVER, FramePort(FrameKind.NODE_REPORT), origin, 0, pickle.dumps(report)))
        return sent


def attempt_word() -> str:
    """Return a word that no other attempt of any task has."""
    return uuid.uuid4().hex[:12]


def partition_number() -> int:
    """Return the number of the partition that this task of Spark computes."""
    context = TaskContext.get()
    assert context is not None, "this runs inside a Spark task"
    return context.partitionId()


def task_id() -> TaskId | None:
    """Return the numbers of the task of Spark that runs this; None outside of Spark.

    A Python worker cannot know its executor. From these numbers, the driver learns it if it has to.
    """
    context = TaskContext.get()
    return None if context is None else TaskId(context.stageId(), context.taskAttemptId())


def _gathered(batches: Batches) -> Iterator[pl.DataFrame]:
    """Yield the rows in large pieces: few large frames cost less than many small ones."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size > ROUTED_BYTES:
            yield pl.DataFrame(pa.Table.from_batches(waiting))
            waiting = []
            size = 0
    if waiting:
        yield pl.DataFrame(pa.Table.from_batches(waiting))


def _by_source(rows: pl.DataFrame, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield each source that has rows, with its rows in their order; one pass for any number of sources."""
    names = list(shapes)
    numbers = rows[SOURCE]
    # A task mostly reads one source, and then its rows need not be copied.
    alike = rows.height > 0 and numbers.min() == numbers.max()
    parts = {(numbers[0],): rows} if alike else rows.partition_by(SOURCE, as_dict=True, maintain_order=True)
    for (number,), mine in parts.items():
        if number >= 0:
            yield names[number], mine.select(_columns(shapes[names[number]]))


def _malformed(checked: CheckedRows, layout: SourceLayout, origin: int) -> tuple[list[Frame], Counter[str]]:
    """Return the dead letters of malformed rows, and the number of these rows by source."""
    names = list(layout.shapes)
    frames: list[Frame] = []
    counts: Counter[str] = Counter()
    for number in checked.malformed[SOURCE].unique().sort():
        mine = checked.malformed[SOURCE] == number
        sources = (names[number],) if number >= 0 else layout.strays[-1 - number].sources
        frames += send_malformed(checked.texts.filter(mine), checked.reasons.filter(mine), sources, origin)
        if number >= 0:
            counts[names[number]] += int(mine.sum())
    return frames, counts


def _columns(shape: Shape) -> list[pl.Expr]:
    return [pl.col(column).alias(name) for name, column in shape.items()]


def record_batches(frames: Iterable[Frame], most: int = ROUTED_BYTES) -> Batches:
    """Yield frames as Arrow rows, about `most` bytes at a time; a larger frame is alone."""
    group: list[Frame] = []
    size = 0
    for frame in frames:
        if group and size + len(frame.payload) > most:
            yield record_batch(group)
            group = []
            size = 0
        group.append(frame)
        size += len(frame.payload)
    if group:
        yield record_batch(group)


def record_batch(frames: list[Frame]) -> pa.RecordBatch:
    """Return frames as rows of FRAME_SCHEMA."""
    # pyarrow accepts a memory view of its own buffers, but not the buffers.
    rows = [
        (one.node, one.hop, *one.port, one.origin, one.serial, memoryview(one.payload), one.spilled) for one in frames
    ]
    *columns, payloads, spilled = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FRAME_SCHEMA, strict=False)]
    arrays += [_payloads(payloads), pa.array(spilled, pa.bool_())]
    return pa.RecordBatch.from_arrays(arrays, schema=FRAME_SCHEMA)


def _payloads(payloads: Sequence[memoryview]) -> pa.Array:
    """Return payloads as one column; a single one is not copied."""
    if len(payloads) > 1:
        return pa.array(payloads, pa.binary())
    offsets = pa.array([0, len(payloads[0])], pa.int32())
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets.buffers()[1], pa.py_buffer(payloads[0])])


def frames_of(columns: Iterable[pa.Array]) -> Iterator[Frame]:
    """Yield the frames in columns of FRAME_SCHEMA; large payloads are not copied, so they keep all columns alive."""
    *others, payloads, spilled = columns
    rows = zip(*(column.to_pylist() for column in others), _values(payloads), spilled.to_pylist(), strict=True)
    for node, hop, kind, stream, reader, origin, serial, payload, is_spilled in rows:
        yield Frame(node, hop, FramePort(FrameKind(kind), stream, reader), origin, serial, payload, is_spilled)


def _values(payloads: pa.Array) -> Iterator[bytes | pa.Buffer]:
    """Yield the values of a binary column; large ones are slices of its buffer."""
    if not len(payloads):  # Java may send it without offsets
        return
    _, offsets, data = payloads.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(payloads) + 1, [None, offsets], offset=payloads.offset).to_pylist()
    for start, end in pairwise(ends):
        value = data.slice(start, end - start)
        yield value if value.size >= LARGE else value.to_pybytes()
