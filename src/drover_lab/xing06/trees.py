"""What the experiments of chapter 6.1 [Xing06] share: random trees on 10 nodes, and sizes of feasible sets.

Rule 1: all plans are measured on the same points.
Rule 2: every cached value depends on its arguments alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.load.arrays import Floats, Ints
from drover.load.feasible import face_points, feasible_ratio
from drover.placement.policy import propose
from drover.placement.problem import PlacementProblem
from drover.placement.score import POINTS, SEED
from drover_lab.placement.instances import tree_problem
from drover_lab.summary import listed, mean, numbers_of, over, values_of
from drover_lab.table import Finding, unjudged

ROD: Final = "resilient"
OTHERS: Final = ("correlation", "largest-first", "random", "connected")
SIZES: Final = (25, 50, 100, 200)  # operators
WORDS: Final = (
    "Policies: `resilient` is ROD, `largest-first` is LLF, `connected` is Connected-Load-Balancing, and `correlation` "
    "is COR-GLB. `searched` is drover's own and not in the text: ROD followed by local search."
)

points = lru_cache(maxsize=16)(lambda d: face_points(d, POINTS, SEED))
tree = lru_cache(maxsize=32)(tree_problem)


def ratio(weights: Floats) -> float:
    """Return the size of a feasible set, divided by that of the ideal one."""
    return feasible_ratio(weights, points(weights.shape[1]))


def with_rates(problem: PlacementProblem, seed: tuple[int, ...]) -> PlacementProblem:
    """Return a problem with random rates, for policies that look at them: means, and 10 samples around each."""
    rng = default_rng(seed)
    rates: Floats = rng.uniform(0, 1, (problem.coefficients.shape[1],))
    series = problem.coefficients @ (rates[:, None] * rng.uniform(0, 2, (len(rates), 10)))
    return replace(problem, rates=rates, series=series)


def place(problem: PlacementProblem, policy: str, seed: tuple[int, ...]) -> Ints:
    """Return the plan of a policy, (m,). Policies that look at rates get random ones."""
    seen = problem if policy in {ROD, "searched", "clustered"} else with_rates(problem, seed)
    return propose(seen, policy, default_rng(seed))


def ideal_points(seed: int, d: int, count: int) -> Floats:
    """Return, (count, d), random points of the ideal set sum y <= 1, evenly spread over it."""
    return default_rng(seed).dirichlet(np.ones(d + 1), count)[:, :d]


def by_line(rows: pl.DataFrame, y: str, x: str, line: str = "policy") -> dict[str, list[float]]:
    """Return the means of y for rising x, by line."""
    return {
        str(name): [mean(rows, y, **{line: name, x: value}) for value in numbers_of(rows, x)]
        for name in values_of(rows, line)
    }


def always_above(rows: pl.DataFrame, first: str, others: Sequence[str], y: str, x: str) -> Finding:
    """Find whether the mean of one line is above those of the others at every x."""
    lines = by_line(rows, y, x)
    if first not in lines or not set(others) <= set(lines):
        return unjudged(f"{first} and {', '.join(others)} were not all run")
    margins = [over(mine, other) for name in others for mine, other in zip(lines[first], lines[name], strict=True)]
    described = "; ".join(f"{name} {listed(lines[name])}" for name in (first, *others))
    at = ", ".join(f"{value:g}" for value in numbers_of(rows, x))
    return Finding(
        f"at {x} {at}: {described}; least margin {min(margins):.3g} times", all(margin > 1 for margin in margins)
    )
