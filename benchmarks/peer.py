"""The simulator's peer: the same chains on the same nodes in SimPy, with the same arrivals and random numbers.

Rule 1: it does no more than the measured part of the event core: services, queues, fractions, latencies at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy
from numpy.random import SeedSequence

from drover.load.arrays import Floats, Ints
from drover.sim.engine import CHANCE
from drover.sim.model import Model

MASK = 2**64 - 1


@dataclass
class Tally:
    """The counters of a run; `chance` is the state of each operator's random numbers."""

    chance: list[int]
    invocations: int = 0
    out: int = 0
    latency: float = 0.0


@dataclass
class Lean:
    """A queue with a minimum of SimPy: an event wakes a node that sleeps."""

    env: simpy.Environment
    waiting: deque[tuple[int, float]] = field(default_factory=deque)
    asleep: simpy.Event | None = None

    def put(self, one: tuple[int, float]) -> None:
        self.waiting.append(one)
        if self.asleep is not None:
            self.asleep.succeed()
            self.asleep = None


def passing(tally: Tally, j: int, selectivity: float) -> int:
    """The number of output tuples for one input tuple, drawn as the event core draws it."""
    z = tally.chance[j] = (tally.chance[j] + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return int(((z ^ (z >> 31)) >> 32) / 2**32 + selectivity)


def run_chains(
    model: Model, places: Ints, arrivals: Sequence[Floats], until: float, seed: int, *, lean: bool = False
) -> Tally:
    """Run chains: each operator has one stream, which at most one operator reads."""
    env = simpy.Environment()
    cost = model.cost.tolist()
    share = model.selectivity[model.first[:-1]].tolist()
    place = places.tolist()
    after = dict(zip(model.read.tolist(), model.reader.tolist(), strict=True))  # stream -> operator
    follower = [after.get(int(model.first[j]), -1) for j in range(model.m)]
    tally = Tally([int(each) for each in SeedSequence((seed, CHANCE)).generate_state(model.m, np.uint64)])
    count = int(places.max()) + 1
    stores: list[Any] = [Lean(env) if lean else simpy.Store(env) for _ in range(count)]

    def serve(j: int, birth: float) -> None:
        tally.invocations += 1
        for _ in range(passing(tally, j, share[j])):
            if follower[j] < 0:
                tally.out += 1
                tally.latency += env.now - birth
            else:
                stores[place[follower[j]]].put((follower[j], birth))

    for store in stores:
        env.process(_lean_node(env, store, cost, serve) if lean else _node(env, store, cost, serve))
    for k, times in enumerate(arrivals):
        env.process(_source(env, times.tolist(), stores[place[after[k]]].put, after[k]))
    env.run(until=until)
    return tally


def _node(
    env: simpy.Environment, store: simpy.Store, cost: list[float], serve: Callable[[int, float], None]
) -> Generator[simpy.Event, Any, None]:
    while True:
        j, birth = yield store.get()
        yield env.timeout(cost[j])
        serve(j, birth)


def _lean_node(
    env: simpy.Environment, store: Lean, cost: list[float], serve: Callable[[int, float], None]
) -> Generator[simpy.Event, Any, None]:
    while True:
        if not store.waiting:
            store.asleep = env.event()
            yield store.asleep
        j, birth = store.waiting.popleft()
        yield env.timeout(cost[j])
        serve(j, birth)


def _source(
    env: simpy.Environment, times: list[float], put: Callable[[tuple[int, float]], object], j: int
) -> Generator[simpy.Event, Any, None]:
    for time in times:
        yield env.timeout(max(0.0, time - env.now))
        put((j, time))
