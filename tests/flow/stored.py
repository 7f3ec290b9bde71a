"""A driver in one process whose state lives on disk, and whose workers come and go.

Batches pass the router and `run_worker`, frames are shuffled, workers lose their memory or are given each other's work,
batches are run, thrown away and run again, and now and then everything but the disk is forgotten.
"""

from __future__ import annotations

import pickle
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from numpy.random import Generator
from pyarrow.fs import FileSystem, LocalFileSystem

from drover.flow.families.assignment import FamilyAssignment
from drover.flow.frames import DRIVER, Frame, FrameKind, unpack
from drover.flow.instances import obsolete_instances
from drover.flow.node import Failure, OperatorFacts
from drover.flow.parking import Parking
from drover.flow.pruning import ColumnPruner, FamilyColumns
from drover.flow.router import route
from drover.flow.schedule import HopNode, Schedule, make_schedule
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.retention import sweep
from drover.flow.state.segments import Key
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.flow.worker import Assignment, NodeReport, WorkerCache, pack_network, run_worker
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.types import polars_type
from drover.placement.plan import Plan
from tests.flow.harness import Batch

WORKERS = 3


@dataclass(slots=True)
class Computed:
    """What a batch gave before anything of it was committed."""

    rows: dict[str, pl.DataFrame]  # by output
    query_results: dict[str, pl.DataFrame]  # by table
    latest: dict[str, Micros]
    reports: list[NodeReport]


def new_worker() -> WorkerCache:
    return WorkerCache(lambda: 0.0, lambda _: None)


