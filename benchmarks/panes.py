"""The aggregates of `aggregate` in one process, without Spark: all on one node, and each on a node of its own.

Aggregates on one node share panes, those on nodes of their own cannot. The figures are what operators report as busy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # as in a worker; Polars reads it when it is imported

import polars as pl

from benchmarks.aggregate import rows
from benchmarks.compare import Outcome, medians
from benchmarks.sides import say
from drover.flow.distribute import ship
from drover.flow.node import NodeOutput, Task, run_place
from drover.flow.operators import CompileContext, UnitState, late_streams, make_runner
from drover.flow.schedule import HopNode, make_schedule
from drover.flow.watermarks import SourceProgress, operator_watermarks
from drover.network.model import Network
from drover.placement.plan import Plan, round_robin
from drover_lab.generate.aggregates import AggregateParameters, aggregates

STREAM = "packets0"


class PaneSide:
    """Runs batches on one plan and keeps what outlives them."""

    def __init__(self, network: Network, plan: Plan) -> None:
        self.network = network
        self.schedule = make_schedule(network, plan)
        context = CompileContext(network, lambda _: None, late_streams(network))
        self.runners = {operator.name: make_runner(operator, context) for operator in network.operators}
        self.states = {operator.name: UnitState() for operator in network.operators}
        self.progress = SourceProgress()

    def step(self, batch: pl.DataFrame) -> tuple[float, dict[str, pl.DataFrame]]:
        """Return the busy seconds of all operators in a batch, and the rows that they give out."""
        for state in self.states.values():
            state.begin()
        found = list(self._places(batch))
        latest = batch["ts"].dt.epoch("us").max()
        self.progress = self.progress.after(self.network, {STREAM: latest})  # type: ignore[dict-item] # an integer
        busy = sum(facts.sample.busy for outcome in found for facts in outcome.operators)
        return busy, {stream: made for outcome in found for stream, made in outcome.results.items()}

    def _places(self, batch: pl.DataFrame) -> Iterator[NodeOutput]:
        watermarks = operator_watermarks(self.network, self.progress)
        frames, _ = ship(self.schedule, STREAM, batch, -1)
        for node in range(self.schedule.nodes):
            task = Task(self.network, self.schedule, HopNode(0, node), watermarks)
            mine = [frame for frame in frames if frame.node == node]
            yield run_place(
                task,
                mine,
                lambda operator: self.runners[operator.name],
                lambda operator: self.states[operator.name],
                time.process_time,
            )


def bench(quick: bool) -> Outcome:
    batches, warm_up = (8, 3) if quick else (40, 10)
    network = aggregates(AggregateParameters(streams=1))
    sides = {
        "one node": PaneSide(network, round_robin(network, 1)),
        "a node each": PaneSide(network, round_robin(network, len(network.operators))),
    }
    busy: dict[str, list[float]] = {name: [] for name in sides}
    windows = 0
    for number in range(batches):
        batch = rows(number)
        given: list[dict[str, pl.DataFrame]] = []
        for name, side in sides.items():
            spent, made = side.step(batch)
            busy[name].append(spent)
            given.append(made)
        _demand_equal(*given)
        windows += sum(made.height for made in given[0].values())
        say(f"batch {number}: {', '.join(f'{name} {took[-1]:.3f} s' for name, took in busy.items())}")
    took = medians(busy, warm_up)
    outcome = Outcome("panes")
    outcome.figures = {f"busy seconds per batch, {name}": value for name, value in took.items()}
    outcome.figures["windows given out, all batches"] = windows
    outcome.ratios["panes"] = took["a node each"] / took["one node"]
    return outcome


def _demand_equal(one: dict[str, pl.DataFrame], other: dict[str, pl.DataFrame]) -> None:
    """Raise an error unless both have the same rows in the same order."""
    for stream in {**one, **other}:
        if stream not in one or stream not in other or not one[stream].equals(other[stream]):
            raise RuntimeError(f"{stream} differs between one node and a node each")
