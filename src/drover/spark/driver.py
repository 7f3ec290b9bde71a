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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from drover.control.failing import FailurePolicy
from drover.errors import DroverError
from drover.flow.late_rows import LATE_ROW
from drover.flow.operators import PENDING, write_pending
from drover.flow.recall import load_state
from drover.flow.spill import discard
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.lock import Holder, Lock, hold
from drover.flow.state.retention import KEEP, sweep
from drover.flow.state.scatter import scattered
from drover.flow.state.segments import Key
from drover.flow.state.storage import make_folder, open_root
from drover.flow.tables import Address, TablesMark, mark_written
from drover.flow.watermarks import SourceProgress
from drover.flow.worker import Assignment
from drover.network.model import Network
from drover.network.operators import Operator
from drover.placement.plan import Plan
from drover.spark.attempts import Attempt, Attempts, AttemptStart
from drover.spark.batch import BatchEngine, BatchResult, ShuffleEngine
from drover.spark.clean_stop import mark_stop, void_stop
from drover.spark.commit_notes import CommitNotes, notes_of, to_json
from drover.spark.dead_letters import dead_letter_rows
from drover.spark.facts import BatchFacts, BatchSeconds, facts_of
from drover.spark.hanging import log_unfinished_work
from drover.spark.integrity import Integrity
from drover.spark.offsets import check_follows, spark_batch
from drover.spark.opening import Permissions, open_checkpoint
from drover.spark.planner import Planner
from drover.spark.quarantine import Quarantine
from drover.spark.queries.service import QueryService
from drover.spark.row_totals import RowTotals
from drover.spark.sink_folders import FolderClaim
from drover.spark.sinks import Sink, empty_rows, with_words
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
    policy: FailurePolicy = field(default_factory=FailurePolicy)  # what happens when an operator fails
    dead_letters: Sink | None = None
    tables: Mapping[str, Address] = field(default_factory=dict, repr=False)  # of every table that operators use
    permissions: Permissions = field(default_factory=Permissions)
    renamed: Mapping[str, str] = field(default_factory=dict)  # operators that got another name when the run started
    engine: BatchEngine = field(default_factory=ShuffleEngine)  # computes batches
    late: Sink | None = None  # for rows that came too late
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    history: list[BatchFacts] = field(default_factory=list)  # of the last batches, oldest first
    failure: BaseException | None = None  # the error that stopped the run
    attempts: Attempts = field(init=False)
    _lock: Lock | None = None  # on the checkpoint
    _integrity: Integrity = field(init=False)
    _opened: bool = False  # whether the checkpoint was read
    _batch_lock: threading.RLock = field(default_factory=threading.RLock)  # held while a batch runs
    _listeners: list[Listener] = field(default_factory=list)
    _run_id: str = ""  # the same for all runs on the checkpoint
    _tables_mark: TablesMark | None = None  # of the tables in the checkpoint
    _rewritten: frozenset[Key] = frozenset()  # parts of state to rewrite in the next batch, to free old files
    _ending: threading.Event = field(default_factory=threading.Event)  # no further batch may begin
    _ended: threading.Event = field(default_factory=threading.Event)  # Spark has been told to stop
    _wakeup: threading.Event = field(default_factory=threading.Event)  # windows may be closed, or the run is over

    def __post_init__(self) -> None:
        keeps_late = self.late is not None
        self.attempts = Attempts(
            self.network, self.root, self.planner, self.queries, self.policy, self.tables, keeps_late
        )
        self.planner.wake = self._wakeup.set  # a resumed operator works off what it holds, even if no rows come

    def open(self) -> None:
        """Lock the checkpoint, refuse it if it belongs to another network, create or check tables, and resume."""
        fs, path = open_root(self.root)
        make_folder(fs, path)
        self._lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), time.strftime("%Y-%m-%d %H:%M:%S")))
        try:
            self._integrity = Integrity(fs, path)
            opened = open_checkpoint(
                self.root,
                self.network,
                self.tables,
                tuple(self._sinks()),
                self.planner,
                self._integrity,
                self.permissions,
            )
            self.checkpoint = opened.checkpoint
            self.renamed = opened.renamed
            self._run_id = opened.run_id
            self._tables_mark = opened.tables
            self._name_files(opened.claims)
            # The last run may have died between its commit and the tables.
            self._write_tables({operator.name for operator in self.network.operators})
            if opened.planned is not None:
                self.planner.adopt(opened.planned, self.checkpoint.batch + 1, begun=opened.begun)
            self.queries.open(self.checkpoint, self.planner.plan.nodes)
            # From here on a batch may begin, so the mark of the last run proves nothing any longer.
            void_stop(fs, path)
            self._wake_if_windows_can_close()
            log_unfinished_work(self.root, self.checkpoint.batch + 1)
            self._opened = True
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Unlock the checkpoint, once the running batch has ended."""
        with self._batch_lock:
            self.engine.close()
            self.queries.close()
            if self._lock is not None:
                try:
                    # After a failure, the next run must repeat the batch with the plan that the log has.
                    if self.failure is None and self._opened:
                        self.planner.save(self.checkpoint.batch + 1)
                        mark_stop(*open_root(self.root), self.checkpoint.batch)
                    if self._opened:
                        self._integrity.end(self.checkpoint)
                finally:
                    self._lock.release()
                    self._lock = None
        self._wakeup.set()

    def _sinks(self) -> Iterator[Sink]:
        """Yield every sink of the run."""
        yield from (sink for several in self.sinks.values() for sink in several)
        yield from (sink for sink in (self.dead_letters, self.late, self.queries.sink) if sink is not None)

    def _name_files(self, claims: Iterable[FolderClaim]) -> None:
        """Tell the sinks how to name their files."""
        words = {claim.path: claim.word for claim in claims}
        self.sinks = {stream: tuple(with_words(sink, words) for sink in each) for stream, each in self.sinks.items()}
        if self.dead_letters is not None:
            self.dead_letters = with_words(self.dead_letters, words)
        if self.late is not None:
            self.late = with_words(self.late, words)
        if self.queries.sink is not None:
            self.queries.use_sink(with_words(self.queries.sink, words))

    @property
    def parked(self) -> dict[str, str]:
        """Operators that failed and do not run, with the reason."""
        return {name: one.reason for name, one in self.planner.parked.items()}

    @property
    def row_totals(self) -> RowTotals:
        """The rows that were not used in all committed batches."""
        return notes_of(self.checkpoint).totals

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
        if self._should_run_without_rows():
            self._wakeup.set()
        else:
            self._wakeup.clear()

    def close_windows(self, spark: SparkSession) -> None:
        """Run a batch without rows, if batches may begin and the watermark has moved since the last one."""
        with self._batch_lock:
            if self._ending.is_set():
                return
            self._check_usable()
            if self._should_run_without_rows() and not self._must_repeat_rows():
                try:
                    self._run(self._no_rows(spark), None)
                except BaseException as error:
                    self.failure = error
                    raise

    def _should_run_without_rows(self) -> bool:
        """Return whether a batch without rows would close windows, or work off what a resumed operator holds."""
        return self._progress().moved or self.planner.resumes

    def _must_repeat_rows(self) -> bool:
        """Return whether an earlier run began a batch with rows: sinks may have rows under its number already."""
        return self.planner.begun is not None and not self.planner.begun.closing

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
        included = spark_batch(self.checkpoint) if of_spark is None else of_spark
        again = self.planner.begun is not None  # an earlier run may have begun this batch, and delivered rows of it
        plan, made = self._compute(rows, batch, included, closing=of_spark is None, again=again)
        result, queries = made.result, made.queries
        computed = time.monotonic()
        self._deliver(result, batch, rows.sparkSession, again=again)
        delivered = time.monotonic()
        notes = self._notes(included, plan, made)
        left = obsolete_state(self.checkpoint.version, plan, self.network)
        dropped = (*queries.dropped(self.checkpoint.version), *left)
        self._commit(batch, result, {**to_json(notes), **queries.notes(result)}, dropped)
        self.planner.parked = made.parked
        Quarantine(self.root).forget(batch)
        discard(result.files, self.root)
        # After the commit: a batch must not find its own rows in a table, even if it is repeated.
        self._write_tables({segment.unit for report in result.reports for segment in report.segments})
        committed = time.monotonic()
        seconds = BatchSeconds(computed - started, delivered - computed, committed - delivered)
        self._wake_if_windows_can_close()
        # Not before the commit: until then, a repeated batch needs the old epochs.
        self.planner.replan(lambda plan: without_expired_epochs(plan, self.network, result.reports))
        of_queries = self.queries.finish_batch(queries, batch, committed - started, result)
        self._publish(facts_of(batch, plan, result, notes, seconds, of_queries))
        # Last, because it may stop the run: by now, everything is committed.
        self.attempts.check_bound(made.parked)

    def _compute(
        self, rows: DataFrame, batch: int, included: int, *, closing: bool, again: bool
    ) -> tuple[Plan, Attempt]:
        """Run the attempts of a batch, and return its plan and the attempt that counts."""
        entry = self.planner.entry_for(batch, closing=closing)

        def note() -> None:
            # Every attempt may have changed the plan log, so each names anew what a repetition would read. This waits
            # for the disk, and is needed before sinks get rows: until then, other rows in a repetition do no harm.
            self._integrity.begin(self.checkpoint, batch, self.planner.entry_batch, included)

        def compute(assignment: Assignment) -> BatchResult:
            return self.engine.run(rows, self.reading.layout, assignment, note)

        start = AttemptStart(batch, self.checkpoint.version, self._progress(), self._rewritten)
        return entry.plan, self.attempts.run(start, entry, compute, again=again)

    def _notes(self, included: int, plan: Plan, made: Attempt) -> CommitNotes:
        return CommitNotes(
            included,
            plan.number,
            self.planner.entry_batch,
            self._progress().after(self.network, made.result.latest),
            made.parked,
            self._integrity.noted(),
            self._tables_mark,
            self._run_id,
            self.row_totals.after(self.network, made.result),
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

    def _deliver(self, result: BatchResult, batch: int, spark: SparkSession, *, again: bool) -> None:
        for stream, sinks in self.sinks.items():
            rows = result.rows.get(stream)
            if rows is None and again:
                # If a function fails that did not fail before, rows that an earlier run delivered must go.
                rows = empty_rows(self.network.streams[stream].types)
            if rows is not None:
                for sink in sinks:
                    sink.write(rows, batch, spark)
        self.queries.write_results(result, batch, spark, again=again)
        if self.dead_letters is not None and result.dead:
            self.dead_letters.write(dead_letter_rows(result.dead), batch, spark)
        self._tables_mark = mark_written(self._tables_mark, self.network, self.tables, batch, result.fed)
        late = pl.DataFrame(schema=LATE_ROW) if result.late is None and again else result.late
        if self.late is not None and late is not None:
            self.late.write(late, batch, spark)

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
