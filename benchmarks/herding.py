"""Assigning small queries: queries per second, and traffic compared with LeastCost and a hypergraph partitioner.

One core, processor seconds, without compiling. All sides use the same seeds, and every assignment is checked. The seeds
differ from those on which the policies were chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from numpy.random import default_rng

from benchmarks.compare import Outcome
from benchmarks.sides import say
from drover.herding.herd import Herd
from drover.herding.online.play import play
from drover.herding.online.state import empty_state
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Flags, Floats, Ints
from drover_lab.herding import twins
from drover_lab.herding.anneal import improve
from drover_lab.herding.bulk import assign_in_bulk, process_in_bulk
from drover_lab.herding.faults import faults, online_limits
from drover_lab.herding.generate import Workload, churn, generate
from drover_lab.herding.greedy import least_server_rare
from drover_lab.herding.policy import OFFLINE, assign
from drover_lab.herding.score import replication
from drover_lab.herding.sequences import assign_online, rules_of, store_of, watch

SEEDS = range(101, 111)
LIFETIMES = {10_000: 300_000, 100_000: 600_000, 1_000_000: 1_500_000}  # mean steps, and arrivals
SHORT = 2.0  # seconds
SETTLED = 0.5  # of the moments looked at, the last part counts


def seconds(action: Callable[[], object], times: int = 5) -> float:
    """The least processor time of some runs, after one that compiles."""
    action()
    found = []
    for _ in range(times):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def checked(problem: HerdingProblem, servers: Ints, limits: Floats | None = None) -> float:
    """The replication factor of an assignment that keeps its limits."""
    wrong = [fault.text for fault in faults(problem, servers, limits)]
    if wrong:
        raise RuntimeError(wrong[0])
    return replication(problem, servers)


def one_by_one(problem: HerdingProblem, name: str, queries: Ints, arrives: Flags) -> Ints:
    """The engine for any weights and rates: the naive reference for the one for equal ones."""
    rules = rules_of(problem, name)
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    play(state, rules, store, queries, arrives, np.zeros(len(queries)))
    return store.server


def measure_speed(outcome: Outcome, quick: bool) -> None:
    n = 100_000 if quick else 1_000_000
    for k, wanted in ((100, 10.0), (1000, 4.0)):
        problem = generate(Workload(queries=n, servers=k), default_rng(100))
        took = seconds(partial(assign_in_bulk, problem, "least-cost"))
        found = assign_in_bulk(problem, "least-cost")
        same = (found == one_by_one(problem, "least-cost", np.arange(n), np.ones(n, dtype=np.bool_))).all()
        outcome.figures[f"LeastCost, k={k}, n={n}: million per second"] = n / took / 1e6
        outcome.figures[f"LeastCost, k={k}: as one by one"] = str(bool(same))
        outcome.ratios[f"least_cost_k{k}_against_{wanted:g}M_per_s"] = n / took / 1e6 / wanted if same else 0.0
        outcome.targets[f"least_cost_k{k}_against_{wanted:g}M_per_s"] = 1.0
        say(f"k={k}: {n / took / 1e6:.1f} million assignments per second")
    small = generate(Workload(queries=600, servers=20), default_rng(100))
    naive = twins.assign_online(small, "least-cost", np.zeros(small.n))
    outcome.figures["LeastCost, n=600: as plain Python"] = str(
        bool((assign_in_bulk(small, "least-cost") == naive).all())
    )
    problem = generate(Workload(queries=n), default_rng(100))
    events = churn(n, n / 10, default_rng(100))
    pairs = int((~events.arrives).sum())
    took = seconds(lambda: process_in_bulk(problem, "least-cost", events.query, events.arrives), 3)
    same = (
        process_in_bulk(problem, "least-cost", events.query, events.arrives)
        == one_by_one(problem, "least-cost", events.query, events.arrives)
    ).all()
    outcome.figures["with departures: million pairs per second"] = pairs / took / 1e6
    outcome.ratios["pairs_against_0.8M_per_s"] = pairs / took / 8e5 if same else 0.0
    outcome.targets["pairs_against_0.8M_per_s"] = 1.0
    for name in ("least-cost", "gather"):
        took = seconds(partial(one_by_one, problem, name, events.query, events.arrives), 1)
        outcome.figures[f"{name}, any weights and rates: million pairs per second"] = pairs / took / 1e6


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def measure_online(outcome: Outcome, quick: bool) -> None:
    grids = {"default": (Workload(), SEEDS[:2] if quick else SEEDS, 0.90)}
    if not quick:
        grids["k=1000, n=10^6"] = (Workload(queries=1_000_000, servers=1000), SEEDS, 0.86)
    for what, (workload, seeds, wanted) in grids.items():
        found: dict[str, list[float]] = {"least-cost": [], "rare-first": [], "gather": []}
        for seed in seeds:
            problem = generate(workload, default_rng(seed))
            for name, values in found.items():
                values.append(checked(problem, assign_online(problem, name, default_rng(0)), online_limits(problem)))
        ratios = np.array(found["gather"]) / np.array(found["least-cost"])
        for name, values in found.items():
            outcome.figures[f"online, {what}: {name}"] = mean(values)
        outcome.figures[f"online, {what}: worst seed of gather"] = float(ratios.max())
        key = f"online_{what.replace(', ', '_')}_against_{wanted}"
        outcome.ratios[key] = wanted * mean(found["least-cost"]) / mean(found["gather"])
        outcome.targets[key] = 1.0
        say(f"{what}: {ratios.round(3).tolist()}")


def measure_churn(outcome: Outcome, quick: bool) -> None:
    for lifetime, arrivals in list(LIFETIMES.items())[: 1 if quick else None]:
        found: dict[str, list[float]] = {"least-cost": [], "gather": []}
        for seed in SEEDS[: 1 if quick else 3]:
            problem = generate(Workload(queries=arrivals), default_rng(seed))
            events = churn(arrivals, lifetime, default_rng(seed + 1000))
            for name, values in found.items():
                moments = list(watch(problem, name, events, default_rng(0), looks=20))
                values.append(mean(m.replication for m in moments[int(SETTLED * len(moments)) :]))
        for name, values in found.items():
            outcome.figures[f"life time {lifetime}: {name}"] = mean(values)
        key = f"life_time_{lifetime}_against_0.94"
        outcome.ratios[key] = 0.94 * mean(found["least-cost"]) / mean(found["gather"])
        outcome.targets[key] = 1.0
        say(f"life time {lifetime}: {found}")


def refined(problem: HerdingProblem, name: str, share: float, steps: int = 10) -> tuple[float, float]:
    """The replication factor if a fraction of the queries may move after every tenth of the arrivals; and that
    fraction.
    """
    herd = Herd(problem.rate, problem.capacity, default_rng(0), name)
    moved = 0
    cuts = np.linspace(0, problem.n, steps + 1).astype(np.int64)
    for begin, end in pairwise(cuts.tolist()):
        first = problem.start[begin]
        last = problem.start[end]
        herd.arrive_many(problem.start[begin : end + 1] - first, problem.source[first:last])
        moved += len(herd.refine(queries=share * end - moved))
    found = checked(problem, herd.snapshot().server, online_limits(problem))
    return found, moved / problem.n


def measure_moves(outcome: Outcome, quick: bool) -> None:
    found = []
    plain = []
    moves = []
    for seed in SEEDS[: 1 if quick else 5]:
        problem = generate(Workload(), default_rng(seed))
        plain.append(replication(problem, assign_online(problem, "least-cost", default_rng(0))))
        factor, share = refined(problem, "gather", 0.02)
        found.append(factor)
        moves.append(share)
    outcome.figures["at most 2 % moves: gather, refined"] = mean(found)
    outcome.figures["at most 2 % moves: moved"] = f"{max(moves):10.2%}"
    outcome.ratios["moves_against_0.88"] = 0.88 * mean(plain) / mean(found)
    outcome.targets["moves_against_0.88"] = 1.0


def measure_offline(outcome: Outcome, quick: bool) -> None:
    found: dict[str, list[float]] = {}
    took: dict[str, list[float]] = {}
    names = [*(name for name in OFFLINE if name not in {"partition", "single-source"}), "least-cost"]
    names += ["partition"] if find_spec("mtkahypar") else []
    least_server_rare(generate(Workload(queries=100), default_rng(0)), default_rng(0))  # compiles
    improve(generate(Workload(queries=3000), default_rng(0)), np.arange(3000) % 100, default_rng(0))
    for seed in SEEDS[: 1 if quick else 3]:
        problem = generate(Workload(), default_rng(seed))
        for name in names:
            start = time.process_time()
            servers = assign(problem, name, default_rng(1))
            spent = time.process_time() - start
            if spent < SHORT:  # what is short is measured again, since a busy machine falsifies it most
                spent = min(spent, seconds(partial(assign, problem, name, default_rng(1)), 3))
            took.setdefault(name, []).append(spent)
            limits = online_limits(problem) if name == "least-cost" else None
            found.setdefault(name, []).append(checked(problem, servers, limits))
            say(f"seed {seed}, {name}: {found[name][-1]:.4f} in {took[name][-1]:.1f} s")
    for name in names:
        outcome.figures[f"offline: {name}"] = mean(found[name])
        outcome.figures[f"offline: {name}, s"] = float(np.median(took[name]))
    for name in ("mms-rare", "polished"):
        key = name.replace("-", "_")
        outcome.ratios[f"{key}_against_0.82"] = 0.82 * mean(found["least-cost"]) / mean(found[name])
        outcome.ratios[f"{key}_against_1_s"] = 1 / float(np.median(took[name]))
    outcome.ratios["annealed_against_30_s"] = 30 / max(took["annealed"])
    outcome.targets |= {"polished_against_0.82": 1.0, "polished_against_1_s": 1.0, "annealed_against_30_s": 1.0}
    if "partition" in found:
        outcome.ratios["annealed_against_1.01_mtkahypar"] = 1.01 * mean(found["partition"]) / mean(found["annealed"])
        outcome.targets["annealed_against_1.01_mtkahypar"] = 1.0


def bench(quick: bool) -> Outcome:
    outcome = Outcome("herding")
    measure_speed(outcome, quick)
    measure_online(outcome, quick)
    measure_churn(outcome, quick)
    measure_moves(outcome, quick)
    measure_offline(outcome, quick)
    return outcome
