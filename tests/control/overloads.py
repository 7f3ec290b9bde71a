"""Runs whose batches take as long as a made-up engine needs for their load, in virtual time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.control.context import Deployment
from drover.control.record import PeriodRecord
from drover.control.settings import Control, Mode
from drover.flow.parking import Parking
from drover.flow.pipelining import best_pieces, streamed_operators
from drover.flow.schedule import Schedule, make_schedule
from drover.load.arrays import Floats
from drover.load.batch_model import BatchMeasure, BatchWork, NodeTime, hop_seconds, work_seconds
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from drover_lab.generate import ChainParameters, DagParameters, TreeParameters, chains, dags, trees
from tests.control.runs import RatesAt, Run, shifted, start, steady

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


KINDS = ("chains", "trees", "dags")


def any_network(kind: str, seed: int) -> Network:
    """A drawn network of a few dozen operators: chains, trees, or graphs with windows and joins."""
    rng = default_rng(seed)
    if kind == "chains":
        return chains(rng, ChainParameters(chains=int(rng.integers(1, 8)), length=int(rng.integers(1, 9)), cost=1e-5))
    if kind == "trees":
        return trees(rng, TreeParameters(streams=int(rng.integers(1, 5)), size=int(rng.integers(2, 12))))
    return dags(rng, DagParameters(sources=int(rng.integers(1, 4)), operators=int(rng.integers(3, 25))))


@st.composite
def any_overload(draw: st.DrawFn) -> tuple[LoadedRun, RatesAt]:
    """A run of any network on any plan, with settings of any kind, at a rate that some nodes may not carry."""
    network = any_network(draw(st.sampled_from(KINDS)), draw(st.integers(0, 10**6)))
    nodes = draw(st.integers(1, 6))
    rng = default_rng(draw(st.integers(0, 10**6)))
    crowd = draw(st.sampled_from([1.0, 0.5]))  # share of the nodes that have units at first
    used = max(1, round(crowd * nodes))
    plan = Plan(1, nodes, {unit: int(rng.integers(used)) for unit in units_of(network)})
    settings = Control(
        mode=draw(st.sampled_from(Mode)),
        first=draw(st.sampled_from(["combined", "resilient", "largest-first", "steady"])),
        then=draw(st.sampled_from(["cor-se-imp", "cor-bal", "fewest-moves", "thrifty"])),
        warm_up=draw(st.sampled_from([2, 5, 10, 20])),
        window=draw(st.sampled_from([2, 10])),
        trial=draw(st.sampled_from([0, 2, 10])),
        cool_down=draw(st.sampled_from([0, 10, 50])),
        most_moves=draw(st.sampled_from([0, 1, 10])),
        payback=draw(st.sampled_from([0.0, 30.0])),
        memory=draw(st.sampled_from([5e3, math.inf])),
        certainty=draw(st.sampled_from([1.0, 4.0])),
        capacity="auto" if draw(st.booleans()) else 1.0,
        pins={next(iter(plan.node_of)): 0} if draw(st.booleans()) else {},
    )
    load = draw(st.floats(0.2, 2.0))
    run = Run(Deployment(network, plan), settings, load=load, noise=draw(st.sampled_from([0.02, 0.2])), seed=7)
    options = {"cores": draw(st.integers(1, 6)), "trigger": draw(st.sampled_from([0.0, 1.0, 2.0]))}
    engine = draw(st.sampled_from(["resident", "shuffle"]))
    fixed = draw(st.sampled_from([0.05, 0.3, 1.2]))
    made = LoadedRun(run, fixed=fixed, per_row=draw(st.sampled_from([0.0, 1e-4])), engine=engine, **options)  # type: ignore[arg-type]  # fields of LoadedRun
    return made, shifted(draw(st.integers(0, 12)), 0, draw(st.sampled_from([1.0, 3.0])))


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