@dataclass(slots=True)
class StoredHarness:
    """Runs batches of one network on a checkpoint; `rng` decides what goes wrong."""

    network: Network
    root: Path
    rng: Generator
    trouble: float = 0.3  # probability of each thing that can go wrong, per batch
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    workers: deque[WorkerCache] = field(default_factory=lambda: deque(new_worker() for _ in range(WORKERS)))
    results: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    attempts: int = 0
    facts: list[OperatorFacts] = field(default_factory=list)  # of the last batch
    sent: list[Frame] = field(default_factory=list)  # by the router, in the last batch, to nodes

    @property
    def fs(self) -> FileSystem:
        return LocalFileSystem()

    def run(self, batch: Batch, plan: Plan) -> None:
        """Run one micro-batch, perhaps not for the first time, and commit it."""
        if self._goes_wrong():
            self.workers[int(self.rng.integers(WORKERS))] = new_worker()
        if self._goes_wrong():
            self.workers.rotate(1)
        first = self._compute(batch, plan) if self._goes_wrong() else None  # a crash before the commit
        if first is not None and self._goes_wrong():
            self.checkpoint = latest(self.fs, str(self.root))
        computed = self._compute(batch, plan)
        if first is not None:
            self._check_replay(first, computed)
        self._commit(computed, plan)
        self.facts = [one for report in computed.reports for one in report.operators]
        for stream, rows in computed.rows.items():
            self.results.setdefault(stream, []).append(rows)

    def _goes_wrong(self) -> bool:
        return bool(self.rng.random() < self.trouble)

    def _progress(self) -> SourceProgress:
        return SourceProgress(self.checkpoint.notes.get("late", {}), self.checkpoint.notes.get("now", {}))

    def _compute(self, batch: Batch, plan: Plan) -> Computed:
        schedule = ColumnPruner(self.network).prune(self._schedule(plan), self._parking(), self._columns())
        assignment = Assignment(
            self.checkpoint.batch + 1,
            pack_network(self.network, {}),
            schedule,
            operator_watermarks(self.network, self._progress(), self._parking().caps()),
            pickle.loads(pickle.dumps({unit: dict(parts) for unit, parts in self.checkpoint.version.units.items()})),
            str(self.root),
            self._parking(),
            rewritten=self._rewritten(),
            families=self._herded(),
        )
        interest = self.workers[0].interest(assignment)
        frames = [
            frame
            for origin, rows in enumerate(self._partitions(batch))
            for frame in route(self.network, schedule, rows, origin, interest)
        ]
        self.sent = [frame for frame in frames if frame.hop != DRIVER]
        reports = []
        for hop in range(schedule.hops):
            sent: list[Frame] = []
            for node in range(plan.nodes):
                self.attempts += 1
                mine = [frame for frame in frames if frame.node == node]
                self.rng.shuffle(mine)
                worker = self.workers[node % WORKERS]
                gone, report = run_worker(assignment, HopNode(hop, node), mine, f"{hop}-a{self.attempts}", worker)
                sent += gone
                reports.append(report)
            frames = sent
        return self._computed(frames, reports)

    def _computed(self, frames: list[Frame], reports: list[NodeReport]) -> Computed:
        """Return what has come to the driver."""
        assert all(frame.hop == DRIVER for frame in frames)
        seen: dict[str, Micros] = {}
        for frame in frames:
            if frame.port.kind is FrameKind.EVENT_TIMES:
                seen |= {name: max(at, seen.get(name, at)) for name, at in pickle.loads(frame.payload).items()}
        found = unpack(frame for frame in frames if frame.port.kind is not FrameKind.EVENT_TIMES)
        rows, results = (
            {port.stream: each for port, each in found.items() if port.kind is kind}
            for kind in (FrameKind.ROWS, FrameKind.QUERY_RESULTS)
        )
        assert len(rows) + len(results) == len(found)
        return Computed(rows, results, seen, reports)

    def _schedule(self, plan: Plan) -> Schedule:
        return make_schedule(self.network, plan)

    def _columns(self) -> FamilyColumns:
        """No families need columns, unless somebody adds some."""
        return {}

    def _herded(self) -> FamilyAssignment | None:
        """No families, unless somebody adds them."""
        return None

    def _parking(self) -> Parking:
        """No operator is parked, unless somebody parks one."""
        return Parking()

    def _notes(self, _computed: Computed) -> dict[str, Any]:  # Any: JSON
        """Return further notes of the commit."""
        return {}

    def _dropped(self) -> tuple[Key, ...]:
        return ()

    def _rewritten(self) -> frozenset[Key]:
        """Some parts are written anew, as when they pin too many files."""
        if not self._goes_wrong():
            return frozenset()
        return frozenset(segment.key for segment in self.checkpoint.version.segments() if self.rng.random() < 0.5)

    def _partitions(self, batch: Batch) -> list[Batch]:
        """Return the rows as two source partitions, cut where the batch number says."""
        cut = {name: rows.height * (self.checkpoint.batch % 3) // 3 for name, rows in batch.items()}
        return [
            {name: rows.head(cut[name]) for name, rows in batch.items()},
            {name: rows.slice(cut[name]) for name, rows in batch.items()},
        ]

    def _check_replay(self, first: Computed, again: Computed) -> None:
        """Demand that a batch that is run again gives the same rows in the same order."""
        assert first.latest == again.latest
        for one, other in ((first.rows, again.rows), (first.query_results, again.query_results)):
            assert one.keys() == other.keys()
            for name, rows in one.items():
                assert rows.equals(other[name])

    def _commit(self, computed: Computed, plan: Plan) -> None:
        batch = self.checkpoint.batch + 1
        after = self._progress().after(self.network, computed.latest)
        segments = tuple(segment for report in computed.reports for segment in report.segments)
        bounds = {key: bound for report in computed.reports for key, bound in report.bounds.items()}
        notes = {"late": dict(after.late), "now": dict(after.now), **self._notes(computed)}
        gone = obsolete_instances(self.checkpoint.version.units, plan, self.network)
        dropped = tuple((unit, part) for unit in sorted(gone) for part in self.checkpoint.version.units[unit])
        entry = Commit(batch, segments, bounds, (*dropped, *self._dropped()), notes)
        self.checkpoint = commit(self.fs, str(self.root), self.checkpoint, entry)
        self.failures += [failure for report in computed.reports for failure in report.failures]
        if self._goes_wrong():
            sweep(self.fs, str(self.root), keep=2)
        if self._goes_wrong():  # a restart: only the disk is left
            self.checkpoint = latest(self.fs, str(self.root))

    def output(self, stream: str) -> pl.DataFrame:
        schema = {name: polars_type(kind) for name, kind in self.network.streams[stream].types.items()}
        return pl.concat([pl.DataFrame(schema=schema), *self.results.get(stream, [])])
