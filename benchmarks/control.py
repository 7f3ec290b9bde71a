"""The cost of a step of the control loop: 500 units on 20 nodes against 5 % of a period of one second.

It runs in the driver on one thread; compiling does not count. Times are CPU seconds: the loop has its own thread, and
what matters is how much CPU it takes from others. `save` is the write to the checkpoint, on the disk of the temporary
folder. Now and then a step includes a garbage collection of the whole process; its time is reported separately.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator, default_rng

from benchmarks.compare import Outcome
from drover.control import history
from drover.control.context import ControlContext, Deployment
from drover.control.history import SavedState
from drover.control.loop import step
from drover.control.moves import MoveLimits, choose_moves
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.control.settings import control_of
from drover.control.state import ControlState
from drover.control.view import view_of
from drover.flow.state.storage import open_root
from drover.load.profile import Profile, make_profile
from drover.load.sample import Sample
from drover.placement.plan import apply, by_hash
from drover.placement.policy import propose
from drover_lab.generate import ChainParameters, chains

NODES = 20
CHAINS = 50  # of ten units each
LOAD = 0.5  # of the capacity of all nodes
BUDGET = 0.05  # seconds: 5 % of a period
SETTINGS = control_of({"mode": "auto"})


@dataclass(slots=True)
class Loop:
    """A network under control whose first chain gets ten times its rows after a while."""

    deployment: Deployment
    profile: Profile
    state: ControlState = field(default_factory=ControlState)
    rng: Generator = field(default_factory=lambda: default_rng(0))
    records: list[PeriodRecord] = field(default_factory=list)

    def measure(self, factor: float) -> None:
        cost = sum(float(load) for load in self.profile.loads(dict.fromkeys(self.profile.rates, 1.0)).values())
        rows = {name: float(self.rng.poisson(LOAD * NODES / cost)) for name in self.profile.rates}
        rows = {name: count * (factor if name == "s0" else 1) for name, count in rows.items()}
        streams = self.profile.stream_rates(rows)
        samples = []
        for operator in self.deployment.network.operators:
            took, gave = ({name: float(streams[name]) for name in side} for side in (operator.inputs, operator.outputs))
            busy = self.profile.costs[operator.name] * sum(took.values()) * max(0.1, self.rng.normal(1, 0.05))
            samples.append(Sample(operator.name, took, gave, busy, 1000))
        self.state = replace(self.state, window=self.state.window.push(self.state.period + 1, 1.0, rows, samples))

    def decide(self) -> None:
        self.state, record = step(ControlContext(self.state, self.deployment, SETTINGS))
        self.records.append(record)
        if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
            self.deployment = replace(self.deployment, plan=apply(self.deployment.plan, record.proposal.moves))


def cpu(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


@dataclass(slots=True)
class Garbage:
    """The CPU seconds of garbage collection so far; a callback of `gc`."""

    seconds: float = 0.0
    _since: float = 0.0

    def __call__(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._since = time.process_time()
        else:
            self.seconds += time.process_time() - self._since


def parts(loop: Loop) -> dict[str, float]:
    """Median CPU milliseconds of each part of a step."""
    view = view_of(ControlContext(loop.state, loop.deployment, SETTINGS))
    wanted = propose(view.problem, SETTINGS.then, default_rng(0))
    other = propose(view.problem, "random", default_rng(0))
    resting = loop.state.resting(SETTINGS.cool_down)
    limits = MoveLimits.of(SETTINGS, np.arange(view.problem.m))
    actions: dict[str, Callable[[], object]] = {
        "detect a change": loop.state.detect_change,
        "window to model": lambda: view_of(ControlContext(loop.state, loop.deployment, SETTINGS)),
        "policy": lambda: propose(view.problem, SETTINGS.then, default_rng(0)),
        "judge": lambda: choose_moves(view.problem, wanted, limits, resting, loop.state.move_cost, whole=False),
        "judge, all units moving": lambda: choose_moves(
            view.problem, other, limits, {}, loop.state.move_cost, whole=False
        ),
    }
    with tempfile.TemporaryDirectory() as folder:
        fs, root = open_root(folder)
        actions["save"] = lambda: history.save_state(fs, root, SavedState(loop.state))
        return {name: 1e3 * float(np.median([cpu(action) for _ in range(7)])) for name, action in actions.items()}


def bench(quick: bool) -> Outcome:
    network = chains(default_rng(0), ChainParameters(chains=CHAINS, cost=1e-5))
    loop = Loop(Deployment(network, by_hash(network, NODES)), make_profile(network))
    outcome = Outcome("control")
    took = list[float]()
    garbage = list[float]()
    collecting = Garbage()
    gc.callbacks.append(collecting)
    kinds: dict[str, list[float]] = {}  # by what came of the period
    for period in range(30 if quick else 80):
        loop.measure(10.0 if period >= 20 else 1.0)
        before = collecting.seconds
        seconds = cpu(loop.decide)
        if period >= 15:  # the first ones compile
            took.append(seconds)
            garbage.append(collecting.seconds - before)
            kinds.setdefault(str(loop.records[-1].kind), []).append(seconds)
    name = f"step, {10 * CHAINS} units on {NODES} nodes"
    outcome.figures[f"{name}, median CPU ms"] = 1e3 * float(np.median(took))
    gc.callbacks.remove(collecting)
    outcome.figures[f"{name}, slowest CPU ms"] = 1e3 * max(took)
    outcome.figures[f"{name}, slowest without collecting garbage, CPU ms"] = 1e3 * max(np.subtract(took, garbage))
    outcome.figures |= {f"{name}, {kind}, CPU ms": 1e3 * float(np.median(each)) for kind, each in kinds.items()}
    outcome.figures["moves made, the first plan included"] = float(
        sum(
            len(one.proposal.moves)
            for one in loop.records
            if one.kind is PeriodOutcome.MOVED and one.proposal is not None
        )
    )
    found = parts(loop)
    outcome.figures |= {f"{what}, CPU ms": value for what, value in found.items()}
    whole = float(np.median(took)) + found["save"] / 1e3
    outcome.ratios["budget_over_step_and_save"] = BUDGET / whole
    outcome.targets["budget_over_step_and_save"] = 1.0
    return outcome
