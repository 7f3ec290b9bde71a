"""The driver of the data loop: from Spark's micro-batches to committed batches of drover.

Rule 1: the order is: plan written, batch computed, sinks written, batch committed, and only then does Spark commit its
offsets. A crash anywhere leads to the same batch again, with the same plan and state, hence with the same rows. What is
written into tables that the network also reads is in the commit, and in the tables before the next batch begins.
Rule 2: drover counts its batches itself, because it may add one without rows to close windows; the commit notes which
of Spark's batches it has seen.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError
from drover.flow.operators import PENDING, settle
from drover.flow.planlog import read_plan, write_plan
from drover.flow.schedule import make_schedule
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.lock import Holder, Lock, hold
from drover.flow.state.retention import sweep
from drover.flow.state.storage import open_root
from drover.flow.tables import Address, prepare_tables
from drover.flow.watermarks import Progress, clocks
from drover.flow.worker import Assignment, load_state, pack_network
from drover.network.model import Network
from drover.network.operators import Operator
from drover.placement.plan import Plan
from drover.spark.batch import Result, run_batch
from drover.spark.changes import check_network
from drover.spark.sinks import Sink
from drover.spark.sources import Reading

SWEEP_EVERY: Final = 20  # batches
NO_SPARK_BATCH: Final = -1


@dataclass(slots=True)
class Driver:
    """Runs batches of one network on one checkpoint; `open` first, `close` last."""

    network: Network
    reading: Reading
    sinks: Mapping[str, Sequence[Sink]]
    root: str
    plan: Plan  # wanted from the next batch on
    stop_on_failure: bool = False
    dead_letters: Sink | None = None
    tables: Mapping[str, Address] = field(default_factory=dict, repr=False)  # of every table that operators use
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    history: list[dict[str, Any]] = field(default_factory=list)  # Any: a JSON object per batch, for `lastProgress`
    trouble: DroverError | None = None  # what stopped it, in drover's own words
    _lock: Lock | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> None:
        """Take the checkpoint, refuse it if it is another network's, make or check tables, and go on where it ends."""
        fs, path = open_root(self.root)
        fs.create_dir(path, recursive=True)
        self._lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S")))
        try:
            check_network(fs, path, self.network)
            prepare_tables(self.network, self.tables)
            self.checkpoint = latest(fs, path)
            self._settle({operator.name for operator in self.network.operators})  # if the last run died before it did
            planned = read_plan(fs, path, self.checkpoint.batch + 1)
            if planned is not None and self._fits(planned):
                self.plan = planned
        except BaseException:
            self.close()
            raise

    def _fits(self, plan: Plan) -> bool:
        return set(plan.node_of) == set(self.plan.node_of)

    def close(self) -> None:
        """Let go of the checkpoint."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def spark_batch(self) -> int:
        """The last of Spark's batches that is in the state."""
        return int(self.checkpoint.notes.get("spark_batch", NO_SPARK_BATCH))

    def process(self, rows: DataFrame, spark_batch: int) -> None:
        """Run one of Spark's micro-batches; one that is in the state already is not run again."""
        with self._turn:
            if spark_batch > self.spark_batch:
                try:
                    self._run(rows, spark_batch)
                except DroverError as error:  # Spark will tell of it too, at the end of a long traceback
                    self.trouble = error
                    raise

    def close_windows(self, spark: SparkSession) -> None:
        """Run a batch without rows if the watermark has moved since the last one."""
        with self._turn:
            progress = self._progress()
            if progress.now != progress.late:
                empty = spark.createDataFrame([], self.reading.frame.schema)
                self._run(empty, self.spark_batch)

    def _progress(self) -> Progress:
        notes = self.checkpoint.notes
        return Progress(notes.get("late", {}), notes.get("now", {}))

    def _run(self, rows: DataFrame, spark_batch: int) -> None:
        started = time.monotonic()
        batch = self.checkpoint.batch + 1
        plan = self._plan_for(batch)
        progress = self._progress()
        parked: dict[str, str] = dict(self.checkpoint.notes.get("parked", {}))
        assignment = Assignment(
            batch,
            pack_network(self.network, self.tables),
            make_schedule(self.network, plan),
            clocks(self.network, progress),
            {unit: dict(parts) for unit, parts in self.checkpoint.version.units.items()},
            self.root,
            frozenset(parked),
        )
        result = run_batch(rows, self.reading.shapes, assignment)
        computed = time.monotonic()
        parked |= self._failures(result)
        self._deliver(result, batch, rows.sparkSession)
        delivered = time.monotonic()
        after = progress.after(self.network, result.latest)
        self._commit(batch, result, {
            "spark_batch": spark_batch, "plan": plan.number, "late": dict(after.late), "now": dict(after.now),
            "parked": parked,
        })  # fmt: skip
        self._settle({segment.unit for report in result.reports for segment in report.segments})
        committed = time.monotonic()
        self._note(batch, plan, result, {
            "compute": computed - started, "sinks": delivered - computed, "commit": committed - delivered,
        })  # fmt: skip

    def _plan_for(self, batch: int) -> Plan:
        """Return the plan of a batch, written before it is used."""
        fs, path = open_root(self.root)
        written = read_plan(fs, path, batch)
        if written != self.plan:
            if written is not None and self.plan.number <= written.number:
                self.plan = replace(self.plan, number=written.number + 1)
            write_plan(fs, path, batch, self.plan)
        return self.plan

    def _failures(self, result: Result) -> dict[str, str]:
        failed = {failure.operator: failure.reason for report in result.reports for failure in report.failures}
        if failed and self.stop_on_failure:
            told = "; ".join(f"{operator}: {reason}" for operator, reason in failed.items())
            raise DroverError(f"operators failed and stop_on_failure is set: {told}")
        return failed

    def _deliver(self, result: Result, batch: int, spark: SparkSession) -> None:
        for stream, rows in result.rows.items():
            for sink in self.sinks.get(stream, ()):
                sink.write(rows, batch, spark)
        if self.dead_letters is not None:
            for rows in result.dead.values():
                self.dead_letters.write(rows, batch, spark)

    def _commit(self, batch: int, result: Result, notes: Mapping[str, Any]) -> None:
        fs, path = open_root(self.root)
        segments = tuple(segment for report in result.reports for segment in report.segments)
        bounds = {key: bound for report in result.reports for key, bound in report.bounds.items()}
        entry = Commit(batch, segments, bounds, notes=notes)
        self.checkpoint = commit(fs, path, self.checkpoint, entry)
        if batch % SWEEP_EVERY == 0:
            sweep(fs, path)

    def _settle(self, operators: Collection[str]) -> None:
        """Write into tables what these operators left in the last commit."""

        def pending(operator: Operator) -> pl.DataFrame | None:
            saved = self.checkpoint.version.units.get(operator.name)
            if saved is None or operator.name not in operators:
                return None
            return load_state(self.root, operator.name, saved).parts.get(PENDING)

        settle(self.network, self.tables, pending)

    def _note(self, batch: int, plan: Plan, result: Result, seconds: Mapping[str, float]) -> None:
        samples = [asdict(sample) for report in result.reports for sample in report.samples]
        self.history.append(
            {
                "batch": batch,
                "plan": plan.number,
                "nodes": plan.nodes,
                "seconds": {name: round(value, 4) for name, value in seconds.items()},
                "rows": {stream: rows.height for stream, rows in result.rows.items()},
                "deadLetters": {source: rows.height for source, rows in result.dead.items()},
                "parked": dict(self.checkpoint.notes.get("parked", {})),
                "samples": samples,
            }
        )
        del self.history[:-100]
