"""Queues whose answers are known: means within four standard errors of ten runs, and these below 2 % of the mean."""

from __future__ import annotations

import numpy as np
import pytest

from drover.load.profile import make_profile
from drover.network.build import Builder
from drover.sim.cluster import SimulatedCluster
from drover.sim.engine import Engine
from drover.sim.model import Model, model_of
from drover.sim.outcome import SimulationResult
from drover.sim.run import Schedule, simulate
from drover.sim.workload import Constant, Poisson
from tests.sim.cases import COLUMNS, chain

RUNS = 10
RATE = 10.0
COST = 0.08  # with this rate, a utilisation of 0.8
ONE = SimulatedCluster(1)


def runs(model: Model, cluster: SimulatedCluster = ONE, seconds: float = 21_000) -> list[SimulationResult]:
    places = np.arange(len(model.units)) % cluster.n
    return [
        simulate(model, [Poisson(RATE)], cluster, places, seconds=seconds, warmup=1000, seed=seed, sample=1000)
        for seed in range(RUNS)
    ]


def agree(found: list[float], expected: float) -> None:
    """Assert that the mean is what it should be, and that this says something."""
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.02 * expected
    assert abs(np.mean(found) - expected) < 4 * error


@pytest.mark.parametrize("spread", [0.0, 0.5, 1.0], ids=["M/D/1", "M/G/1", "M/M/1"])
def test_the_waiting_time_is_that_of_pollaczek_and_khinchine(spread: float) -> None:
    found = [run.summary for run in runs(chain(COST).with_spread(spread))]
    waiting = [each["latency_mean"] - each["processing_mean"] for each in found]
    load = RATE * COST
    agree(waiting, load * COST * (1 + spread**2) / (2 * (1 - load)))


def test_number_in_system_is_rate_times_latency() -> None:
    model = chain(COST).with_spread(1.0)
    for seed in range(2):
        run = simulate(
            model, [Poisson(RATE)], SimulatedCluster(1), np.zeros(1, dtype=np.int64), seconds=10_000, seed=seed
        )
        seen = run.summary
        rate = seen["tuples_in"] / seen["seconds"]
        assert seen["queued_mean"] == pytest.approx(rate * seen["latency_mean"], rel=0.03)


def test_queues_in_a_row_behave_like_single_queues() -> None:
    model = chain(COST, COST / 2).with_spread(1.0)
    expected = COST / (1 - 0.8) + COST / 2 / (1 - 0.4)
    agree([run.summary["latency_mean"] for run in runs(model, SimulatedCluster(2))], expected)
    agree([run.summary["latency_mean"] for run in runs(model, SimulatedCluster(2, delay=0.5))], expected + 0.5)


def test_a_faster_node_has_the_effect_of_less_work() -> None:
    one = [run.summary["latency_mean"] for run in runs(chain(COST), seconds=2000)]
    other = [
        run.summary["latency_mean"] for run in runs(chain(2 * COST), SimulatedCluster(np.array([2.0])), seconds=2000)
    ]
    assert one == pytest.approx(other, rel=1e-9)


def two_queries() -> Model:
    builder = Builder("two")
    for name in ("a", "b"):
        builder.source(name, COLUMNS, time="ts").synthetic(f"{name}0", cost=0.04).output()
    return model_of(make_profile(builder.build()))


def test_the_order_of_service_does_not_change_the_mean() -> None:
    """Equal services, one node: any order that never idles has as many tuples in the system at any time."""
    found = []
    schedules: tuple[Schedule, ...] = ("fifo", "round-robin")
    for schedule in schedules:
        work = [Poisson(15), Poisson(8)]
        places = np.zeros(2, dtype=np.int64)
        found.append(
            simulate(two_queries(), work, SimulatedCluster(1), places, seconds=500, schedule=schedule, quantum=3)
        )
    fifo, turns = found
    assert fifo.periods["queued"].to_list() == turns.periods["queued"].to_list()
    assert fifo.nodes["utilisation"].to_list() == pytest.approx(turns.nodes["utilisation"].to_list())
    assert fifo.summary["latency_mean"] == pytest.approx(turns.summary["latency_mean"], rel=1e-3)
    assert fifo.summary["latency_p99"] != turns.summary["latency_p99"]


def test_an_overloaded_queue_grows_by_the_excess_rate() -> None:
    run = simulate(chain(0.125), [Constant(10.0)], SimulatedCluster(1), np.zeros(1, dtype=np.int64), seconds=1000)
    assert run.summary["queued"] == pytest.approx(1000 * (10 - 8), abs=2)
    assert run.summary["utilisation_mean"] == pytest.approx(1.0, abs=1e-3)
    assert run.summary["overload_time"] == 1.0


@pytest.mark.parametrize(
    ("schedule", "ends"),
    [
        pytest.param("fifo", [(1.0, 0), (2.0, 0), (2.5, 1), (3.0, 1)], id="in order of arrival"),
        pytest.param("round-robin", [(1.0, 0), (1.5, 1), (2.5, 0), (3.0, 1)], id="in turn"),
    ],
)
def test_a_trace_by_hand(schedule: str, ends: list[tuple[float, int]]) -> None:
    """Two tuples, at 0 and 0.25, through operators of 1 s and 0.5 s on one node."""
    engine = Engine(
        chain(1.0, 0.5), SimulatedCluster(1), np.zeros(2, dtype=np.int64), schedule=schedule, quantum=1, log=10
    )
    engine.feed([np.array([0.0, 0.25])])
    engine.advance(10.0)
    counts = engine.world.counts
    assert list(zip(counts.log_time[:4].tolist(), counts.log_place[:4, 1].tolist(), strict=True)) == ends
    assert counts.latency.tolist() == [3.0 + ends[[port for _, port in ends].index(1)][0] - 0.25]
    assert counts.longest.tolist() == [2.75]
    assert counts.work.tolist() == [3.0]
