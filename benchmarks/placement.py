"""The time of placing: kernels against the text's own figures, and against its pseudo-code in plain numpy.

Single thread, without compiling. The text's figures (table 1 of [Xing05]) are from a machine of 2005.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import default_rng

from benchmarks.compare import Outcome
from drover.load.arrays import Ints
from drover.placement.correlation import twins as plain_correlation
from drover.placement.correlation.pairwise import METHODS, run_round
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import PlacementProblem
from drover.placement.resilient import twins as plain_resilient
from drover.placement.resilient.place import place_resilient, rate_box
from drover.placement.search.feasible import place_searched
from drover.placement.search.steady import descend
from drover_lab.placement.instances import chain_problem, tree_problem

PRINTED = {10: 0.5, 20: 3.4, 50: 54.0}  # seconds for n nodes and 10 n operators
PLAIN = (10, 20)  # nodes for which the pseudo-code in numpy is waited for
FASTER = 1000.0  # than printed


def seconds(action: Callable[[], object], times: int = 7) -> float:
    """The median of some runs, after one that compiles."""
    action()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def exponent(sizes: list[int], took: list[float]) -> float:
    """The exponent with which time grows with size, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(took), 1)[0])


def time_global(outcome: Outcome, quick: bool) -> None:
    nodes = [10, 20, 50, 100] if quick else [10, 20, 50, 100, 200]
    took = []
    for n in nodes:
        problem = chain_problem(0, nodes=n)
        took.append(seconds(partial(place_correlated, problem, default_rng(0)), 3 if n > 50 else 7))
        outcome.figures[f"COR-GLB, n={n}, m={10 * n}, ms"] = 1e3 * took[-1]
        if n in PRINTED:
            outcome.ratios[f"cor_glb_n{n}_against_print"] = PRINTED[n] / took[-1]
            outcome.targets[f"cor_glb_n{n}_against_print"] = FASTER
        if n in PLAIN[: 1 if quick else None]:
            start = time.perf_counter()
            plain_correlation.place_globally(problem.series, problem.capacity, 0.8)
            outcome.ratios[f"cor_glb_n{n}_against_numpy"] = (time.perf_counter() - start) / took[-1]
    outcome.figures["COR-GLB: time grows with n to the power of"] = exponent(nodes, took)
    if not quick:
        outcome.ratios["cor_glb_n200_against_half_a_second"] = 0.5 / took[-1]
        outcome.targets["cor_glb_n200_against_half_a_second"] = 1.0


def time_resilient(outcome: Outcome, quick: bool) -> None:
    sizes = [5, 10, 20, 40, 200]
    took = []
    for size in sizes:
        problem = tree_problem(0, size=size)
        rng = default_rng(0)
        took.append(seconds(partial(place_resilient, problem, rng), 201))
        outcome.figures[f"ROD, n=10, d=5, m={5 * size}, ms"] = 1e3 * took[-1]
    problem = tree_problem(0, size=40)
    outcome.ratios["rod_m200_against_a_tenth_of_a_ms"] = 1e-4 / took[3]
    outcome.targets["rod_m200_against_a_tenth_of_a_ms"] = 1.0
    box = rate_box(problem)
    portion = problem.capacity / problem.capacity.sum()
    plain = seconds(lambda: plain_resilient.assign(problem.shares(), portion, box), 3)
    outcome.ratios["rod_m200_against_numpy"] = plain / took[3]
    outcome.figures["ROD: time grows with m to the power of"] = exponent(sizes[2:], took[2:])
    large = tree_problem(0, nodes=100, streams=50, size=20 if quick else 100)
    outcome.figures[f"ROD, n=100, d=50, m={large.m}, ms"] = 1e3 * seconds(
        lambda: place_resilient(large, default_rng(0)), 3
    )


def time_rounds(outcome: Outcome, quick: bool) -> None:
    n = 200 if quick else 1000
    problem = wide(n, 20 * n)
    places: Ints = np.arange(problem.m) % n
    for name in ("cor-bal", "cor-re", "cor-se"):
        took = seconds(partial(run_round, problem, places, METHODS[name], default_rng(0)), 3)
        outcome.figures[f"round of {name}, n={n}, m={problem.m}, ms"] = 1e3 * took


def wide(n: int, m: int) -> PlacementProblem:
    """A problem of this many units with random, uneven loads."""
    rng = default_rng(1)
    series = rng.exponential(1, (m, 1)) * rng.uniform(0.5, 1.5, (m, 10))
    return PlacementProblem(
        units=tuple(map(str, range(m))), capacity=rng.uniform(0.5, 2, n) * series.sum() / n, series=series
    )


def time_searches(outcome: Outcome, quick: bool) -> None:
    for size in (5, 40) if quick else (5, 10, 20, 40):
        problem = tree_problem(0, size=size)
        took = seconds(partial(place_searched, problem, default_rng(0)), 1)
        outcome.figures[f"searched, n=10, d=5, m={5 * size}, s"] = took
    for n in (20, 50):
        problem = chain_problem(0, nodes=n)
        start = place_correlated(problem, default_rng(0))
        took = seconds(partial(descend, problem, start, default_rng(0)), 1)
        outcome.figures[f"steady after COR-GLB, n={n}, m={10 * n}, s"] = took


def bench(quick: bool) -> Outcome:
    outcome = Outcome("placement")
    time_global(outcome, quick)
    time_resilient(outcome, quick)
    time_rounds(outcome, quick)
    time_searches(outcome, quick)
    return outcome
