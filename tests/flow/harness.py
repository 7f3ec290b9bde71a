"""A driver in one process: batches, plans and moves as Spark would run them, without Spark.

Rule 1: rows have no columns that nobody needs, so whatever runs here is computed from the needed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from drover.flow.distribute import ship
from drover.flow.frames import Frame
from drover.flow.instances import JoinInstance
from drover.flow.node import Failure, OperatorFacts, Task, run_place
from drover.flow.operators import (
    PENDING,
    CompileContext,
    Runner,
    UnitState,
    late_streams,
    make_runner,
    write_pending,
)
from drover.flow.parking import ParkedOperator, Parking
from drover.flow.pruning import ColumnPruner
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.tables import Address
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.types import polars_type
from drover.placement.plan import Plan

Batch = Mapping[str, pl.DataFrame]  # by source


class Harness:
    """Runs batches of one network; the state lives here, whatever the plan."""

    def __init__(
        self, network: Network, tables: Mapping[str, Address] | None = None, *, keeps_late: bool = False
    ) -> None:
        self.network = network
        self.keeps_late = keeps_late
        self.late: list[pl.DataFrame] = []
        self.tables = tables or {}
        self.progress = SourceProgress()
        self.states: dict[str, UnitState] = {operator.name: UnitState() for operator in network.operators}
        self.results: dict[str, list[pl.DataFrame]] = {stream: [] for stream in network.outputs}
        self.facts: list[OperatorFacts] = []
        self.failures: list[Failure] = []
        self.context = CompileContext(network, lambda _: None, late_streams(network), self.tables)
        self.pruner = ColumnPruner(network, keeps_late)
        self.runners: dict[str, Runner] = {op.name: make_runner(op, self.context) for op in network.operators}

    def run(self, batch: Batch, plan: Plan) -> None:
        """Run one micro-batch."""
        parking = Parking({failure.operator: ParkedOperator(failure.reason) for failure in self.failures})
        schedule = self.pruner.prune(make_schedule(self.network, plan), parking, {})
        read = self.pruner.source_columns()
        batch = {name: rows.select(read[name]) for name, rows in batch.items() if name in read}
        ticks = operator_watermarks(self.network, self.progress)
        frames: list[Frame] = []
        for source in self.network.sources:
            if source.name in batch and batch[source.name].height:
                frames += ship(schedule, source.name, batch[source.name], -1)[0]
                if source.name in self.network.outputs:
                    self.results[source.name].append(batch[source.name])
        for state in self.states.values():
            state.begin()
        for hop in range(schedule.hops):
            sent: list[Frame] = []
            for node in range(plan.nodes):
                task = Task(self.network, schedule, HopNode(hop, node), ticks, parking, keeps_late=self.keeps_late)
                mine = [frame for frame in frames if frame.node == node]
                outcome = run_place(task, mine, self.runner, self.state, lambda: 0.0)
                sent += outcome.frames
                for stream, rows in outcome.results.items():
                    self.results[stream].append(rows)
                self.facts += outcome.operators
                self.failures += outcome.failures
                self.late += outcome.late
            frames = sent
        assert frames == []
        write_pending(self.network, self.tables, lambda operator: self.states[operator.name].replaced.get(PENDING))
        latest = {
            source.name: batch[source.name][source.time].dt.epoch("us").max()
            for source in self.network.sources
            if source.time is not None and source.name in batch and batch[source.name].height
        }
        self.progress = self.progress.after(self.network, latest)  # type: ignore[arg-type] # max() of integers

    def runner(self, operator: Operator) -> Runner:
        if isinstance(operator, JoinInstance):
            return make_runner(operator, self.context)
        return self.runners[operator.name]

    def state(self, operator: Operator) -> UnitState:
        return self.states.setdefault(operator.name, UnitState())

    def output(self, stream: str) -> pl.DataFrame:
        schema = {name: polars_type(kind) for name, kind in self.network.streams[stream].types.items()}
        return pl.concat([pl.DataFrame(schema=schema), *self.results[stream]])


def cut_rows(rows: Mapping[str, pl.DataFrame], cuts: Callable[[str, int], Sequence[int]], batches: int) -> list[Batch]:
    """Return the rows of each source dealt out to batches; `cuts` gives batches - 1 increasing positions."""
    dealt: list[dict[str, pl.DataFrame]] = [{} for _ in range(batches)]
    for source, frame in rows.items():
        edges = [0, *cuts(source, frame.height), frame.height]
        for index in range(batches):
            dealt[index][source] = frame.slice(edges[index], edges[index + 1] - edges[index])
    return list(dealt)
