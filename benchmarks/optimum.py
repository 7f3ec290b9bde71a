"""How close plans come to the optimum, found by trying all plans: `python -m benchmarks optimum`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import default_rng

from benchmarks.compare import Outcome
from benchmarks.sides import say
from drover.load.feasible import face_points
from drover.placement.correlation.place import place_correlated
from drover.placement.problem import PlacementProblem
from drover.placement.resilient.place import place_resilient
from drover.placement.search.feasible import feasible_size, place_searched
from drover_lab.placement.exact import largest_feasible
from drover_lab.placement.instances import tree_problem

SHAPES = ((2, 5), (3, 3), (3, 4), (2, 6))  # streams, operators of each; three nodes
GRAPHS = 80  # of each shape
POINTS = 2048  # the oracle and the verdict use the same ones; the search has others


def with_series(problem: PlacementProblem, seed: int) -> PlacementProblem:
    """The problem with random rates; correlation needs them, the feasible set does not."""
    rates = default_rng(seed).uniform(0, 2, (problem.coefficients.shape[1], 10))
    return replace(problem, series=problem.coefficients @ rates)


def bench(quick: bool) -> Outcome:
    outcome = Outcome("optimum")
    found: dict[str, list[float]] = {"ROD": [], "COR-GLB": [], "searched": []}
    for streams, size in SHAPES:
        points = face_points(streams, POINTS, 7)
        for seed in range(5 if quick else GRAPHS):
            problem = tree_problem(1000 + seed, nodes=3, streams=streams, size=size)
            best = feasible_size(problem, largest_feasible(problem, points), points)
            plans = {
                "ROD": place_resilient(problem, default_rng(seed)),
                "COR-GLB": place_correlated(with_series(problem, seed), default_rng(seed)),
                "searched": place_searched(problem, default_rng(seed)),
            }
            for name, places in plans.items():
                found[name].append(feasible_size(problem, places, points) / best)
        say(f"{streams} streams, {size} operators each: {len(found['ROD'])} graphs so far")
    outcome.figures["graphs"] = len(found["ROD"])
    for name, ratios in found.items():
        outcome.figures[f"{name}: best plans found"] = f"{np.mean(np.array(ratios) > 1 - 1e-6):10.1%}"
        outcome.figures[f"{name}: over the optimum, mean"] = f"{np.mean(ratios):10.5f}"
        outcome.figures[f"{name}: over the optimum, worst"] = f"{np.min(ratios):10.5f}"
        outcome.ratios[f"{name}_mean"] = float(np.mean(ratios))
        outcome.ratios[f"{name}_worst"] = float(np.min(ratios))
    outcome.targets = {"searched_mean": 0.995, "searched_worst": 0.95}
    return outcome
