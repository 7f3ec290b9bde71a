"""The driver of the data loop: from Spark's micro-batches to committed batches of drover.

Rule 1: the order is: write the plan, compute the batch, write the sinks, commit the batch; then Spark commits its
offsets. A crash at any point repeats the batch with the same plan and state, and so with the same rows. Rows for tables
that the network also reads are in the commit, and they are in the tables before the next batch begins.
Rule 2: drover numbers its batches itself, because it may add batches without rows to close windows. The commit notes
the last of Spark's batches that it includes, and the plan log says which batches were begun without rows.
Rule 3: after a failure no batch runs: sinks may have rows under a number that another batch would take.
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
from drover.flow.operators import PENDING, write_pending
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
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, pack_network
from drover.network.model import Network
from drover.network.operators import Operator
from drover.spark.batch import BatchResult, run_batch
from drover.spark.changeover import change_over
from drover.spark.changes import change_of, check_change, note_network
from drover.spark.clean_stop import mark_stop, void_stop
from drover.spark.commit_notes import CommitNotes, notes_of, to_json
from drover.spark.dead_letters import dead_letter_rows
from drover.spark.facts import BatchFacts, BatchSeconds, facts_of
from drover.spark.offsets import check_follows, read_progress, spark_batch
from drover.spark.planner import Planner
from drover.spark.queries.batch import BatchQueries
from drover.spark.queries.service import QueryService
from drover.spark.sinks import Sink
from drover.spark.sources import UnifiedSources
from drover.spark.spreading import obsolete_state, without_expired_epochs

SWEEP_EVERY: Final = 20  # batches
# Spark searches the error of a Python function for this text to tell an interruption by `stop` from a failure. Without
# it, a batch that `stop` interrupts fails with a long traceback, on which Spark's pattern runs out of stack.
INTERRUPTED: Final = "py4j.protocol.Py4JJavaError: An error occurred while calling: java.lang.InterruptedException"
HISTORY: Final = 100  # batches in the history

Listener = Callable[[BatchFacts], object]
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Driver:
    """Runs batches of one network on one checkpoint; `open` first, `close` last."""

    network: Network
    reading: UnifiedSources
    sinks: Mapping[str, Sequence[Sink]]
    root: str
    planner: Planner
    queries: QueryService  # submitted queries
    stop_on_failure: bool = False
    dead_letters: Sink | None = None
    tables: Mapping[str, Address] = field(default_factory=dict, repr=False)  # of every table that operators use
    allow_changes: bool | Collection[str] = False  # operators and tables whose state may be lost, or all
    renamed: Mapping[str, str] = field(default_factory=dict)  # operators that got another name when the run started
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    history: list[BatchFacts] = field(default_factory=list)  # of the last batches, oldest first
    failure: BaseException | None = None  # the error that stopped the run
    _lock: Lock | None = None  # on the checkpoint
    _opened: bool = False  # whether the checkpoint was read
    _batch_lock: threading.RLock = field(default_factory=threading.RLock)  # held while a batch runs
    _listeners: list[Listener] = field(default_factory=list)
    _rewritten: frozenset[Key] = frozenset()  # parts of state to rewrite in the next batch, to free old files
    _ending: threading.Event = field(default_factory=threading.Event)  # no further batch may begin
    _ended: threading.Event = field(default_factory=threading.Event)  # Spark has been told to stop
    _wakeup: threading.Event = field(default_factory=threading.Event)  # windows may be closed, or the run is over

    def open(self) -> None:
        """Lock the checkpoint, refuse it if it belongs to another network, create or check tables, and resume."""
        fs, path = open_root(self.root)
        fs.create_dir(path, recursive=True)
        self._lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S")))
        try:
            self.checkpoint = latest(fs, path)
            spark_progress = read_progress(fs, path, self.checkpoint)
            planned = self.planner.recover(self.checkpoint)
            change = change_of(fs, path, self.checkpoint, self.network)
            if change is not None:
                check_change(path, change, self.allow_changes)
            prepare_tables(self.network, self.tables)
            # Last of the checks is behind: a refused run must leave no trace.
            if change is not None and change.is_any:
                self.checkpoint = change_over(self.root, self.checkpoint, change, self.tables)
                self.renamed = dict(change.comparison.renamed)
                planned = self.planner.recover(self.checkpoint)
            note_network(fs, path, self.network)
            # The last run may have died between its commit and the tables.
            self._write_tables({operator.name for operator in self.network.operators})
            if planned is not None:
                begun = spark_progress.begun > spark_batch(self.checkpoint)
                self.planner.adopt(planned, self.checkpoint.batch + 1, begun=begun)
            self.queries.open(self.checkpoint, self.planner.plan.nodes)
            void_stop(fs, path)
            self._wake_if_windows_can_close()
            self._opened = True
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the checkpoint, once the running batch has ended."""
        with self._batch_lock:
            self.queries.close()
            if self._lock is not None:
                try:
                    # After a failure, the next run must repeat the batch with the plan that the log has.
                    if self.failure is None and self._opened:
                        self.planner.save(self.checkpoint.batch + 1)
                        mark_stop(*open_root(self.root), self.checkpoint.batch)
                finally:
                    self._lock.release()
                    self._lock = None
        self._wakeup.set()

    @property
    def parked(self) -> dict[str, str]:
        """Operators that failed and do not run, with the reason."""
        return dict(notes_of(self.checkpoint).parked)

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on."""
        if operator not in self.parked:
            known = ", ".join(self.parked) or "none"
            raise DroverError(f"operator {operator!r} is not parked. Parked: {known}.")
        self.planner.resume(operator)

    def listen(self, listener: Listener) -> None:
        """Call a function with the facts of every batch, once it is committed."""
        self._listeners.append(listener)

    def process(self, rows: DataFrame, batch: int) -> None:
        """Run one of Spark's micro-batches, unless the state already includes it."""
        with self._batch_lock:
            if not self._ending.is_set():
                self._process(rows, batch)
                return
        # If this returned, Spark would commit offsets of rows that drover has not processed.
        self._ended.wait()
        raise InterruptedError(INTERRUPTED)

    def _process(self, rows: DataFrame, batch: int) -> None:
        self._check_usable()
        try:
            check_follows(open_root(self.root)[1], self.checkpoint, batch)
            # An earlier run began a batch that closes windows: it must be repeated first.
            if self.planner.begun is not None and self.planner.begun.closing:
                self._run(self._no_rows(rows.sparkSession), None)
            if batch > spark_batch(self.checkpoint):
                self._run(rows, batch)
        except BaseException as error:
            self.failure = error
            raise

    def finish(self) -> None:
        """Wait until the running batch is committed; no further batch begins."""
        self._ending.set()
        self._wakeup.set()
        with self._batch_lock:  # the running batch holds it
            pass

    def release(self) -> None:
        """Release the batch that `finish` kept from beginning; call this once Spark has been told to stop."""
        self._ended.set()

    def wait_for_windows(self) -> bool:
        """Wait until a batch without rows could close windows; return False if the run is over."""
        self._wakeup.wait()
        return not (self._ending.is_set() or self.failure is not None or self._lock is None)

    def _wake_if_windows_can_close(self) -> None:
        if self._progress().moved:
            self._wakeup.set()
        else:
            self._wakeup.clear()

    def close_windows(self, spark: SparkSession) -> None:
        """Run a batch without rows, if batches may begin and the watermark has moved since the last one."""
        with self._batch_lock:
            if self._ending.is_set():
                return
            self._check_usable()
            if self._progress().moved:
                try:
                    self._run(self._no_rows(spark), None)
                except BaseException as error:
                    self.failure = error
                    raise

    def _check_usable(self) -> None:
        if self.failure is not None:
            raise DroverError(f"the run has failed before ({self.failure}). Start again on the same checkpoint.")
        if self._lock is None:
            raise DroverError("the run has ended. Start again on the same checkpoint.")

    def _no_rows(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame([], self.reading.frame.schema)

    def _progress(self) -> SourceProgress:
        return notes_of(self.checkpoint).progress

    def _run(self, rows: DataFrame, of_spark: int | None) -> None:
        """Compute, deliver and commit one batch; `of_spark` is Spark's number of it, None for a batch without rows."""
        started = time.monotonic()
        batch = self.checkpoint.batch + 1
        # A batch that an earlier run has begun must have the same queries again.
        again = self.planner.begun is not None
        entry = self.planner.entry_for(batch, closing=of_spark is None)
        plan = entry.plan
        progress = self._progress()
        # An entry holds for later batches, too, but it resumes operators in its own batch only.
        resumed = entry.resumed if entry.batch == batch else ()
        parked = {name: reason for name, reason in self.parked.items() if name not in resumed}
        queries = self.queries.begin_batch(batch, make_schedule(self.network, plan), progress, again=again)
        result = run_batch(rows, self.reading.layout, self._assignment(batch, queries, progress, frozenset(parked)))
        computed = time.monotonic()
        parked |= self._failures(result)
        self._deliver(result, batch, rows.sparkSession)
        delivered = time.monotonic()
        notes = CommitNotes(
            spark_batch(self.checkpoint) if of_spark is None else of_spark,
            plan.number,
            entry.batch,
            progress.after(self.network, result.latest),
            parked,
        )
        left = obsolete_state(self.checkpoint.version, plan, self.network)
        dropped = (*queries.dropped(self.checkpoint.version), *left)
        self._commit(batch, result, {**to_json(notes), **queries.notes(result)}, dropped)
        discard(result.files, self.root)
        self._write_tables({segment.unit for report in result.reports for segment in report.segments})
        committed = time.monotonic()
        seconds = BatchSeconds(computed - started, delivered - computed, committed - delivered)
        self._wake_if_windows_can_close()
        # Not before the commit: until then, a repeated batch needs the old epochs.
        self.planner.replan(lambda plan: without_expired_epochs(plan, self.network, result.reports))
        of_queries = self.queries.finish_batch(queries, batch, committed - started, result)
        self._publish(facts_of(batch, plan, result, notes, seconds, of_queries))

    def _assignment(
        self, batch: int, queries: BatchQueries, progress: SourceProgress, parked: frozenset[str]
    ) -> Assignment:
        saved = {unit: dict(parts) for unit, parts in self.checkpoint.version.units.items()}
        return Assignment(
            batch,
            pack_network(self.network, self.tables),
            queries.schedule,
            operator_watermarks(self.network, progress),
            saved,
            self.root,
            parked,
            self._rewritten,
            queries.families,
        )

    def _publish(self, facts: BatchFacts) -> None:
        """Append the facts to the history and pass them to all listeners."""
        self.history.append(facts)
        del self.history[:-HISTORY]
        for listener in list(self._listeners):
            try:
                listener(facts)
            except Exception:
                self._listeners.remove(listener)
                log.exception("a listener failed in batch %s and is not called again", facts.batch)

    def _failures(self, result: BatchResult) -> dict[str, str]:
        """Return the operators that failed, with the reason; raise DroverError if the run must stop then."""
        failed = {failure.operator: failure.reason for report in result.reports for failure in report.failures}
        if failed and self.stop_on_failure:
            reasons = "; ".join(f"{operator}: {reason}" for operator, reason in failed.items())
            raise DroverError(f"operators failed and stop_on_failure is set: {reasons}")
        if self.stop_on_failure:
            self.queries.raise_failures(result)
        return failed

    def _deliver(self, result: BatchResult, batch: int, spark: SparkSession) -> None:
        for stream, rows in result.rows.items():
            for sink in self.sinks.get(stream, ()):
                sink.write(rows, batch, spark)
        self.queries.write_results(result, batch, spark)
        if self.dead_letters is not None and result.dead:
            self.dead_letters.write(dead_letter_rows(result.dead), batch, spark)

    def _commit(self, batch: int, result: BatchResult, notes: Mapping[str, Any], dropped: tuple[Key, ...]) -> None:
        fs, path = open_root(self.root)
        segments = tuple(segment for report in result.reports for segment in report.segments)
        bounds = {key: bound for report in result.reports for key, bound in report.bounds.items()}
        entry = Commit(batch, segments, bounds, dropped, notes)
        self.checkpoint = commit(fs, path, self.checkpoint, entry)
        self._rewritten = frozenset()
        if batch % SWEEP_EVERY == 0:
            sweep(fs, path)
            self.planner.sweep(batch - KEEP)
            self.queries.compact()
            self._rewritten = scattered(self.checkpoint.version)

    def _write_tables(self, operators: Collection[str]) -> None:
        """Write into tables the rows that these operators left in the last commit."""

        def pending(operator: Operator) -> pl.DataFrame | None:
            saved = self.checkpoint.version.units.get(operator.name) if operator.name in operators else None
            return None if saved is None else load_state(self.root, operator.name, saved).parts.get(PENDING)

        write_pending(self.network, self.tables, pending)
