from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.random import Generator, default_rng

from drover.errors import ProblemError
from drover.load.arrays import Ints
from drover.load.profile import Origin, make_profile
from drover.load.series import given_series
from drover.placement.model import unit_names
from drover.placement.problem import PlacementProblem
from drover.sim.cluster import Add, Drain, Kill, Migration, NodeEvent, SimulatedCluster
from drover.sim.control import SimulatedControl, decider, problem_at
from drover.sim.engine import Engine
from drover.sim.meter import SimulatedPeriods, empty_history, statistics_of
from drover.sim.model import Model, model_of
from drover.sim.outcome import SimulationResult
from drover.sim.run import simulate
from drover.sim.workload import Poisson, periodic
from drover_lab.generate import ChainParameters, chains
from drover_lab.placement.instances import chain_problem
from tests.sim.cases import Case, cases, chain, joined

NODES = 5
FREE = Migration(fixed=0.0)


def default_model(seed: int = 0) -> Model:
    return model_of(make_profile(chains(default_rng(seed), ChainParameters(chains=NODES))))


def whole() -> Ints:
    return np.repeat(np.arange(NODES), 10)


def watched(model: Model, rates: list[float], nodes: int = 1, seconds: int = 20) -> SimulatedPeriods:
    """The ledger after a run with these rates."""
    engine = Engine(model, SimulatedCluster(nodes), np.arange(model.m) % nodes)
    rng = default_rng(0)
    times = [np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds))) for rate in rates]
    engine.feed(times)
    history = empty_history(model, 10)
    for number in range(seconds):
        engine.advance(number + 1.0)
        history = history.push(1.0, engine.take_counts(number + 1.0))
    return history


def problem(history: SimulatedPeriods, nodes: int = 2) -> PlacementProblem:
    units = len(history.model.units)
    none = np.full(units, -1)
    return problem_at(history, np.ones(nodes), none, none, np.zeros(units), np.ones(nodes, dtype=np.bool_))


def test_measured_load_equals_the_cost_of_the_network() -> None:
    model = chain(0.001, 0.002, selectivity=0.5)
    found = problem(watched(model, [200.0]))
    assert found.load == pytest.approx([200 * 0.001, 100 * 0.002], rel=0.1)
    assert found.coefficients[:, 0] == pytest.approx([0.001, 0.001], rel=0.1)
    assert found.series.shape == (2, 10)


def test_an_overloaded_node_does_not_hide_the_load_behind_it() -> None:
    model = chain(0.01, 0.01)
    found = problem(watched(model, [200.0], nodes=2))
    assert found.load == pytest.approx([2.0, 2.0], rel=0.1)  # 200 tuples per second of 0.01 s each, twice


def test_a_join_that_runs_has_the_load_of_the_profile() -> None:
    model = joined(rate=30.0, cost=1e-3)
    found = problem(watched(model, [30.0, 30.0], seconds=60))
    assert found.load == pytest.approx([60 * 1e-3], rel=0.1)
    doubled = problem(watched(model, [60.0, 60.0], seconds=60))
    assert doubled.load == pytest.approx([4 * 60 * 1e-3], rel=0.1)  # pairs grow with the square


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_profile_made_again_from_itself_is_the_same(case: Case) -> None:
    profile = case.model.profile
    again = make_profile(profile.network, [(Origin.GIVEN, statistics_of(profile))])
    names = unit_names(profile.network)
    rates = {name: [1.0, 3.0] for name in profile.rates}
    assert given_series(again, rates, names).values == pytest.approx(given_series(profile, rates, names).values)


def run(
    control: SimulatedControl | None, *node_events: NodeEvent, load: float = 0.7, migration: Migration = FREE
) -> SimulationResult:
    """Five chains of ten, whole on their nodes at the start, for a minute."""
    rates = chain_problem(0, nodes=NODES, load=load).rates
    cluster = SimulatedCluster(NODES, migration=migration, node_events=node_events)
    work = periodic(rates, default_rng(0))
    return simulate(default_model(), work, cluster, whole(), control, seconds=60, warmup=20, seed=1)


def test_a_plan_made_after_the_warm_up_is_better_than_the_first() -> None:
    before = run(None)
    after = run(SimulatedControl(first="steady"))
    assert before.moves.is_empty()
    assert set(after.moves["time"]) == {20.0}
    assert after.summary["latency_ratio"] < 0.2 * before.summary["latency_ratio"]
    assert after.summary["load_std"] < 0.5 * before.summary["load_std"]


def test_pairs_of_nodes_balance_round_by_round() -> None:
    outcome = run(SimulatedControl(policy="cor-se-imp"), migration=Migration())
    assert outcome.moves["time"].n_unique() > 1
    assert outcome.summary["moved_load"] == pytest.approx(outcome.moves["load"].sum())
    assert outcome.summary["latency_ratio"] < run(None).summary["latency_ratio"]


def test_nobody_decides_before_the_first_sample() -> None:
    work = [Poisson(50.0)]
    places = np.zeros(2, dtype=np.int64)
    model = chain(0.01, 0.01)
    outcome = simulate(model, work, SimulatedCluster(2), places, SimulatedControl(policy="llf-bal"), seconds=5)
    assert outcome.moves["time"].to_list() == [1.0]
    early = SimulatedCluster(2, node_events=(Kill(0.5, 0),))
    assert simulate(model, work, early, places, SimulatedControl(policy="llf-bal"), seconds=5).places == (1, 1)


