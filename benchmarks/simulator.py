"""The speed of the simulator, and its results for plans near saturation.

The default experiment of [Xing05]: 20 nodes, 20 chains of 10 operators of 1 ms, and a periodic load with evenly spaced
offsets. The peer is SimPy, with the same arrivals and random numbers; its latencies must be equal. Times are processor
time, with one thread on either side.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Iterable

import numpy as np
from numpy.random import default_rng

from benchmarks.compare import Outcome
from benchmarks.peer import run_chains
from benchmarks.placement import exponent
from benchmarks.sides import say
from drover.load.arrays import Floats, Ints
from drover.load.profile import Origin, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.placement.policy import propose
from drover.sim.arrivals import begin, streams_of
from drover.sim.cluster import SimulatedCluster
from drover.sim.control import SimulatedControl
from drover.sim.engine import Engine
from drover.sim.model import Model, model_of
from drover.sim.run import Mode, simulate
from drover.sim.workload import Periodic, periodic
from drover_lab.generate import ChainParameters, chains
from drover_lab.placement.instances import chain_problem

SPEED = 10e6  # invocations per second
FASTER = 80.0  # times SimPy's speed
LOAD = 0.9
MINUTES = 300.0  # virtual seconds of the default experiment
FIRST, GRAPHS = 200, 50  # seeds near saturation; ten vary by a third, too much for a verdict
MODES: tuple[Mode, ...] = ("event", "fluid")


def default_case(
    seed: int = 0, *, nodes: int = 20, load: float = LOAD, policy: str = "steady", length: int = 10
) -> tuple[Model, tuple[Periodic, ...], Ints]:
    """The network, its workload and a plan made from a window of ten seconds."""
    if length == 10:
        problem = chain_problem(seed, nodes=nodes, load=load)
        means = problem.rates
        places = propose(problem, policy, default_rng(seed))
    else:
        means = np.full(nodes, load * 1000 / length)
        places = np.arange(nodes * length) % nodes
    spread = (0.8, 1.2) if length == 10 else (1.0, 1.0)
    network = chains(default_rng(seed), ChainParameters(chains=nodes, length=length, selectivity=spread))
    return model_of(make_profile(network)), periodic(means, default_rng(seed)), places


def uneven(model: Model) -> Model:
    """The same with costs up to a tenth higher or lower.

    With equal costs, nodes end services at the same time up to rounding, and two simulators order them differently.
    """
    costs = default_rng(7).uniform(0.9e-3, 1.1e-3, model.m)
    said = {name: Behaviour(float(cost)) for name, cost in zip(model.operators, costs, strict=True)}
    return model_of(make_profile(model.profile.network, [(Origin.GIVEN, Statistics(operators=said))]))


def drawn(model: Model, work: tuple[Periodic, ...], stop: float) -> list[Floats]:
    return [source.before(stop) for source in begin(streams_of(work, model.sources), 0)]


def core_speed(model: Model, places: Ints, arrivals: list[Floats], stop: float, schedule: str, times: int = 5) -> float:
    """Invocations per processor second of the event core alone: the best of some runs on a shared machine."""
    best = math.inf
    for _ in range(times):
        engine = Engine(model, SimulatedCluster(int(places.max()) + 1), places[model.unit_of], schedule=schedule)
        start = time.process_time()
        engine.feed(arrivals)
        engine.advance(stop)
        best = min(best, (time.process_time() - start) / engine.served)
    return 1 / best


def compare_with_simpy(outcome: Outcome, quick: bool) -> None:
    stop = 5.0 if quick else 30.0
    model, work, places = default_case()
    model = uneven(model)
    arrivals = drawn(model, work, stop)
    core_speed(model, places, drawn(model, work, 0.1), 0.1, "fifo", 1)  # compiles
    fast = core_speed(model, places, arrivals, stop, "fifo")
    tallies: dict[str, float] = {}
    engine = Engine(model, SimulatedCluster(20), places[model.unit_of])
    engine.feed(arrivals)
    engine.advance(stop)
    for name, lean in (("SimPy", False), ("SimPy without its queues", True)):
        start = time.process_time()
        tally = run_chains(model, places[model.unit_of], arrivals, stop, 0, lean=lean)
        took = time.process_time() - start
        same = math.isclose(tally.latency, float(engine.world.counts.latency.sum()), rel_tol=1e-9)
        if (tally.invocations, tally.out) != (engine.served, engine.world.counts.out.sum()) or not same:
            raise RuntimeError(f"{name} counts {tally.invocations} invocations, the event core {engine.served}")
        tallies[name] = tally.invocations / took
        outcome.figures[f"{name}: invocations per second"] = tallies[name]
        fast = max(fast, core_speed(model, places, arrivals, stop, "fifo"))  # a machine that is busy is so for a while
    outcome.figures["event core, fifo: million invocations per second"] = fast / 1e6
    turns = core_speed(model, places, arrivals, stop, "round-robin", 10)
    outcome.figures["event core, round-robin: million invocations per second"] = turns / 1e6
    outcome.ratios["against_simpy"] = fast / tallies["SimPy"]
    outcome.ratios["against_simpy_without_its_queues"] = fast / tallies["SimPy without its queues"]
    outcome.targets["against_simpy"] = FASTER
    outcome.ratios["fifo_against_ten_million_per_second"] = fast / SPEED
    outcome.targets["fifo_against_ten_million_per_second"] = 1.0


def time_default(outcome: Outcome, quick: bool) -> None:
    model, work, places = default_case()
    long = 30.0 if quick else MINUTES
    control = SimulatedControl(policy="cor-se-imp")
    simulate(model, work, SimulatedCluster(20), places, control, seconds=3.0, warmup=1.0)  # compiles
    for name, mode, loop in (("event", MODES[0], None), ("fluid", MODES[1], None), ("COR-SE-IMP", MODES[0], control)):
        start = time.process_time()
        simulate(model, work, SimulatedCluster(20), places, loop, seconds=long, warmup=10, mode=mode)
        outcome.figures[f"default experiment, {long:g} s, {name}: seconds"] = time.process_time() - start


def time_sizes(outcome: Outcome, quick: bool) -> None:
    sizes = [10, 20, 50] if quick else [10, 20, 50, 100, 200]
    took = []
    for n in sizes:
        model, work, places = default_case(nodes=n, policy="largest-first")
        speed = core_speed(model, places, drawn(model, work, 100.0 / n), 100.0 / n, "fifo", 3)
        took.append(1 / speed)
        outcome.figures[f"n={n}, m={10 * n}: million invocations per second"] = speed / 1e6
    outcome.figures["an invocation's time grows with n to the power of"] = exponent(sizes, took)
    lengths = [5, 10, 20, 40]
    took = []
    for length in lengths:
        model, work, places = default_case(length=length)
        speed = core_speed(model, places, drawn(model, work, 5.0), 5.0, "fifo", 3)
        took.append(1 / speed)
        outcome.figures[f"n=20, m={20 * length}: million invocations per second"] = speed / 1e6
    outcome.figures["an invocation's time grows with m to the power of"] = exponent(lengths, took)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(outcome: Outcome, quick: bool) -> None:
    model, work, places = default_case()
    found = []
    for long in (200.0, 400.0 if quick else 4000.0):
        simulate(model, work, SimulatedCluster(20), places, seconds=long, sample=10.0)
        found.append(peak_megabytes())
        outcome.figures[f"peak memory after {long:g} virtual seconds, MB"] = found[-1]
    outcome.figures["growth of peak memory, MB"] = found[1] - found[0]


def ratios_of(policy: str, load: float, seeds: Iterable[int], mode: Mode = "event") -> list[float]:
    """Latency ratios over 100 s after a warm-up of 20 s."""
    found = []
    for seed in seeds:
        model, work, places = default_case(seed, load=load, policy=policy)
        run = simulate(model, work, SimulatedCluster(20), places, seconds=120, warmup=20, seed=seed, mode=mode)
        found.append(run.summary["latency_ratio"])
    return found


def compare_plans(outcome: Outcome, quick: bool) -> None:
    seeds = range(FIRST, FIRST + (2 if quick else GRAPHS))
    means = {}
    for policy in ("correlation", "steady", "largest-first"):
        found = ratios_of(policy, 0.95, seeds)
        means[policy] = float(np.mean(found))
        outcome.figures[f"load 0.95, {policy}: mean latency ratio"] = means[policy]
        outcome.figures[f"load 0.95, {policy}: median latency ratio"] = float(np.median(found))
        outcome.figures[f"load 0.95, {policy}: standard error"] = float(np.std(found, ddof=1) / len(found) ** 0.5)
        say(f"{policy}: {', '.join(f'{each:.1f}' for each in found)}")
    outcome.ratios["steady_against_correlation_at_095"] = means["correlation"] / means["steady"]
    outcome.targets["steady_against_correlation_at_095"] = 5.0


def compare_modes(outcome: Outcome, quick: bool) -> None:
    for load in (0.5, 0.9) if quick else (0.5, 0.7, 0.8, 0.9, 0.95, 0.98):
        for policy in ("whole", "largest-first", "steady"):
            event, fluid = (float(np.mean(ratios_of(policy, load, range(3), mode))) for mode in MODES)
            shown = f"{event:10.2f} {fluid:10.2f} {100 * (fluid / event - 1):+8.1f} %"
            outcome.figures[f"event, fluid: load {load}, {policy}"] = shown


def bench(quick: bool) -> Outcome:
    outcome = Outcome("simulator")
    compare_with_simpy(outcome, quick)
    time_default(outcome, quick)
    time_sizes(outcome, quick)
    measure_memory(outcome, quick)
    compare_plans(outcome, quick)
    compare_modes(outcome, quick)
    return outcome
