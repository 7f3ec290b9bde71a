"""The event core again, in plain Python: a heap of events, deques of tuples, no arrays.

Rule 1: it shares the numbers of the network and nothing else with the compiled core; events must be equal one by one.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import SeedSequence

from drover.load.arrays import Flags, Floats, Ints
from drover.sim.cluster import SimulatedCluster
from drover.sim.model import Model

MASK = 2**64 - 1


@dataclass
class Tuple:
    """A tuple on its way to a port."""

    birth: float
    work: float
    port: int


@dataclass
class Server:
    """A node."""

    slow: float
    queue: deque[Tuple] = field(default_factory=deque)
    turns: deque[int] = field(default_factory=deque)  # operators that have tuples
    served: int = 0  # in this turn
    current: Tuple | None = None
    took: float = 0.0
    event: int = 0  # serial number of the service that counts


class Twin:
    """A network that runs on nodes."""

    def __init__(
        self, model: Model, cluster: SimulatedCluster, places: Ints, *, seed: int, schedule: str, quantum: int
    ) -> None:
        self.model = model
        self.cluster = cluster
        self.fifo = schedule == "fifo"
        self.quantum = quantum
        self.nodes = [Server(1 / capacity) for capacity in cluster.capacities]
        self.place = [int(node) for node in places]
        self.awake = [True] * model.m
        self.waiting: list[deque[Tuple]] = [deque() for _ in range(model.m)]
        self.windows: dict[tuple[int, int], deque[float]] = {}
        self.newest: dict[tuple[int, int], float] = {}
        self.seeds = [int(each) for each in SeedSequence((seed, 1)).generate_state(model.m, np.uint64)]
        self.heap: list[tuple[float, int, int, str, object]] = []
        self.serial = 0
        self.sent: dict[tuple[int, int], float] = {}
        self.log: list[tuple[float, int, int, float]] = []
        self.latencies: list[tuple[int, float, float]] = []
        self.given = [0] * len(model.streams)
        self.lost = 0
        self.travelling = 0

    def draw(self, j: int) -> float:
        z = self.seeds[j] = (self.seeds[j] + 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 32) / 2**32

    def push(self, time: float, rank: int, kind: str, what: object) -> int:
        self.serial += 1
        heapq.heappush(self.heap, (time, rank, self.serial, kind, what))
        return self.serial

    def feed(self, arrivals: Sequence[Floats]) -> None:
        for k, times in enumerate(arrivals):
            for time in times.tolist():
                self.push(time, 10**6 + k, "arrival", k)

    def advance(self, until: float) -> None:
        while self.heap and self.heap[0][0] < until:
            now, rank, serial, kind, what = heapq.heappop(self.heap)
            if kind == "arrival":
                assert isinstance(what, int)
                for port in self.readers(what):
                    self.accept(Tuple(now, 0.0, port), now)
            elif kind == "delivery":
                assert isinstance(what, Tuple)
                self.travelling -= 1
                self.accept(what, now)
            elif self.nodes[rank].event == serial:
                self.complete(rank, now)

    def readers(self, stream: int) -> Iterable[int]:
        return (port for port, read in enumerate(self.model.read) if read == stream)

    def accept(self, one: Tuple, now: float) -> None:
        j = int(self.model.reader[one.port])
        if not self.awake[j]:
            self.waiting[j].append(one)
            return
        node = self.nodes[self.place[j]]
        if self.fifo:
            node.queue.append(one)
        else:
            if j not in node.turns:
                node.turns.append(j)
            self.waiting[j].append(one)
        if node.current is None:
            self.work(self.place[j], now)

    def work(self, i: int, now: float) -> None:
        node = self.nodes[i]
        model = self.model
        node.current = None
        if self.fifo and node.queue:
            node.current = node.queue.popleft()
        elif not self.fifo and node.turns:
            node.served += 1
            node.current = self.waiting[node.turns[0]].popleft()
        if node.current is None:
            return
        port = node.current.port
        j = int(model.reader[port])
        node.took = float(model.cost[j])
        if model.spread[j] > 0:
            spread = float(model.spread[j])
            node.took *= 1.0 - spread - spread * math.log(1.0 - self.draw(j))
        if model.join[j] >= 0:
            node.took += len(self.partners(j, int(model.side[port]), node.current.birth)) * float(model.pair_cost[j])
        node.event = self.push(now + node.took * node.slow, i, "service", None)

    def partners(self, j: int, side: int, birth: float) -> list[float]:
        """Births on the other side that this one meets; those nobody can meet any more are dropped."""
        left = float(self.model.left[j])
        right = float(self.model.right[j])
        newest = self.newest[j, side] = max(self.newest.get((j, side), -math.inf), birth)
        others = self.windows.setdefault((j, 1 - side), deque())
        while others and others[0] + (left if side == 1 else right) < newest:
            others.popleft()
        gaps = ((other, other - birth if side == 0 else birth - other) for other in others)
        return [other for other, gap in gaps if -right <= gap <= left]

    def complete(self, i: int, now: float) -> None:
        node = self.nodes[i]
        model = self.model
        one = node.current
        assert one is not None
        j = int(model.reader[one.port])
        worked = one.work + node.took * node.slow
        self.log.append((now, i, one.port, one.birth))
        total = self.draw(j)
        if model.join[j] >= 0:
            side = int(model.side[one.port])
            passed = 0
            for other in self.partners(j, side, one.birth):
                total += float(model.selectivity[model.first[j]])
                self.give(i, int(model.first[j]), int(total) - passed, max(one.birth, other), worked, now)
                passed = int(total)
            self.windows.setdefault((j, side), deque()).append(one.birth)
        else:
            passed = 0
            for stream in range(model.first[j], model.first[j + 1]):
                total += float(model.selectivity[stream])
                self.give(i, stream, int(total) - passed, one.birth, worked, now)
                passed = int(total)
        ended = not self.waiting[j] or node.served >= self.quantum
        if not self.fifo and node.turns and node.turns[0] == j and ended:
            node.served = 0
            node.turns.popleft()
            if self.waiting[j]:
                node.turns.append(j)
        self.work(i, now)

    def give(self, i: int, stream: int, count: int, birth: float, worked: float, now: float) -> None:
        self.given[stream] += count
        if self.model.output[stream] >= 0:
            self.latencies += [(int(self.model.output[stream]), now - birth, worked)] * count
        for port in self.readers(stream):
            for _ in range(count):
                self.send(i, stream, Tuple(birth, worked, port), now)

    def send(self, i: int, stream: int, one: Tuple, now: float) -> None:
        target = self.place[int(self.model.reader[one.port])]
        if self.cluster.is_free or target == i:
            self.accept(one, now)
            return
        delay = np.asarray(self.cluster.delay)[i, target]
        bandwidth = np.asarray(self.cluster.bandwidth)[i, target]
        if np.isinf(bandwidth):  # never full: deliveries of equal delay are in order of sending
            due = now + float(delay)
            rank = 10**5
        else:
            sent = max(now, self.sent.get((i, target), 0.0)) + float(self.model.width[stream] / bandwidth)
            self.sent[i, target] = sent
            due = sent + float(delay)
            rank = 10**5 + 1 + i * len(self.nodes) + target
        self.travelling += 1
        self.push(due, rank, "delivery", one)

    def suspend(self, chosen: Flags, places: Ints) -> None:
        self.awake = [awake and not stop for awake, stop in zip(self.awake, chosen.tolist(), strict=True)]
        for node in self.nodes:
            kept = deque[Tuple]()
            before = node.turns[0] if node.turns else None
            for one in node.queue:
                j = int(self.model.reader[one.port])
                (kept if self.awake[j] else self.waiting[j]).append(one)
            node.queue = kept
            node.turns = deque(j for j in node.turns if self.awake[j])
            if (node.turns[0] if node.turns else None) != before:
                node.served = 0
        self.place = [int(node) for node in places]

    def resume(self, operator: int, now: float) -> None:
        j = operator
        self.awake[j] = True
        node = self.nodes[self.place[j]]
        if not self.waiting[j]:
            return
        if self.fifo:
            node.queue += self.waiting[j]
            self.waiting[j].clear()
        else:
            node.turns.append(j)
        if node.current is None:
            self.work(self.place[j], now)

    def kill(self, i: int, *, replay: bool) -> None:
        node = self.nodes[i]
        if node.current is not None:
            if replay:
                self.waiting[int(self.model.reader[node.current.port])].appendleft(node.current)
            else:
                self.lost += 1
            node.current = None
            node.event = 0
        for j in range(self.model.m):
            if self.place[j] == i and not replay:
                self.lost += len(self.waiting[j])
                self.waiting[j].clear()
                self.windows.pop((j, 0), None)
                self.windows.pop((j, 1), None)