def test_a_move_suspends_for_as_long_as_it_says() -> None:
    migration = Migration(fixed=0.25, per_operator=0.5, per_byte=0.001)
    model = model_of(chain(0.01).profile, state={"o0": 1000.0})

    def away(problem: PlacementProblem, _: Generator) -> Ints:
        assert problem.state.tolist() == [1000.0]
        return np.array([1], dtype=np.int64)

    work = [Poisson(5.0)]
    places = np.zeros(1, dtype=np.int64)
    outcome = simulate(
        model,
        work,
        SimulatedCluster(2, migration=migration),
        places,
        SimulatedControl(first=away),
        seconds=20,
        warmup=10,
    )
    (suspended,) = outcome.moves["suspended"].to_list()
    assert 1.75 <= suspended <= 1.75 + 0.01  # and the rest of a service that had begun
    assert outcome.summary["latency_max"] == pytest.approx(1.75, abs=0.5)
    assert outcome.places == (1,)


def test_decisions_are_made_every_period_from_a_samples_window() -> None:
    seen: list[tuple[int, int]] = []

    def look(problem: PlacementProblem, _: Generator) -> Ints:
        seen.append((problem.series.shape[1], problem.n))
        return problem.current

    control = SimulatedControl(policy=look, period=2.0, window=8, sample=0.5, begin=1.0)
    simulate(
        chain(0.01), [Poisson(5.0)], SimulatedCluster(2), np.zeros(1, dtype=np.int64), control, seconds=10, warmup=4
    )
    assert seen == [(2, 2), (6, 2), (8, 2), (8, 2), (8, 2)]


@pytest.mark.parametrize("policy", ["cor-bal", "correlation", None])
def test_units_of_a_lost_node_continue_elsewhere_and_lose_tuples(policy: str | None) -> None:
    control = None if policy is None else SimulatedControl(policy=policy)
    outcome = run(control, Kill(30.0, 2), load=0.9)
    assert 2 not in outcome.places
    assert outcome.summary["tuples_lost"] > 0
    worked = outcome.nodes.filter(node=2)["utilisation"].to_list()
    assert worked[29] > 0
    assert set(worked[30:]) == {0.0}
    moved = outcome.moves.filter(time=30.0)
    assert set(moved["source"]) >= {2}
    assert moved.filter(source=2)["suspended"].min() == pytest.approx(1.0)


def test_nothing_is_lost_when_tuples_are_replayed() -> None:
    outcome = run(None, Kill(30.0, 2, outage=5.0, replay=True), load=0.5)
    assert outcome.summary["tuples_lost"] == 0
    assert outcome.summary["latency_max"] > 4.0
    assert set(outcome.moves["source"]) == {2}


def test_a_drained_node_is_empty_and_nothing_is_lost() -> None:
    outcome = run(None, Drain(30.0, 4), load=0.5)
    assert 4 not in outcome.places
    assert outcome.summary["tuples_lost"] == 0
    assert outcome.nodes.filter(node=4)["queued"].to_list()[31:] == [0.0] * 29


def test_an_added_node_is_used() -> None:
    outcome = run(SimulatedControl(policy="correlation", period=10.0), Add(30.0, 2.0), load=0.9)
    worked = outcome.nodes.filter(node=NODES)["utilisation"].to_list()
    assert set(worked[:30]) == {0.0}
    assert worked[-1] > 0.2


@pytest.mark.parametrize(
    ("node_events", "words"),
    [
        pytest.param((Kill(1.0, 2), Kill(2.0, 2)), "is not there at that time", id="killed twice"),
        pytest.param((Add(9.0), Drain(2.0, NODES)), "is not there at that time", id="not there yet"),
        pytest.param(tuple(Kill(1.0, i) for i in range(NODES)), "is the last one", id="all of them"),
    ],
)
def test_removing_a_missing_or_the_last_node_is_refused(node_events: tuple[NodeEvent, ...], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        run(None, *node_events)


def test_a_policy_by_name_moves_no_more_than_its_rounds() -> None:
    problem = chain_problem(0, nodes=NODES, load=0.9)
    start = whole()
    step = decider("cor-bal", rounds=1)(replace(problem, current=start), default_rng(0))
    assert 0 < (step != start).sum() < 50
    with pytest.raises(ProblemError, match="no policy of that name"):
        SimulatedControl(policy="cor-ball")


def test_the_same_seed_gives_the_same_run_in_another_process() -> None:
    code = "from tests.sim import test_control as t; print(t.run(t.SimulatedControl(policy='rand-bal')).summary)"
    found = [
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment(n))
        for n in ("1", "2")
    ]
    here = str(run(SimulatedControl(policy="rand-bal")).summary)
    assert [each.stdout.strip() for each in found] == [here, here]


def environment(threads: str) -> dict[str, str]:
    """As here, with another hash seed and number of threads."""
    paths = os.pathsep.join(path for path in (*sys.path, str(Path.cwd())) if path)
    return {**os.environ, "PYTHONHASHSEED": threads, "NUMBA_NUM_THREADS": threads, "PYTHONPATH": paths}
