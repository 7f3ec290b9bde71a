"""The driver of the data loop: from Spark's micro-batches to committed batches of drover.

Rule 1: the order is: plan written, batch computed, sinks written, batch committed, and only then does Spark commit its
offsets. A crash anywhere leads to the same batch again, with the same plan and state, hence with the same rows. What is
written into tables that the network also reads is in the commit, and in the tables before the next batch begins.
Rule 2: drover counts its batches itself, because it may add one without rows to close windows; the commit notes which
of Spark's batches it has seen, and the plan log which batches were begun without rows.
Rule 3: after a failure nothing more is run: sinks may have rows under a number that another batch would take.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from drover.errors import DroverError
from drover.flow.operators import PENDING, settle
from drover.flow.recall import load_state
from drover.flow.schedule import make_schedule
from drover.flow.spill import discard
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.lock import Holder, Lock, hold
from drover.flow.state.retention import KEEP, sweep
from drover.flow.state.scatter import scattered
from drover.flow.state.segments import Key
from drover.flow.state.storage import open_root
from drover.flow.tables import Address, prepare_tables
from drover.flow.watermarks import Progress, clocks
from drover.flow.worker import Assignment, pack_network
from drover.network.model import Network
from drover.network.operators import Operator
from drover.spark.batch import Result, run_batch
from drover.spark.changes import check_network
from drover.spark.letters import letters
from drover.spark.offsets import check_follows, read_pace, spark_batch
from drover.spark.planner import Planner
from drover.spark.progress import describe
from drover.spark.queries.part import Part, Share
from drover.spark.sinks import Sink
from drover.spark.sources import Reading
from drover.spark.spreading import leftover, settled

SWEEP_EVERY: Final = 20  # batches
# What Spark looks for in an error of a Python function to tell an interruption by `stop` from a failure. A batch that
# `stop` breaks off fails with a long traceback instead, on which Spark's pattern runs out of stack.
INTERRUPTED: Final = "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
KEPT: Final = 100  # batches in the history

Listener = Callable[[Mapping[str, Any]], object]  # Any: JSON, as in the history
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Driver:
    """Runs batches of one network on one checkpoint; `open` first, `close` last."""

    network: Network
    reading: Reading
    sinks: Mapping[str, Sequence[Sink]]
    root: str
    planner: Planner
    queries: Part  # of submitted queries in a batch
    stop_on_failure: bool = False
    dead_letters: Sink | None = None
    tables: Mapping[str, Address] = field(default_factory=dict, repr=False)  # of every table that operators use
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    history: list[dict[str, Any]] = field(default_factory=list)  # Any: a JSON object per batch, for `lastProgress`
    failure: BaseException | None = None  # what stopped it
    _lock: Lock | None = None
    _opened: bool = False  # whether what the checkpoint says was read
    _turn: threading.RLock = field(default_factory=threading.RLock)  # held while a batch runs
    _listeners: list[Listener] = field(default_factory=list)
    _rewritten: frozenset[Key] = frozenset()  # parts of state to write anew in the next batch, to free old files
    _ending: threading.Event = field(default_factory=threading.Event)  # no further batch is to begin
    _ended: threading.Event = field(default_factory=threading.Event)  # and Spark knows
    _news: threading.Event = field(default_factory=threading.Event)  # windows may be closed, or it is over

    def open(self) -> None:
        """Take the checkpoint, refuse it if it is another network's, make or check tables, and go on where it ends."""
        fs, path = open_root(self.root)
        fs.create_dir(path, recursive=True)
        self._lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S")))
        try:
            self.checkpoint = latest(fs, path)
            pace = read_pace(fs, path, self.checkpoint)
            planned = self.planner.recover(self.checkpoint)
            # After the others, because it notes the new form of a network: a run that is refused must leave no trace.
            check_network(fs, path, self.network, begun=self.checkpoint.batch >= 0)
            prepare_tables(self.network, self.tables)
            self._settle({operator.name for operator in self.network.operators})  # if the last run died before it did
            if planned is not None:
                begun = pace.begun > spark_batch(self.checkpoint)
                self.planner.adopt(planned, self.checkpoint.batch + 1, begun=begun)
            self.queries.office.clerk.open(self.checkpoint, self.planner.plan.nodes)
            self._tell_of_windows()
            self._opened = True
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the checkpoint, once the batch that is running has ended."""
        with self._turn:
            self.queries.office.close()
            if self._lock is not None:
                try:
                    if self.failure is None and self._opened:
                        self.planner.keep(self.checkpoint.batch + 1)
                finally:
                    self._lock.release()
                    self._lock = None
        self._news.set()

    @property
    def parked(self) -> dict[str, str]:
        """Operators that failed and are not run, with the reason."""
        return dict(self.checkpoint.notes.get("parked", {}))

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on."""
        if operator not in self.parked:
            known = ", ".join(self.parked) or "none"
            raise DroverError(f"operator {operator!r} is not parked. Parked: {known}.")
        self.planner.resume(operator)

    def listen(self, listener: Listener) -> None:
        """Call a function with the figures of every batch, once it is committed."""
        self._listeners.append(listener)

    def process(self, rows: DataFrame, batch: int) -> None:
        """Run one of Spark's micro-batches; one that is in the state already is not run again."""
        with self._turn:
            if not self._ending.is_set():
                self._process(rows, batch)
                return
        # Returning would let Spark commit rows that nobody has seen.
        self._ended.wait()
        raise InterruptedError(INTERRUPTED)

    def _process(self, rows: DataFrame, batch: int) -> None:
        self._demand_sound()
        try:
            check_follows(open_root(self.root)[1], self.checkpoint, batch)
            # An earlier run had begun to close windows.
            if self.planner.begun is not None and self.planner.begun.closing:
                self._run(self._no_rows(rows.sparkSession), None)
            if batch > spark_batch(self.checkpoint):
                self._run(rows, batch)
        except BaseException as error:
            self.failure = error
            raise

    def finish(self) -> None:
        """Wait for the running batch to be committed, and let no further one begin."""
        self._ending.set()
        self._news.set()
        with self._turn:
            pass

    def let_go(self) -> None:
        """Free the batch that was kept from beginning; to be called when Spark has been told to stop."""
        self._ended.set()

    def wait_for_windows(self) -> bool:
        """Wait until a batch without rows would close windows; False if no more batches are to come."""
        self._news.wait()
        return not (self._ending.is_set() or self.failure is not None or self._lock is None)

    def _tell_of_windows(self) -> None:
        if self._progress().moved:
            self._news.set()
        else:
            self._news.clear()

    def close_windows(self, spark: SparkSession) -> None:
        """Run a batch without rows if the watermark has moved since the last one, and if batches may begin."""
        with self._turn:
            if self._ending.is_set():
                return
            self._demand_sound()
            if self._progress().moved:
                try:
                    self._run(self._no_rows(spark), None)
                except BaseException as error:
                    self.failure = error
                    raise

    def _demand_sound(self) -> None:
        if self.failure is not None:
            raise DroverError(f"the run has failed before ({self.failure}). Start again on the same checkpoint.")
        if self._lock is None:
            raise DroverError("the run has ended. Start again on the same checkpoint.")

    def _no_rows(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame([], self.reading.frame.schema)

    def _progress(self) -> Progress:
        notes = self.checkpoint.notes
        return Progress(notes.get("late", {}), notes.get("now", {}))

    def _run(self, rows: DataFrame, of_spark: int | None) -> None:
        """Run a batch: one of Spark's, or (None) one without rows."""
        started = time.monotonic()
        batch = self.checkpoint.batch + 1
        again = self.planner.begun is not None
        entry = self.planner.entry_for(batch, closing=of_spark is None)
        plan = entry.plan
        progress = self._progress()
        resumed = entry.resumed if entry.batch == batch else ()
        parked = {name: reason for name, reason in self.parked.items() if name not in resumed}
        share = self.queries.begin(batch, make_schedule(self.network, plan), progress, again=again)
        result = run_batch(rows, self.reading.layout, self._assignment(batch, share, progress, frozenset(parked)))
        computed = time.monotonic()
        parked |= self._failures(result)
        self._deliver(result, batch, rows.sparkSession)
        delivered = time.monotonic()
        after = progress.after(self.network, result.latest)
        notes = {
            "spark_batch": spark_batch(self.checkpoint) if of_spark is None else of_spark, "plan": plan.number,
            "planned": entry.batch, "late": dict(after.late), "now": dict(after.now), "parked": parked,
            **share.notes(result),
        }  # fmt: skip
        left = leftover(self.checkpoint.version, plan, self.network)
        self._commit(batch, result, notes, (*share.dropped(self.checkpoint.version), *left))
        discard(result.files, self.root)
        self._settle({segment.unit for report in result.reports for segment in report.segments})
        committed = time.monotonic()
        seconds = {"compute": computed - started, "sinks": delivered - computed, "commit": committed - delivered}
        self._tell_of_windows()
        self.planner.replan(lambda plan: settled(plan, self.network, result.reports))
        told = self.queries.settle(share, batch, committed - started, result)
        self._tell({**describe(batch, plan, result, seconds, notes), **told})

    def _assignment(self, batch: int, share: Share, progress: Progress, parked: frozenset[str]) -> Assignment:
        saved = {unit: dict(parts) for unit, parts in self.checkpoint.version.units.items()}
        return Assignment(
            batch, pack_network(self.network, self.tables), share.schedule, clocks(self.network, progress), saved,
            self.root, parked, self._rewritten, share.herded,
        )  # fmt: skip

    def _tell(self, figures: dict[str, Any]) -> None:  # Any: JSON
        self.history.append(figures)
        del self.history[:-KEPT]
        for listener in list(self._listeners):
            try:
                listener(figures)
            except Exception:
                self._listeners.remove(listener)
                log.exception("a listener failed in batch %s and is not called again", figures["batch"])

    def _failures(self, result: Result) -> dict[str, str]:
        failed = {failure.operator: failure.reason for report in result.reports for failure in report.failures}
        if failed and self.stop_on_failure:
            told = "; ".join(f"{operator}: {reason}" for operator, reason in failed.items())
            raise DroverError(f"operators failed and stop_on_failure is set: {told}")
        if self.stop_on_failure:
            self.queries.refuse_failures(result)
        return failed

    def _deliver(self, result: Result, batch: int, spark: SparkSession) -> None:
        for stream, rows in result.rows.items():
            for sink in self.sinks.get(stream, ()):
                sink.write(rows, batch, spark)
        self.queries.deliver(result, batch, spark)
        if self.dead_letters is not None and result.dead:
            self.dead_letters.write(letters(result.dead), batch, spark)

    def _commit(self, batch: int, result: Result, notes: Mapping[str, Any], dropped: tuple[Key, ...]) -> None:
        fs, path = open_root(self.root)
        segments = tuple(segment for report in result.reports for segment in report.segments)
        bounds = {key: bound for report in result.reports for key, bound in report.bounds.items()}
        entry = Commit(batch, segments, bounds, dropped, notes)
        self.checkpoint = commit(fs, path, self.checkpoint, entry)
        self._rewritten = frozenset()
        if batch % SWEEP_EVERY == 0:
            sweep(fs, path)
            self.planner.sweep(batch - KEEP)
            self.queries.office.clerk.tidy()
            self._rewritten = scattered(self.checkpoint.version)

    def _settle(self, operators: Collection[str]) -> None:
        """Write into tables what these operators left in the last commit."""

        def pending(operator: Operator) -> pl.DataFrame | None:
            saved = self.checkpoint.version.units.get(operator.name) if operator.name in operators else None
            return None if saved is None else load_state(self.root, operator.name, saved).parts.get(PENDING)

        settle(self.network, self.tables, pending)
