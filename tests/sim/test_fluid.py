from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from drover.load.arrays import Floats
from drover.sim.cluster import Kill, SimulatedCluster
from drover.sim.fluid import Fluid
from drover.sim.run import Mode, simulate
from drover.sim.workload import Constant, OnOff, Poisson
from tests.sim.cases import Case, cases, chain, joined

STEP = 0.05


class Twin:
    """The same steps in plain Python, with the queue found by bisection instead of Newton's steps."""

    def __init__(self, case: Case) -> None:
        self.case = case
        model = case.model
        self.queue, self.age, self.work = ([0.0] * model.m for _ in range(3))
        self.cost = list(model.cost)
        self.share = [1.0] * model.m
        self.coming = [0.0] * len(model.reader)
        self.stream_age, self.stream_work, self.given = ([0.0] * len(model.streams) for _ in range(3))
        self.latency = [0.0] * len(model.outputs)

    def step(self, amounts: Floats) -> None:
        model = self.case.model
        for port, stream in enumerate(model.read):
            if stream < len(model.sources):
                self.coming[port] += amounts[stream]
        for j in range(model.m):
            self.take_in(j)
        passing = [self.serve(i) for i in range(self.case.cluster.n)]
        for j in range(model.m):
            self.give_out(j, *passing[self.case.places[j]])

    def take_in(self, j: int) -> None:
        model = self.case.model
        places = self.case.places
        ports = [port for port in range(len(model.reader)) if model.reader[port] == j]
        total = sum(self.coming[port] for port in ports)
        if total > 0:
            age = self.queue[j] * self.age[j]
            work = self.queue[j] * self.work[j]
            for port in ports:
                stream = model.read[port]
                makers = [q for q in range(model.m) if model.first[q] <= stream < model.first[q + 1]]
                hop = float(np.asarray(self.case.cluster.delay)[places[makers[0]], places[j]]) if makers else 0.0
                same = bool(makers) and places[makers[0]] == places[j]
                age += self.coming[port] * (self.stream_age[stream] + (0.0 if same else hop))
                work += self.coming[port] * self.stream_work[stream]
            right = sum(self.coming[port] for port in ports if model.side[port] == 1)
            self.queue[j] += total
            self.age[j] = age / self.queue[j]
            self.work[j] = work / self.queue[j]
            if model.join[j] >= 0:
                self.share[j] = (model.left[j] + model.right[j]) * (total - right) * right / (STEP * total)
                self.cost[j] = model.cost[j] + model.pair_cost[j] * self.share[j]
        for port in ports:
            self.coming[port] = 0.0

    def serve(self, i: int) -> tuple[float, float]:
        """The share of its queues that a node serves, and the time that tuples wait."""
        model = self.case.model
        slow = 1 / self.case.cluster.capacities[i]
        own = [j for j in range(model.m) if self.case.places[j] == i]
        total = sum(self.queue[j] for j in own)
        mean = sum(self.queue[j] * self.cost[j] * slow for j in own) / total if total > 0 else 0.0
        if mean <= 0:
            return 1.0, 0.0
        second = sum(self.queue[j] * (self.cost[j] * slow) ** 2 * (1 + model.spread[j] ** 2) for j in own) / total
        left = bisect(total, STEP / mean, max(0.0, second / mean**2 - 1))
        served = total - left
        return served / total, max(0.0, left * STEP / served - mean) if served > 0 else 0.0

    def give_out(self, j: int, share: float, waiting: float) -> None:
        model = self.case.model
        served = self.queue[j] * share
        if served <= 0:
            return
        took = self.cost[j] / self.case.cluster.capacities[self.case.places[j]]
        self.queue[j] -= served
        for stream in range(model.first[j], model.first[j + 1]):
            amount = served * self.share[j] * model.selectivity[stream]
            self.given[stream] += amount
            self.stream_age[stream] = self.age[j] + waiting + took
            self.stream_work[stream] = self.work[j] + took
            if model.output[stream] >= 0:
                self.latency[model.output[stream]] += amount * self.stream_age[stream]
            for port, read in enumerate(model.read):
                self.coming[port] += amount if read == stream else 0.0


