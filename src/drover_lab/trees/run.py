"""The simulation of a scenario: with the protocol's state machine on every node, or without any moves.

Rule 1: events are totally ordered by time and serial number, so that equal seeds give equal outcomes.
Rule 2: a machine gets messages and the time, and nothing else. The owner of an operator is read from the records that
machines write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.random import Generator, default_rng

from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import DemandRequest, JournalSnapshot, Message, OfferRequest, Start, StepEffects, TookIn
from drover.hierarchy.node_state import NEVER, NodeConfig, Timing
from drover.hierarchy.thresholds import TreeThresholds
from drover.load.arrays import Floats, Ints
from drover_lab.trees.links import LinkModel, Outage
from drover_lab.trees.outcome import TreeRun
from drover_lab.trees.scenario import TreeScenario


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Settings of the protocol, of the network and of outages."""

    thresholds: TreeThresholds = field(default_factory=TreeThresholds)
    timing: Timing = field(default_factory=Timing)
    links: LinkModel = field(default_factory=LinkModel)
    outages: tuple[Outage, ...] = ()
    sample: float = 2.0  # seconds between two samples of all levels


def simulate_static(scenario: TreeScenario, sample: float = 2.0) -> TreeRun:
    """Return the outcome if every operator stays where it is."""
    times = np.arange(0.0, scenario.seconds, sample)
    levels = _LevelSamples(scenario, times)
    levels.advance(scenario.seconds, scenario.node_of)
    nobody = np.zeros(len(scenario.tree), dtype=np.int64)
    return TreeRun(times, levels.found, scenario.node_of.copy(), {}, nobody, 0, 0, 0.0)


def simulate_protocol(
    scenario: TreeScenario, rng: Generator, settings: TreeSettings | None = None, machine: type[Machine] = Machine
) -> TreeRun:
    """Return the outcome if nodes negotiate; `machine` can be a subclass that counts or times its steps."""
    return _TreeSimulation(scenario, rng, settings or TreeSettings(), machine).run()


class _LevelSamples:
    """The present size of each operator, and the level of each node at every sample."""

    def __init__(self, scenario: TreeScenario, times: Floats) -> None:
        self.scenario = scenario
        self.times = times
        self.found = np.zeros((len(times), len(scenario.tree)))
        self.sizes = scenario.sizes.copy()
        self._change = self._sample = 0

    def advance(self, now: float, node_of: Ints) -> list[int]:
        """Apply changes and take samples up to `now`; return the operators whose size has changed."""
        scenario = self.scenario
        changed = list[int]()
        while True:
            change = scenario.when[self._change] if self._change < len(scenario.when) else NEVER
            sample = self.times[self._sample] if self._sample < len(self.times) else NEVER
            if min(change, sample) > now or min(change, sample) == NEVER:
                return changed
            if change <= sample:
                self.sizes[scenario.which[self._change]] = scenario.new[self._change]
                changed.append(int(scenario.which[self._change]))
                self._change += 1
            else:
                self.found[self._sample] = self._levels(node_of)
                self._sample += 1

    def _levels(self, node_of: Ints) -> Floats:
        use = np.zeros(self.scenario.capacity.shape)
        np.add.at(use, node_of, self.sizes)
        return np.asarray((use / self.scenario.capacity).max(axis=1))

    @property
    def next_change(self) -> float:
        return float(self.scenario.when[self._change]) if self._change < len(self.scenario.when) else NEVER


