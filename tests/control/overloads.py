"""Runs whose batches take as long as a made-up engine needs for their load, in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from drover.control.record import PeriodRecord
from drover.flow.parking import Parking
from drover.flow.pipelining import best_pieces, streamed_operators
from drover.flow.schedule import Schedule, make_schedule
from drover.load.arrays import Floats
from drover.load.batch_model import BatchMeasure, BatchWork, NodeTime, hop_seconds, work_seconds
from tests.control.runs import RatesAt, Run, start, steady

LONGEST = 8.0  # seconds of rows that one batch reads at most


@dataclass(slots=True)
class LoadedRun:
    """A run with batches: their seconds follow from the plan, the cores and the trigger."""

    run: Run
    cores: int = 2
    trigger: float = 1.0
    fixed: float = 0.2
    per_row: float = 0.0  # seconds of reading per row
    backlog: float = -1.0
    engine: str = "resident"
    seconds: list[float] = field(default_factory=list)  # of batches

    def go(self, periods: int, rates_at: RatesAt = steady) -> list[PeriodRecord]:
        for _ in range(periods):
            self.run.measure(rates_at)
            self.run.state = self.run.state.add_batches([self._batch()], self.backlog)
            self.run.decide()
        return self.run.records[-periods:]

    def _batch(self) -> BatchMeasure:
        """A batch of all rows of a trigger, or of as many as came during the batch before it."""
        run = self.run
        schedule = make_schedule(run.deployment.network, run.deployment.plan)
        busy = np.zeros((schedule.hops, schedule.nodes))
        loads = run.profile.loads(run.rates)
        for place, operators in schedule.runs.items():
            busy[place] += sum(float(loads[one.name]) for one in operators)
        rows = sum(run.rates.values())
        fixed = self.fixed + 0.01 * schedule.hops
        span = min(max(self.seconds[-1] if self.seconds else 0.0, self.trigger), LONGEST)
        each = self._work(schedule, busy, {name: float(load) for name, load in loads.items()}, span)
        noise = max(run.rng.normal(1, 0.02), 0.5)
        work = BatchWork(rows * span, 40 * rows * span, float(schedule.hops), each * span)
        routing = self.per_row * rows * span
        self.seconds.append((fixed + each * span + routing) * noise)
        return BatchMeasure(
            work,
            (fixed + each * span) * noise + routing,
            routing,
            0.0,
            0.0,
            run.deployment.plan.nodes,
            self.cores,
            self.cores,
            self.trigger,
            self.engine,
            busy=float(busy.sum()) * span,
            waited=run.waits * float(busy.sum()) * span,
        )

    def _work(self, schedule: Schedule, busy: Floats, loads: Mapping[str, float], span: float) -> float:
        """The seconds of nodes for a second of rows: resident nodes work in pieces."""
        whole = NodeTime(busy, self.run.waits * busy)
        if self.engine != "resident":
            return hop_seconds(whole, self.cores)
        names = streamed_operators(schedule, Parking())
        pieces = best_pieces(schedule, names, {name: span * loads[name] for name in names})
        streamed = np.zeros_like(busy)
        for place, operators in schedule.runs.items():
            streamed[place] = sum(loads[one.name] for one in operators if one.name in names)
        return work_seconds(whole, NodeTime(streamed, self.run.waits * streamed), self.cores, pieces)


def loaded(
    cores: int = 2,
    trigger: float = 1.0,
    fixed: float = 0.2,
    per_row: float = 0.0,
    engine: str = "resident",
    **options: object,
) -> LoadedRun:
    """A run of chains whose `load` is that of nodes with a core each."""
    run = start(**options)  # type: ignore[arg-type]  # options of `start`
    return LoadedRun(run, cores, trigger, fixed, per_row, engine=engine)
