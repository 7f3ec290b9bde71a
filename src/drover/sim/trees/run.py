"""Playing a scene: with the machines of every node and a network between them, or with nobody doing anything.

Rule 1: events are in a total order of time and serial number, so that equal seeds give equal courses.
Rule 2: machines get messages and the time, and nothing else; who owns what is read from their records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.random import Generator, default_rng

from drover.hierarchy.machine import Machine, settle_in
from drover.hierarchy.memory import NEVER, Place, Timing
from drover.hierarchy.messages import DemandRequest, Kept, Message, OfferRequest, Output, Start, TookIn
from drover.hierarchy.thresholds import Thresholds
from drover.load.arrays import Floats, Ints
from drover.sim.trees.course import Course
from drover.sim.trees.scene import Scene
from drover.sim.trees.wire import Outage, Wire


@dataclass(frozen=True, slots=True)
class Settings:
    """How nodes behave, and what befalls them."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    timing: Timing = field(default_factory=Timing)
    wire: Wire = field(default_factory=Wire)
    outages: tuple[Outage, ...] = ()
    sample: float = 2.0  # seconds between two looks at all levels


def stand_still(scene: Scene, sample: float = 2.0) -> Course:
    """Return the course of a scene in which every operator stays where it is."""
    times = np.arange(0.0, scene.seconds, sample)
    levels = _Levels(scene, times)
    levels.advance(scene.seconds, scene.node_of)
    nobody = np.zeros(len(scene.tree), dtype=np.int64)
    return Course(times, levels.found, scene.node_of.copy(), {}, nobody, 0, 0, 0.0)


def play(scene: Scene, rng: Generator, settings: Settings | None = None, machine: type[Machine] = Machine) -> Course:
    """Return the course of a scene in which nodes negotiate; `machine` may be one that counts or times what it does."""
    return _Play(scene, rng, settings or Settings(), machine).run()


class _Levels:
    """Sizes as they change, and levels at every sample."""

    def __init__(self, scene: Scene, times: Floats) -> None:
        self.scene, self.times = scene, times
        self.found = np.zeros((len(times), len(scene.tree)))
        self.sizes = scene.sizes.copy()
        self._change = self._sample = 0

    def advance(self, now: float, node_of: Ints) -> list[int]:
        """Let time pass up to `now`, with operators where they are; return those whose size has changed."""
        scene, changed = self.scene, list[int]()
        while True:
            change = scene.when[self._change] if self._change < len(scene.when) else NEVER
            sample = self.times[self._sample] if self._sample < len(self.times) else NEVER
            if min(change, sample) > now or min(change, sample) == NEVER:
                return changed
            if change <= sample:
                self.sizes[scene.which[self._change]] = scene.new[self._change]
                changed.append(int(scene.which[self._change]))
                self._change += 1
            else:
                self.found[self._sample] = self._levels(node_of)
                self._sample += 1

    def _levels(self, node_of: Ints) -> Floats:
        use = np.zeros(self.scene.capacity.shape)
        np.add.at(use, node_of, self.sizes)
        return np.asarray((use / self.scene.capacity).max(axis=1))

    @property
    def next_change(self) -> float:
        return float(self.scene.when[self._change]) if self._change < len(self.scene.when) else NEVER


class _Play:
    """A run under way."""

    def __init__(self, scene: Scene, rng: Generator, settings: Settings, machine: type[Machine]) -> None:
        self.scene, self.settings, self.make = scene, settings, machine
        self.draws = default_rng(rng.integers(2**32))  # of the network
        self.levels = _Levels(scene, np.arange(0.0, scene.seconds, settings.sample))
        self.node_of = scene.node_of.copy()
        self.queue: list[tuple[float, int, int, Message | Outage | None]] = []
        self.serial = 0
        self.sent: Counter[str] = Counter()
        self.sent_by = np.zeros(len(scene.tree), dtype=np.int64)
        self.begun: set[object] = set()
        self.moved, self.stopped = 0, 0.0
        self.since: dict[int, float] = {}  # operators that do not run, since when
        self.kept: dict[int, Kept] = {}  # by node that is down
        self.woken = [NEVER] * len(scene.tree)
        self.places = self._places()
        own = self._own()
        first = rng.uniform(0.0, settings.timing.period, size=len(scene.tree)).tolist()
        self.machines: list[Machine | None] = [
            machine(place, [settle_in(own[node])], 0.0, first[node]) for node, place in enumerate(self.places)
        ]

    def _places(self) -> Sequence[Place]:
        scene, settings = self.scene, self.settings
        capacity = [tuple(each) for each in scene.capacity.tolist()]
        return [
            Place(node, scene.tree, scene.queries, capacity[node], settings.thresholds, settings.timing)
            for node in range(len(scene.tree))
        ]

    def _own(self) -> list[dict[int, tuple[float, ...]]]:
        own: list[dict[int, tuple[float, ...]]] = [{} for _ in self.places]
        for j, (node, size) in enumerate(zip(self.node_of.tolist(), self.scene.sizes.tolist(), strict=True)):
            own[node][j] = tuple(size)
        return own

    def run(self) -> Course:
        """Play to the end."""
        for node in range(len(self.places)):
            self._schedule(node)
        for outage in self.settings.outages:
            self._push(outage.begin, outage.node, outage)
            self._push(outage.end, outage.node, outage)
        while self.queue and self.queue[0][0] < self.scene.seconds:
            now, _, node, what = heappop(self.queue)
            if now >= self.levels.next_change:
                self._measure(now)
            if isinstance(what, Outage):
                self._fail_or_return(now, node)
            else:
                self._step(now, node, what)
        self._measure(self.scene.seconds)
        self.stopped += sum(self.scene.seconds - since for since in self.since.values())
        return Course(
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
            self.kept[node] = machine.memory.estate.kept()
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

    def _carry_out(self, now: float, node: int, output: Output) -> None:
        if output.records:
            self.levels.advance(now, self.node_of)  # samples before this moment see operators where they were
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
            for at in self.settings.wire.arrivals(node, message.receiver, now, self.draws):
                self._push(at, message.receiver, message)