class _TreeSimulation:
    """The event loop of one run."""

    def __init__(self, scenario: TreeScenario, rng: Generator, settings: TreeSettings, machine: type[Machine]) -> None:
        self.scenario = scenario
        self.settings = settings
        self.make = machine
        self.draws = default_rng(
            rng.integers(2**32)
        )  # a generator of its own, so that messages do not change what nodes draw
        self.levels = _LevelSamples(scenario, np.arange(0.0, scenario.seconds, settings.sample))
        self.node_of = scenario.node_of.copy()
        self.queue: list[tuple[float, int, int, Message | Outage | None]] = []
        self.serial = 0
        self.sent: Counter[str] = Counter()
        self.sent_by = np.zeros(len(scenario.tree), dtype=np.int64)
        self.begun: set[object] = set()
        self.moved = 0
        self.stopped = 0.0
        self.since: dict[int, float] = {}  # by stopped operator: since when
        self.kept: dict[int, JournalSnapshot] = {}  # by node that is down: its journal
        self.woken = [NEVER] * len(scenario.tree)
        self.places = self._places()
        own = self._own()
        first = rng.uniform(0.0, settings.timing.period, size=len(scenario.tree)).tolist()
        self.machines: list[Machine | None] = [
            machine(place, [initial_snapshot(own[node])], 0.0, first[node]) for node, place in enumerate(self.places)
        ]

    def _places(self) -> Sequence[NodeConfig]:
        scenario = self.scenario
        settings = self.settings
        capacity = [tuple(each) for each in scenario.capacity.tolist()]
        return [
            NodeConfig(node, scenario.tree, scenario.queries, capacity[node], settings.thresholds, settings.timing)
            for node in range(len(scenario.tree))
        ]

    def _own(self) -> list[dict[int, tuple[float, ...]]]:
        own: list[dict[int, tuple[float, ...]]] = [{} for _ in self.places]
        for j, (node, size) in enumerate(zip(self.node_of.tolist(), self.scenario.sizes.tolist(), strict=True)):
            own[node][j] = tuple(size)
        return own

    def run(self) -> TreeRun:
        """Process all events and return the outcome."""
        for node in range(len(self.places)):
            self._schedule(node)
        for outage in self.settings.outages:
            self._push(outage.begin, outage.node, outage)
            self._push(outage.end, outage.node, outage)
        while self.queue and self.queue[0][0] < self.scenario.seconds:
            now, _, node, what = heappop(self.queue)
            if now >= self.levels.next_change:
                self._measure(now)
            if isinstance(what, Outage):
                self._fail_or_return(now, node)
            else:
                self._step(now, node, what)
        self._measure(self.scenario.seconds)
        self.stopped += sum(self.scenario.seconds - since for since in self.since.values())
        return TreeRun(
            self.levels.times,
            self.levels.found,
            self.node_of,
            dict(self.sent),
            self.sent_by,
            self.moved,
            len(self.begun),
            self.stopped,
        )

    def _measure(self, now: float) -> None:
        for operator in self.levels.advance(now, self.node_of):
            machine = self.machines[int(self.node_of[operator])]
            if machine is not None:
                machine.measure({operator: tuple(self.levels.sizes[operator].tolist())})

    def _step(self, now: float, node: int, message: Message | None) -> None:
        machine = self.machines[node]
        if machine is None:
            return
        if message is not None:
            self._carry_out(now, node, machine.receive(message, now))
        else:
            self.woken[node] = NEVER
            if now >= machine.wake:
                self._carry_out(now, node, machine.tick(now))
        self._schedule(node)

    def _fail_or_return(self, now: float, node: int) -> None:
        machine = self.machines[node]
        if machine is not None:
            self.kept[node] = machine.state.durable.snapshot()
            self.machines[node] = None
            return
        back = self.make(self.places[node], [self.kept.pop(node)], now, now)
        self.machines[node] = back
        own = np.flatnonzero(self.node_of == node).tolist()
        back.measure({j: tuple(self.levels.sizes[j].tolist()) for j in own})
        self._carry_out(now, node, back.output)
        self._schedule(node)

    def _schedule(self, node: int) -> None:
        machine = self.machines[node]
        if machine is not None and machine.wake < self.woken[node]:
            self.woken[node] = machine.wake
            self._push(machine.wake, node, None)

    def _push(self, at: float, node: int, what: Message | Outage | None) -> None:
        self.serial += 1
        heappush(self.queue, (at, self.serial, node, what))

    def _carry_out(self, now: float, node: int, output: StepEffects) -> None:
        if output.records:
            self.levels.advance(now, self.node_of)  # earlier samples must see operators on their old nodes
        for record in output.records:
            if isinstance(record, TookIn):
                for bundle in record.bundles:
                    self.node_of[list(bundle.operators)] = node
                    self.moved += len(bundle.operators)
        for action in output.actions:
            if isinstance(action, Start):
                self.stopped += sum(now - self.since.pop(each) for each in action.operators if each in self.since)
            else:
                self.since.update(dict.fromkeys(action.operators, now))
        for message in output.messages:
            self.sent[type(message).__name__] += 1
            self.sent_by[node] += 1
            if isinstance(message, OfferRequest | DemandRequest):
                self.begun.add(message.round)
            for at in self.settings.links.arrivals(node, message.receiver, now, self.draws):
                self._push(at, message.receiver, message)
