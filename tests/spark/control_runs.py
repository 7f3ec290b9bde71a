"""A control loop without Spark: a checkpoint with a plan, and made-up batches."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import drover
from drover.control.settings import Control, Mode
from drover.flow.frames import Edge
from drover.flow.instances import explicit
from drover.flow.node import OperatorFacts
from drover.flow.planlog import PlanLogEntry, write_plan
from drover.flow.schedule import HopNode
from drover.flow.state.commits import latest
from drover.flow.state.lock import Holder, Lock, hold
from drover.flow.state.storage import open_root
from drover.load.sample import Sample
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.changes import note_network
from drover.spark.controller import Controller
from drover.spark.endpoint import Endpoint
from drover.spark.endpoint_file import EndpointAddress
from drover.spark.facts import BatchFacts, BatchSeconds
from drover.spark.planner import Planner
from drover.spark.queries.service import QueryService

UNEVEN = {"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05}  # busy seconds per second of each filter
SIZES = {"a": 4_000, "b": 3_000, "c": 2_000, "d": 1_000}  # bytes of state in their samples
SETTINGS = Control(mode=Mode.PROPOSE, warm_up=3, window=4, trial=0)
START = Plan(1, 2, {"a": 0, "b": 0, "c": 1, "d": 1})


def four_filters() -> Network:
    """Four filters side by side."""
    net = drover.Builder("flock")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    for name in UNEVEN:
        events.filter(name, "key <> 3").output()
    return net.build()


def facts(plan: int, loads: Mapping[str, float] = UNEVEN, rows: int = 1000) -> BatchFacts:
    """The facts of a made-up batch of a second."""
    samples = [Sample(name, {"events": rows}, {name: rows}, busy, SIZES.get(name, 0)) for name, busy in loads.items()]
    return BatchFacts(
        batch=0,
        spark_batch=0,
        plan=plan,
        nodes=2,
        hops=1,
        seconds=BatchSeconds(0.6, 0.1, 0.1, nodes=0.5),
        rows_in={"events": rows},
        routed=(Edge("events", 0, 1, 100), Edge("events", 1, 1, 100)),
        busy=(0.4, 0.4),
        wall=(0.4, 0.4),
        operators=tuple(OperatorFacts(sample, HopNode(0, 0)) for sample in samples),
    )


@dataclass(slots=True)
class ControlRun:
    """A checkpoint, and the control loop that runs on it inside `with run: ...`."""

    folder: Path
    settings: Control = SETTINGS
    network: Network = field(default_factory=four_filters)
    plan: Plan = START
    loads: Mapping[str, float] = field(default_factory=lambda: UNEVEN)
    now: float = 0.0
    listens: bool = True
    queries: QueryService | None = None
    controller: Controller = field(init=False)
    endpoint: Endpoint = field(init=False)
    where: EndpointAddress = field(init=False)
    lock: Lock = field(init=False)

    @property
    def path(self) -> str:
        return str(self.folder)

    def __enter__(self) -> Self:
        fs, path = open_root(self.path)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), "2026-01-01 00:00:00"))
        note_network(fs, path, self.network)
        planner = Planner(self.path, self.plan)
        if not (self.folder / "plans").exists():
            write_plan(fs, path, PlanLogEntry(0, self.plan))
        entry = planner.recover(latest(fs, path))
        assert entry is not None
        planner.adopt(entry, 0, begun=False)
        self.controller = Controller(self.network, planner, self.settings, clock=lambda: self.now)
        self.controller.start()
        self.endpoint = Endpoint(self.controller, self.folder, self.queries, patience=1.0)
        if self.listens:
            self.where = self.endpoint.start()
        self.controller(facts(planner.plan.number, self.loads))  # the first batch only starts the clock
        self.controller.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.endpoint.close()
        self.controller.close()
        self.lock.release()

    @property
    def places(self) -> dict[str, int]:
        return dict(self.controller.status.plan.node_of)

    def feed(self, periods: int, loads: Mapping[str, float] | None = None, rows: int = 1000) -> None:
        """Let some periods of one second pass."""
        for _ in range(periods):
            self.now += 1.0
            self.controller(facts(self.controller.status.plan.number, loads or self.loads, rows))
            self.controller.wait()

    def write_down(self) -> None:
        """Write the plan to the plan log, as the next batch would."""
        write_plan(*open_root(self.path), PlanLogEntry(0, self.controller.status.plan))


def stopped(folder: Path, periods: int = 4, settings: Control = SETTINGS) -> ControlRun:
    """A run that has ended after some periods."""
    with ControlRun(folder, settings) as run:
        run.feed(periods)
    return run


def spreadable(folder: Path) -> ControlRun:
    """A run with a filter and a join that may be spread, on four nodes."""
    net = drover.Builder("spreading")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    events.filter("a", "key <> 3").output()
    events.join("j", events, within="1 s", on="key", select={"key": "left.key"}, spread="auto").output()
    network = net.build()
    observing = Control(mode=Mode.OBSERVE, warm_up=3, window=4)
    plan = explicit(Plan(1, 4, {"a": 0, "j": 1}), network)
    return ControlRun(folder, observing, network, plan, {"a": 0.1, "j": 0.4})
