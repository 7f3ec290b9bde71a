"""Spark without Java: the logs of a streaming query, its micro-batches, and the tasks of a batch.

Rule 1: logs are written as Spark writes them: under a temporary name, renamed, and never synced.
Rule 2: a batch may run its tasks in any order, on any worker, and more than once. One attempt of each task counts.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator

from drover.flow.spill import fetch
from drover.flow.worker import Assignment, WorkerCache
from drover.network.model import Network
from drover.network.types import polars_type
from drover.spark.batch import BatchResult, WorkerDiedError, gather
from drover.spark.sources import UnifiedSources
from drover.spark.tasks import SOURCE, NodeTask, RouterTask, Shape, SourceLayout, frames_of
from tests.simulation.batch_starts import BatchStarts, Planned
from tests.simulation.executors import SimulatedExecutors
from tests.simulation.faults import Faults, WorkerKilledError

Range = tuple[int, int]  # files of a source: from the first up to, but without, the second
Ranges = dict[str, Range]
COMPACT_EVERY = 3  # files of a source's log; Spark's default is 10, which few histories would reach


class SparkLogError(Exception):
    """A file of Spark's own logs cannot be read."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


@dataclass(frozen=True, slots=True)
class SimulatedRows:
    """The rows of a micro-batch, by partition; it takes the place of a DataFrame."""

    partitions: Sequence[pl.DataFrame]
    sparkSession: Any = None  # noqa: N815 - Spark's name. Any: a SimulatedSession
    of_spark: int | None = None  # number of the batch in Spark's log; None if there are no rows to read


@dataclass(frozen=True, slots=True)
class SimulatedSession:
    """Takes the place of a SparkSession: it makes batches without rows."""

    def createDataFrame(self, _rows: object, _schema: object) -> SimulatedRows:  # noqa: N802 - Spark's name
        return SimulatedRows((), self)


@dataclass(frozen=True, slots=True)
class SimulatedFrame:
    """Takes the place of the streaming DataFrame with all sources."""

    schema: None = None


def unified(network: Network) -> UnifiedSources:
    """Return the sources of a network as one frame, with the layout that `read_sources` gives it."""
    frame: Any = SimulatedFrame()  # Any: a DataFrame
    return UnifiedSources(
        frame, SourceLayout({name: _shape(network, name) for name in (source.name for source in network.sources)})
    )


def _shape(network: Network, name: str) -> Shape:
    columns = [source.schema.columns for source in network.sources]
    mine = next(source for source in network.sources if source.name == name)
    return {column: f"{columns.index(mine.schema.columns)} {column}" for column in mine.schema.names}


