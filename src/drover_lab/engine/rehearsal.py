"""A rehearsal: it runs a network on the real engine with given rows, and measures the latency of each row.

Rule 1: all sources come from one replay in the order of event time. So the due time and the batch of each row are
known. Rule 2: a run that falls behind is stopped, and its result says so.
"""

from __future__ import annotations

import atexit
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

from drover.control.record import PeriodRecord
from drover.control.settings import Control
from drover.errors import DroverError
from drover.load.arrays import Floats
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.facts import BatchFacts
from drover.spark.handle import Handle
from drover.spark.replay import replay
from drover.spark.run import run
from drover.spark.session import session, stop
from drover.spark.slots import task_slots
from drover.spark.sources import streams

STREAM: Final = "stream"  # column with the name of a row's source
TIME: Final = "ts"
PATIENCE: Final = 3.0  # times the duration of the rows: after that, the run has fallen behind
START: Final = 120.0  # seconds allowed for the first batch
CORES: Final = 2  # that all nodes share
SLOTS: Final = 4  # a resident node takes one, even while it does nothing
STARTS: Final = 3  # attempts to start a run
# Spark gives the process that serves a replay ten seconds to start. A machine that stalls for longer ends the query
# before its first batch, which says nothing about the network.
LATE_START: Final = "Python worker failed to connect back"


@dataclass(frozen=True, slots=True)
class RehearsalSetup:
    """How a rehearsal runs."""

    speed: float = 1.0  # event time per real time
    control: Control | None = None
    engine: str = "shuffle"
    trigger: float = 0.0  # seconds from the start of a batch to the start of the next; 0: without a pause
    slots: int = SLOTS
    most_lag: float = math.inf  # seconds by which rows may be late; after that, the run has fallen behind
    during: Callable[[Handle, BatchFacts], None] | None = None  # called after each batch
    ending: Callable[[Handle], None] | None = None  # called once, before the run is stopped


USUAL: Final = RehearsalSetup()


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """The measurements of a run."""

    batches: tuple[BatchFacts, ...]  # without the first, in which workers start
    ended: Floats  # (batches,) seconds after the first row
    latency: Floats  # (rows,) seconds from the due time of a row to the commit of its batch
    due: Floats  # (rows,) seconds
    behind: bool  # whether it fell behind and was stopped
    records: tuple[PeriodRecord, ...] = field(default=())  # of the control loop
    newest: Floats = field(default_factory=lambda: np.empty(0))  # (batches,) seconds at which its newest row was due

    def since(self, seconds: float) -> Rehearsal:
        """Return the measurements from `seconds` on."""
        kept = self.ended >= seconds
        rows = self.due[: len(self.latency)] >= seconds
        batches = tuple(facts for facts, keep in zip(self.batches, kept, strict=True) if keep)
        newest = self.newest[kept]
        return Rehearsal(batches, self.ended[kept], self.latency[rows], self.due, self.behind, self.records, newest)

    @property
    def slowest(self) -> Floats:
        """(batches,) busy seconds of the busiest node in each batch."""
        return np.array([max(facts.busy) for facts in self.batches])

    @property
    def moves(self) -> int:
        """Number of moves by the control loop."""
        return sum(
            len(record.proposal.moves)
            for record in self.records
            if record.kind == "moved" and record.proposal is not None
        )


def _session(slots: int) -> SparkSession:
    """Return the Spark session of this process; one with another number of slots is stopped first."""
    active = SparkSession.getActiveSession()
    if active is not None and task_slots(active) != slots:
        stop(active)
    _stop_at_exit()
    return session("drover rehearsal", f"local[{slots}]", {"spark.default.parallelism": str(CORES)})


@cache
def _stop_at_exit() -> None:
    atexit.register(lambda: None if (spark := SparkSession.getActiveSession()) is None else stop(spark))


def rehearse(network: Network, rows: pl.DataFrame, plan: Plan, setup: RehearsalSetup = USUAL) -> Rehearsal:
    """Run a network on rows that have the columns of its sources, and the name of the source in `stream`."""
    once = partial(_rehearse, network, rows.sort(TIME), plan, setup)
    for _ in range(STARTS - 1):
        try:
            return once()
        except DroverError as error:
            if LATE_START not in str(error):
                raise
    return once()


def _rehearse(network: Network, rows: pl.DataFrame, plan: Plan, setup: RehearsalSetup) -> Rehearsal:
    due = (rows[TIME].dt.epoch("us").to_numpy() - rows[TIME].dt.epoch("us")[0]) / 1e6 / setup.speed
    spark = _session(setup.slots)
    seen: list[tuple[float, BatchFacts]] = []
    with tempfile.TemporaryDirectory(prefix="drover-rehearsal-", ignore_cleanup_errors=True) as folder:
        frame = replay(spark, spark.createDataFrame(rows.to_arrow()), time=TIME, speed=setup.speed)
        sources = {source.name: source.name for source in network.sources}
        handle = run(
            network,
            streams(frame, STREAM, sources),
            {},
            checkpoint=folder,
            plan=plan,
            trigger={"processingTime": f"{round(setup.trigger * 1000)} milliseconds"} if setup.trigger else None,
            control=setup.control,
            engine=setup.engine,
        )

        def listen(facts: BatchFacts) -> None:
            seen.append((time.monotonic(), facts))
            if setup.during is not None:
                setup.during(handle, facts)

        handle.on_batch(listen)
        try:
            behind = _wait(handle, seen, due, setup.most_lag)
            # The control loop lags behind the batches; without this, its last records would be missing.
            handle.control.wait()
            records = tuple(handle.control.records)
            if setup.ending is not None:
                setup.ending(handle)
        finally:
            handle.stop()
    return _measured(seen, due, records, behind)


def _wait(handle: Handle, seen: list[tuple[float, BatchFacts]], due: Floats, most_lag: float = math.inf) -> bool:
    """Wait until all rows, due at these seconds, are committed; return whether that took too long."""
    begun = time.monotonic()
    while not seen:  # the first batch waits for workers to start, which says nothing about the network
        _demand_active(handle)
        if time.monotonic() - begun > START:
            return True
        time.sleep(0.05)
    begun = time.monotonic()
    while (done := sum(sum(facts.rows_in.values()) for _, facts in seen)) < len(due):
        _demand_active(handle)
        passed = time.monotonic() - begun
        if passed > PATIENCE * float(due[-1]) + START or passed - float(due[done]) > most_lag:
            return True
        time.sleep(0.05)
    return False


def _demand_active(handle: Handle) -> None:
    """Raise the error that ended the run; a run that ended without one has not processed all its rows either."""
    if not handle.isActive:
        handle.awaitTermination()  # Spark refuses a timeout of 0, and that error would hide this one
        raise DroverError("the rehearsal ended before all its rows were processed. Look for who stopped its query.")


def _measured(
    seen: list[tuple[float, BatchFacts]], due: Floats, records: tuple[PeriodRecord, ...], behind: bool
) -> Rehearsal:
    """Return the facts without the first batch, which has one row and waits for workers to start."""
    origin = seen[0][0]
    ended = np.array([at - origin for at, _ in seen])
    counts = np.array([sum(facts.rows_in.values()) for _, facts in seen])
    latency = np.repeat(ended, counts) - due[: counts.sum()]
    rest = tuple(facts for _, facts in seen[1:])
    newest = due[np.maximum(np.cumsum(counts) - 1, 0)][1:]
    return Rehearsal(rest, ended[1:], np.maximum(latency, 0.0), due, behind, records, newest)
