"""A control loop without Spark: a checkpoint with a plan, and batches that somebody makes up."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import drover
from drover.control.settings import Control, Mode
from drover.flow.instances import explicit
from drover.flow.planlog import Entry, write_plan
from drover.flow.state.commits import latest
from drover.flow.state.lock import Holder, Lock, hold
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.changes import check_network
from drover.spark.controller import Controller
from drover.spark.endpoint import Endpoint
from drover.spark.planner import Planner
from drover.spark.queries.office import Office
from drover.spark.whereabouts import Whereabouts

UNEVEN = {"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05}  # busy seconds per second of each filter
SIZES = {"a": 4_000, "b": 3_000, "c": 2_000, "d": 1_000}  # bytes of state that they are said to have
SETTINGS = Control(mode=Mode.PROPOSE, warm_up=3, window=4, trial=0)
START = Plan(1, 2, {"a": 0, "b": 0, "c": 1, "d": 1})


def four_filters() -> Network:
    """Four filters side by side."""
    net = drover.Builder("flock")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    for name in UNEVEN:
        events.filter(name, "key <> 3").output()
    return net.build()


def figures(plan: int, loads: Mapping[str, float] = UNEVEN, rows: int = 1000) -> dict[str, Any]:
    """What a batch of a second would tell."""
    return {
        "plan": plan,
        "nodes": 2,
        "busy": [0.4, 0.4],
        "wall": [0.4, 0.4],
        "seconds": {"nodes": 0.5, "compute": 0.6, "sinks": 0.1, "commit": 0.1},
        "rowsIn": {"events": rows},
        "samples": [
            {"operator": name, "rows_in": rows, "rows_out": rows, "busy": busy, "state_bytes": SIZES.get(name, 0)}
            for name, busy in loads.items()
        ],
        "routed": [{"stream": "events", "node": 0, "bytes": 100}, {"stream": "events", "node": 1, "bytes": 100}],
    }


@dataclass(slots=True)
class Pen:
    """A checkpoint, and the loop that runs on it while it is open: `with pen: ...`."""

    folder: Path
    settings: Control = SETTINGS
    network: Network = field(default_factory=four_filters)
    plan: Plan = START
    loads: Mapping[str, float] = field(default_factory=lambda: UNEVEN)
    now: float = 0.0
    listens: bool = True
    office: Office | None = None
    controller: Controller = field(init=False)
    endpoint: Endpoint = field(init=False)
    where: Whereabouts = field(init=False)
    lock: Lock = field(init=False)

    @property
    def path(self) -> str:
        return str(self.folder)

    def __enter__(self) -> Self:
        fs, path = open_root(self.path)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = hold(fs, path, Holder(os.getpid(), socket.gethostname(), "2026-01-01 00:00:00"))
        check_network(fs, path, self.network, begun=False)
        planner = Planner(self.path, self.plan)
        if not (self.folder / "plans").exists():
            write_plan(fs, path, Entry(0, self.plan))
        entry = planner.recover(latest(fs, path))
        assert entry is not None
        planner.adopt(entry, 0, begun=False)
        self.controller = Controller(self.network, planner, self.settings, clock=lambda: self.now)
        self.controller.start()
        self.endpoint = Endpoint(self.controller, self.folder, self.office, patience=1.0)
        if self.listens:
            self.where = self.endpoint.start()
        self.controller(figures(planner.plan.number, self.loads))  # the first batch only starts the clock
        self.controller.settle()
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
        """Let so many periods of a second pass."""
        for _ in range(periods):
            self.now += 1.0
            self.controller(figures(self.controller.status.plan.number, loads or self.loads, rows))
            self.controller.settle()

    def write_down(self) -> None:
        """Write the plan down, as the next batch would."""
        write_plan(*open_root(self.path), Entry(0, self.controller.status.plan))


def stopped(folder: Path, periods: int = 4, settings: Control = SETTINGS) -> Pen:
    """A pen whose loop has seen some periods, and has ended."""
    with Pen(folder, settings) as pen:
        pen.feed(periods)
    return pen


def spreadable(folder: Path) -> Pen:
    """A pen with a filter and a join that may be spread, on four nodes."""
    net = drover.Builder("spreading")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    events.filter("a", "key <> 3").output()
    events.join("j", events, within="1 s", on="key", select={"key": "left.key"}, spread="auto").output()
    network = net.build()
    observing = Control(mode=Mode.OBSERVE, warm_up=3, window=4)
    plan = explicit(Plan(1, 4, {"a": 0, "j": 1}), network)
    return Pen(folder, observing, network, plan, {"a": 0.1, "j": 0.4})
