"""Runs of one spread join under the control loop: rows are distributed and pairs counted as on the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng

import drover
from drover.control import state as states
from drover.control.context import ControlContext, Deployment
from drover.control.loop import step
from drover.control.proposals import apply_proposal, is_applied
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import Control, Mode
from drover.control.state import ControlState
from drover.diffusion.epochs import LEFT, RIGHT, cells_of
from drover.flow.distribute import DRAW, _rows_by_place
from drover.flow.instances import explicit, retire_epochs
from drover.flow.schedule import make_schedule
from drover.load.arrays import Floats, Ints
from drover.load.sample import Sample, own_name
from drover.network.grid import AUTO, Epoch, Grid, Spread
from drover.placement.plan import Plan

NEVER = datetime(2026, 1, 1, tzinfo=UTC)
RECEIVE = 2e-7  # busy seconds per row


def deployment_of(spread: Spread, nodes: int) -> Deployment:
    """Two sources, a filter on the last node and a join, whose instances begin on the first nodes."""
    net = drover.Builder("n")
    columns = {"ts": "timestamp", "k": "bigint"}
    a, b = (net.source(name, columns, time="ts") for name in "ab")
    a.filter("busy", "k > 0").output()
    a.join("j", b, within="1 s", select={"k": "left.k"}, spread=spread).output()
    network = net.build()
    return Deployment(network, explicit(Plan(1, nodes, {"busy": nodes - 1, "j": 0}), network))


def rows(count: int, period: int) -> pl.DataFrame:
    times = pl.Series("ts", [NEVER + timedelta(seconds=period)], dtype=pl.Datetime("us", "UTC"))
    return pl.DataFrame({"ts": times.new_from_index(0, count), "k": np.arange(count)})


@dataclass(slots=True)
class SpreadRun:
    """A join of all rows of a second with each other; `rates` are rows per second, `load` busy seconds for its pairs.

    `slow` has factors by which nodes take more processor time, and `stolen` by which they get less of the processor.
    """

    deployment: Deployment
    rates: tuple[int, int] = (1000, 1000)
    load: float = 0.5
    other: float = 0.0  # busy seconds per second of the filter
    noise: float = 0.03
    slow: dict[int, float] = field(default_factory=dict)
    stolen: dict[int, float] = field(default_factory=dict)
    counts_pairs: bool = True
    settings: Control = field(default_factory=lambda: Control(mode=Mode.AUTO))
    state: ControlState = field(default_factory=ControlState)
    records: list[PeriodRecord] = field(default_factory=list)
    times: list[Floats] = field(default_factory=list)  # by period: finishing time of each instance, (cells,)
    rng: Generator = field(default_factory=lambda: default_rng(1))

    @property
    def context(self) -> ControlContext:
        return ControlContext(self.state, self.deployment, self.settings)

    @property
    def epoch(self) -> Epoch:
        return self.deployment.plan.instances["j"].epochs[-1]

    def go(self, periods: int) -> list[PeriodRecord]:
        for _ in range(periods):
            self._measure()
            self.state, record = step(self.context)
            self.records.append(record)
            if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
                plan = apply_proposal(self.deployment.plan, record.proposal, self.deployment.network)
                assert is_applied(plan, record.proposal)
                self.carry_out(plan)
        return self.records[-periods:]

    def carry_out(self, plan: Plan) -> None:
        self.deployment = replace(self.deployment, plan=retire_epochs(plan, self.deployment.network, {"j": None}))

    def imbalance(self, periods: int) -> float:
        """The busiest instance over the mean, in the last periods together: of few rows, one makes a difference."""
        total = np.sum(self.times[-periods:], axis=0)
        return float(total.max() / total.mean())

    def _received(self, side: int) -> Ints:
        """The rows of a side that each instance gets in this period, (cells,)."""
        plan = self.deployment.plan
        (rule,) = (
            each for each in make_schedule(self.deployment.network, plan).distributions["ab"[side]] if each.side == side
        )
        sent = rows(self.rates[side], self.state.period)
        drawn = np.zeros(self.rates[side], dtype=np.uint32)  # a row goes to several places, always with the same draw
        for _, mine in _rows_by_place(sent, rule, origin=0):
            drawn[mine["k"].to_numpy()] = mine[DRAW].to_numpy()
        epoch = self.epoch
        return np.asarray(cells_of(drawn, side, epoch.grid, epoch.grid.cells, by_row=epoch.by_row).sum(axis=0))

    def _measure(self) -> None:
        plan = self.deployment.plan
        cells = self.epoch.grid.cells
        nodes = [plan.node_of["j"], *plan.instances["j"].others][:cells]
        left, right = self._received(LEFT), self._received(RIGHT)
        pairs = left * right
        assert pairs.sum() == self.rates[0] * self.rates[1], "every pair is made once"
        work = self.load * pairs / pairs.sum() + RECEIVE * (left + right)
        work *= [self.slow.get(node, 1.0) for node in nodes]
        self.times.append(work * [self.stolen.get(node, 1.0) for node in nodes])
        busy = work * self.rng.normal(1, self.noise, cells)
        a, b = map(float, self.rates)
        samples = [
            Sample("busy", {"a": a}, {"busy": 0.0}, self.other + 1e-6),
            Sample("j", {"a": a, "b": b}, {"j": float(pairs.sum())}, float(busy.sum())),
        ]
        if cells > 1:
            made = pairs if self.counts_pairs else pairs * 0
            samples += [Sample(own_name("j", k), {}, {"j": float(made[k])}, float(busy[k])) for k in range(cells)]
        window = self.state.window.push(self.state.period + 1, 1.0, {"a": a, "b": b}, samples)
        speeds = [1.0 / self.stolen.get(node, 1.0) for node in range(plan.nodes)]
        state = replace(self.state, window=window).add_speeds(speeds)
        self.state = states.state_of(json.loads(json.dumps(states.to_json(state))))


def spread_run(grid: Grid, **given: object) -> SpreadRun:
    """A join on a fixed grid, with a node for each instance."""
    return SpreadRun(deployment_of(grid, grid.cells), **given)  # type: ignore[arg-type]  # fields of SpreadRun


def auto_run(nodes: int, **given: object) -> SpreadRun:
    """A join that the control loop spreads."""
    return SpreadRun(deployment_of(AUTO, nodes), **given)  # type: ignore[arg-type]  # as above