def bisect(before: float, most: float, spread: float) -> float:
    """The queue x with x + most G(x) = before, G being the utilisation of an M/G/1 queue of that length."""
    low = 0.0
    high = before
    for _ in range(200):
        x = (low + high) / 2
        load = 2 * x / (1 + x + math.sqrt(x * x + 2 * spread * x + 1))
        low, high = (x, high) if x + most * load < before else (low, x)
    return (low + high) / 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_the_fluid_core_equals_its_twin(case: Case) -> None:
    rng = np.random.default_rng(case.seed)
    amounts = rng.uniform(0, 0.5, (len(case.model.sources), 40))
    fluid = Fluid(case.model, case.cluster, case.places, STEP)
    twin = Twin(case)
    fluid.feed(list(amounts))
    fluid.advance(40 * STEP)
    for t in range(40):
        twin.step(amounts[:, t])
    assert fluid.flow.queue == pytest.approx(twin.queue, rel=1e-6, abs=1e-9)
    assert fluid.counts.given == pytest.approx(twin.given, rel=1e-6, abs=1e-9)
    assert fluid.counts.latency == pytest.approx(twin.latency, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("spread", [0.0, 1.0], ids=["M/D/1", "M/M/1"])
def test_a_stable_queue_has_the_length_of_pollaczek_and_khinchine(load: float, spread: float) -> None:
    model = chain(0.01).with_spread(spread)
    one = np.zeros(1, dtype=np.int64)
    outcome = simulate(model, [Poisson(100 * load)], SimulatedCluster(1), one, seconds=100, warmup=60, mode="fluid")
    expected = 0.01 + load * 0.01 * (1 + spread**2) / (2 * (1 - load))
    assert outcome.summary["latency_mean"] == pytest.approx(expected, rel=1e-3)
    assert outcome.summary["utilisation_mean"] == pytest.approx(load, rel=1e-6)
    assert outcome.summary["queued_mean"] == pytest.approx(100 * load * expected, rel=1e-3)  # Little's law


def test_an_overloaded_queue_grows_by_the_excess_rate() -> None:
    one = np.zeros(1, dtype=np.int64)
    outcome = simulate(chain(0.0125), [Constant(100.0)], SimulatedCluster(1), one, seconds=100, mode="fluid")
    assert outcome.summary["queued"] == pytest.approx(100 * (100 - 80), rel=0.01)


def test_no_tuple_appears_or_vanishes() -> None:
    model = chain(0.01, 0.02, 0.03, selectivity=0.75)
    fluid = Fluid(model, SimulatedCluster(2), np.array([0, 1, 0]))
    fluid.feed([np.full(1000, 0.7)])
    fluid.advance(10.0)
    counts = fluid.counts
    flow = fluid.flow
    assert counts.arrived.sum() + counts.given[1:3].sum() == pytest.approx(
        counts.taken.sum() + flow.queue.sum() + flow.coming.sum()
    )


def test_events_and_fluid_agree_where_both_run() -> None:
    """Bursts that overload their node for a while; the table of differences is in benchmarks/simulator.py."""
    model = chain(0.01, 0.005, selectivity=0.8)
    found = {}
    modes: tuple[Mode, ...] = ("event", "fluid")
    for mode in modes:
        runs = [
            simulate(
                model,
                [OnOff(75.0)],
                SimulatedCluster(2, delay=0.1),
                np.array([0, 1]),
                seconds=200,
                seed=seed,
                mode=mode,
            )
            for seed in range(4)
        ]
        found[mode] = np.mean([[run.summary["latency_mean"], run.summary["tuples_out"]] for run in runs], axis=0)
    assert found["fluid"] == pytest.approx(found["event"], rel=0.2)


def test_the_fluid_mode_has_joins_and_lost_nodes() -> None:
    model = joined(rate=20.0, share=0.1)
    work = [Poisson(20.0), Poisson(20.0)]
    cluster = SimulatedCluster(2, node_events=(Kill(5.0, 0),))
    outcome = simulate(model, work, cluster, np.zeros(1, dtype=np.int64), seconds=50, warmup=10, mode="fluid")
    assert outcome.places == (1,)
    assert outcome.summary["tuples_out"] == pytest.approx(0.1 * 40 * 40, rel=0.02)
    assert outcome.summary["load_mean"] == pytest.approx(40 * 1e-4, rel=0.02)
