"""A rehearsal: a network on the real engine under a given stream of rows, and how long its rows had to wait.

Rule 1: all sources come from one replay, in the order of event time, so that it is known when each row was due and in
which batch it was. Rule 2: a run that falls behind is broken off, and says so.
"""

from __future__ import annotations

import atexit
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl
from pyspark.sql import SparkSession

from drover.control.record import Record
from drover.control.settings import Control
from drover.load.arrays import Floats
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.handle import Handle
from drover.spark.replay import replay
from drover.spark.run import run
from drover.spark.session import session
from drover.spark.sources import streams

STREAM: Final = "stream"  # the column that has the name of a row's source
TIME: Final = "ts"
PATIENCE: Final = 3.0  # times as long as the rows take to come: then it has fallen behind
START: Final = 120.0  # seconds that the first batch may take

Figures = Mapping[str, Any]  # Any: JSON, as in `recentProgress`


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """What was measured."""

    batches: tuple[Figures, ...]  # without the first, for which workers start
    ended: Floats  # (batches,) seconds from the first row on
    latency: Floats  # (rows,) seconds from when a row was due to the commit of its batch
    due: Floats  # (rows,) seconds
    behind: bool  # whether it was broken off
    records: tuple[Record, ...] = field(default=())  # of the control loop

    def since(self, seconds: float) -> Rehearsal:
        """Return what was measured from a moment on."""
        kept, rows = self.ended >= seconds, self.due[: len(self.latency)] >= seconds
        batches = tuple(figures for figures, keep in zip(self.batches, kept, strict=True) if keep)
        return Rehearsal(batches, self.ended[kept], self.latency[rows], self.due, self.behind, self.records)

    @property
    def slowest(self) -> Floats:
        """(batches,) busy seconds of the node that is busy longest in each batch."""
        return np.array([max(figures["busy"]) for figures in self.batches])

    @property
    def moves(self) -> int:
        """Units that the control loop has moved."""
        return sum(
            len(record.proposal.moves)
            for record in self.records
            if record.kind == "moved" and record.proposal is not None
        )


@cache
def _session() -> SparkSession:
    """Return the session of all rehearsals of this process."""
    spark = session("drover rehearsal", "local[2]")
    atexit.register(spark.stop)
    return spark


def rehearse(
    network: Network,
    rows: pl.DataFrame,
    plan: Plan,
    *,
    speed: float = 1.0,
    control: Control | None = None,
    during: Callable[[Handle, Figures], None] | None = None,
) -> Rehearsal:
    """Run a network on rows with the columns of its sources and the name of the source in `stream`.

    `speed` is how fast event time passes. `during` is called with the figures of each batch.
    """
    rows = rows.sort(TIME)
    due = (rows[TIME].dt.epoch("us").to_numpy() - rows[TIME].dt.epoch("us")[0]) / 1e6 / speed
    told: list[tuple[float, Figures]] = []
    with tempfile.TemporaryDirectory(prefix="drover-rehearsal-", ignore_cleanup_errors=True) as folder:
        frame = replay(_session(), _session().createDataFrame(rows.to_arrow()), time=TIME, speed=speed)
        sources = {source.name: source.name for source in network.sources}
        handle = run(network, streams(frame, STREAM, sources), {}, checkpoint=folder, plan=plan, control=control)

        def listen(figures: Figures) -> None:
            told.append((time.monotonic(), figures))
            if during is not None:
                during(handle, figures)

        handle.listen(listen)
        try:
            behind = _wait(handle, told, len(rows), float(due[-1]))
            handle.control.settle()
            records = tuple(handle.control.records)
        finally:
            handle.stop()
    return _measured(told, due, records, behind)


def _wait(handle: Handle, told: list[tuple[float, Figures]], rows: int, seconds: float) -> bool:
    """Wait until all rows are through; return whether that took too long."""
    begun = time.monotonic()
    while not told:
        _demand_active(handle)
        if time.monotonic() - begun > START:
            return True
        time.sleep(0.05)
    begun = time.monotonic()
    while sum(sum(figures["rowsIn"].values()) for _, figures in told) < rows:
        _demand_active(handle)
        if time.monotonic() - begun > PATIENCE * seconds + START:
            return True
        time.sleep(0.05)
    return False


def _demand_active(handle: Handle) -> None:
    if not handle.isActive:
        handle.awaitTermination(0)


def _measured(told: list[tuple[float, Figures]], due: Floats, records: tuple[Record, ...], behind: bool) -> Rehearsal:
    """Return the figures without those of the first batch, which has one row and waits for workers to start."""
    origin = told[0][0]
    ended = np.array([at - origin for at, _ in told])
    counts = np.array([sum(figures["rowsIn"].values()) for _, figures in told])
    latency = np.repeat(ended, counts) - due[: counts.sum()]
    rest = tuple(figures for _, figures in told[1:])
    return Rehearsal(rest, ended[1:], np.maximum(latency, 0.0), due, behind, records)