@dataclass(slots=True)
class SimulatedQuery:
    """A streaming query: it plans micro-batches from files of rows, and writes down which it has planned and done."""

    network: Network
    root: Path  # of Spark's own checkpoint
    files: Mapping[str, Sequence[pl.DataFrame]]  # by source; more may come
    rng: Generator
    session: SimulatedSession = field(default_factory=SimulatedSession)
    batch: int = 0
    ends: dict[str, int] = field(default_factory=dict)  # files in all batches so far, by source
    logged: list[int] = field(default_factory=list)  # entries in the log of each source
    planned: Ranges | None = None  # the batch that is to be run, if it is planned

    def start(self) -> None:
        """Continue where the logs end."""
        if not (self.root / "metadata").exists():
            self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
        self.logged = [self._logged(index) for index in range(len(self.network.sources))]
        begun = self._last("offsets")
        done = self._last("commits")
        self.batch = begun + 1
        self.ends = self._offsets(begun)
        self.planned = None
        if done >= 0:
            self._parsed(self.root / "commits" / str(done))
        if begun > done:
            self.batch = begun
            start = self._offsets(begun - 1)
            self.planned = {name: (start[name], end) for name, end in self.ends.items()}
            self.ends = start
        # The next batch reads these entries, even if a later one has all of them.
        for index, source in enumerate(self.network.sources):
            planned = self.planned[source.name][1] if self.planned is not None else 0
            for entry in range(self.ends[source.name], max(planned, self.logged[index])):
                self._check_source(index, entry)

    def plan(self) -> bool:
        """Plan the next batch, if there are rows; return whether there is one to run."""
        if self.planned is not None:
            return True
        ranges: Ranges = {}
        for index, source in enumerate(self.network.sources):
            first = self.ends.get(source.name, 0)
            logged = self.logged[index]  # a run that died may have written more than the offsets say
            # A query that is behind takes several files; one may also see the files of a single source only.
            last = max(min(len(self.files[source.name]), first + int(self.rng.integers(1, 4))), logged)
            for entry in range(logged, last):
                self._log_file(index, entry)
                self.logged[index] = entry + 1
            ranges[source.name] = (first, last)
        if all(first == last for first, last in ranges.values()):
            return False
        lines = [json.dumps({"batchWatermarkMs": 0}), *(json.dumps({"logOffset": end}) for _, end in ranges.values())]
        self._write(f"offsets/{self.batch}", "\n".join(["v1", *lines]))
        self.planned = ranges
        return True

    def rows(self) -> SimulatedRows:
        """Return the rows of the planned batch."""
        assert self.planned is not None
        layout = unified(self.network).layout
        parts = [
            laid_out(self.files[name][file], number, layout.shapes[name], self.network, layout)
            for number, (name, (first, last)) in enumerate(self.planned.items())
            for file in range(first, last)
        ]
        return SimulatedRows(parts, self.session, self.batch)

    def finish(self) -> None:
        """Note that the batch is done."""
        assert self.planned is not None
        self._write(f"commits/{self.batch}", 'v1\n{"nextBatchWatermarkMs":0}')
        self.ends = {name: end for name, (_, end) in self.planned.items()}
        self.planned = None
        self.batch += 1

    def _log_file(self, index: int, entry: int) -> None:
        """Write which file an entry of a source's log stands for; every third entry has all before it."""
        compact = (entry + 1) % COMPACT_EVERY == 0
        first = 0 if compact else entry
        lines = [json.dumps({"path": f"{index}/{file}.parquet", "batchId": file}) for file in range(first, entry + 1)]
        self._write(f"sources/{index}/{entry}{'.compact' if compact else ''}", "\n".join(["v1", *lines]))

    def _logged(self, index: int) -> int:
        folder = self.root / "sources" / str(index)
        names = [path.name.partition(".")[0] for path in folder.iterdir()] if folder.is_dir() else []
        count = max((int(name) + 1 for name in names if name.isdecimal()), default=0)
        for entry in range(count // COMPACT_EVERY * COMPACT_EVERY, count):
            self._check_source(index, entry)
        return count

    def _check_source(self, index: int, entry: int) -> None:
        compact = (entry + 1) % COMPACT_EVERY == 0
        self._parsed(self.root / "sources" / str(index) / f"{entry}{'.compact' if compact else ''}")

    def _last(self, log: str) -> int:
        folder = self.root / log
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        return max((int(name) for name in names if name.isdecimal()), default=-1)

    def _offsets(self, batch: int) -> dict[str, int]:
        if batch < 0:
            return {source.name: 0 for source in self.network.sources}
        path = self.root / "offsets" / str(batch)
        lines = self._parsed(path)[1:]
        try:
            ends = [int(line["logOffset"]) for line in lines]
        except (KeyError, TypeError, ValueError) as error:
            raise SparkLogError(path) from error
        return dict(zip((source.name for source in self.network.sources), ends, strict=True))

    def _parsed(self, path: Path) -> list[dict[str, Any]]:  # Any: JSON
        try:
            version, *lines = path.read_text("utf-8").split("\n")
            if version != "v1" or not lines:
                raise ValueError(version)
            return [json.loads(line) for line in lines]
        except (OSError, ValueError) as error:
            raise SparkLogError(path) from error

    def _write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{uuid.uuid4()}.tmp")
        write_unsynced(aside, text.encode())
        aside.replace(path)


def write_unsynced(path: Path, data: bytes) -> None:
    """Write a file as most programs do, without waiting for the disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def laid_out(rows: pl.DataFrame, number: int, shape: Shape, network: Network, layout: SourceLayout) -> pl.DataFrame:
    columns = {
        column: polars_type(kind)
        for source in network.sources
        for kind, column in zip(source.schema.types.values(), layout.shapes[source.name].values(), strict=True)
    }
    own = {column: name for name, column in shape.items()}
    return rows.select(
        pl.lit(number, pl.Int32).alias(SOURCE),
        *(
            (pl.col(own[column]) if column in own else pl.lit(None, kind)).alias(column)
            for column, kind in columns.items()
        ),
    )


class SimulatedWorker(WorkerCache):
    """The memory of a Python worker."""

    def freeze(self) -> None:
        """Leave the garbage collector alone: this process has other things in it."""


@dataclass(slots=True)
class SimulatedEngine:
    """Computes micro-batches task by task; takes the place of a Spark job."""

    rng: Generator
    faults: Faults
    starts: BatchStarts
    executors: SimulatedExecutors
    workers: list[SimulatedWorker] = field(default_factory=list)
    may_give_up: bool = True  # once, because what was running at two deaths is parked, and queries are never resumed
    begun: set[int] = field(default_factory=set)  # Spark's batches whose logs drover has made durable

    def restart(self, count: int = 2) -> None:
        """Begin with new workers."""
        self.workers = [self._new_worker() for _ in range(count)]

    def _new_worker(self) -> SimulatedWorker:
        return SimulatedWorker(self.faults.clock.process_time, self.faults.clock.advance, self.faults.clock.time)

    def run(
        self,
        rows: Any,  # Any: SimulatedRows
        layout: SourceLayout,
        assignment: Assignment,
        meanwhile: Callable[[], None],
    ) -> BatchResult:
        """Run one micro-batch, and the driver's work beside it before any of its stages, or after the last."""
        planned: Planned = ("closing", assignment.batch) if rows.of_spark is None else ("rows", rows.of_spark)
        self.starts.begin(assignment.batch, planned)
        schedule = assignment.schedule
        before = int(self.rng.integers(schedule.hops + 2))
        if before == 0:
            self._do(meanwhile, rows, assignment.batch)
        made = self._stage(
            {
                number: (RouterTask(assignment, layout), part.to_arrow().to_batches())
                for number, part in enumerate(rows.partitions)
            }
        )
        for hop in range(schedule.hops):
            if before == hop + 1:
                self._do(meanwhile, rows, assignment.batch)
            dealt = dict(_dealt(made, schedule.nodes))
            made = self._stage({node: (NodeTask(assignment, hop), dealt[node]) for node in range(schedule.nodes)})
        if before == schedule.hops + 1:
            self._do(meanwhile, rows, assignment.batch)
        frames = (frame for batch in made for frame in frames_of(batch.columns))
        result = gather(*fetch(frames, assignment.root))
        return replace(result, reports=tuple(self.executors.ran(report) for report in result.reports))

    def _do(self, meanwhile: Callable[[], None], rows: SimulatedRows, batch: int) -> None:
        meanwhile()
        self.starts.make_durable(batch)
        if rows.of_spark is not None:
            self.begun.add(rows.of_spark)

    def close(self) -> None:
        """Do nothing: workers end with the process that they simulate."""

    def _stage(self, tasks: Mapping[int, tuple[RouterTask | NodeTask, list[pa.RecordBatch]]]) -> list[pa.RecordBatch]:
        """Run tasks in any order; return what they made, in any order."""
        made: list[pa.RecordBatch] = []
        for number in self.rng.permutation(sorted(tasks)).tolist():
            task, given = tasks[number]
            made += self._task(task, given, number)
        return [made[index] for index in self.rng.permutation(len(made)).tolist()]

    def _task(self, task: RouterTask | NodeTask, given: list[pa.RecordBatch], number: int) -> list[pa.RecordBatch]:
        """Run a task, perhaps twice, and return what one of its attempts made."""
        attempts = 1 + int(self.rng.random() < 0.1)
        made = [self._try_again(task, given, number) for _ in range(attempts)]
        return made[int(self.rng.integers(attempts))]

    def _try_again(self, task: RouterTask | NodeTask, given: list[pa.RecordBatch], number: int) -> list[pa.RecordBatch]:
        """Run a task until its worker survives it; Spark may also give up at once, as it does on a single machine."""
        while True:
            place = int(self.rng.integers(len(self.workers)))
            shuffled = [given[index] for index in self.rng.permutation(len(given)).tolist()]
            self.faults.in_task = True
            try:
                return list(task.run(iter(shuffled), number, uuid.uuid4().hex[:12], self.workers[place]))
            except WorkerKilledError as death:
                self.workers[place] = self._new_worker()
                if self.may_give_up and self.rng.random() < 0.5:
                    self.may_give_up = False
                    raise WorkerDiedError("a Python worker died", number) from death
            finally:
                self.faults.in_task = False
                self.faults.worker_dead = False


def _dealt(made: list[pa.RecordBatch], nodes: int) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """Yield each node with its frames."""
    for node in range(nodes):
        mine = [one.filter(pc.equal(one.column("node"), node)) for one in made]
        yield node, [one for one in mine if one.num_rows]
