"""What rows of text H have in common: a workload, a policy, and how claims compare lines.

Rule 1: rows of one workload are adjacent, so the module caches one workload.
Rule 2: verdicts depend on rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast

import polars as pl
from numpy.random import default_rng

from drover.herding.problem import HerdingProblem
from drover.load.arrays import Ints
from drover_lab import lines
from drover_lab.herding.anneal import AnnealingEffort, anneal
from drover_lab.herding.generate import Correlation, Workload, generate
from drover_lab.herding.policy import assign
from drover_lab.herding.score import score
from drover_lab.lines import lacks
from drover_lab.table import Finding, Row, Value

REPLICATION: Final = "replication"
BASE: Final[dict[str, Value]] = {"queries": 100_000, "servers": 100, "sources": 2, "skew": 2.0}
SMALL: Final[dict[str, Value]] = {"queries": 4_000, "servers": 20, "sources": 2, "skew": 2.0}
QUICK_STEPS: Final = AnnealingEffort(steps=10_000_000)  # three seconds; see docs/explanation/herding.md
COLUMNS: Final = {
    REPLICATION: "traffic divided by the rate of all subscribed sources",
    "imbalance": "largest load of a server, divided by the mean",
}


@lru_cache(maxsize=1)
def problem_of(queries: int, servers: int, sources: int, skew: float, rates: str, seed: int) -> HerdingProblem:
    """Return a workload of the text."""
    rule = cast("Correlation", rates)
    workload = Workload(queries=queries, servers=servers, sources=sources, skew=skew, rates=rule)
    return generate(workload, default_rng((seed, 2015)))


def problem_in(row: Row) -> HerdingProblem:
    """Return the workload of a row."""
    sizes = (int(row["queries"]), int(row["servers"]), int(row["sources"]))
    return problem_of(*sizes, float(row["skew"]), str(row.get("rates", "equal")), int(row["seed"]))


def servers_of(problem: HerdingProblem, policy: str, seed: int) -> Ints:
    """Return the assignment of a policy, (n,); annealing takes few steps here."""
    rng = default_rng(seed)
    return anneal(problem, rng, QUICK_STEPS) if policy == "annealed" else assign(problem, policy, rng)


def measure(row: Row) -> Row:
    """Assign the queries of a row, none of which leaves."""
    problem = problem_in(row)
    found = score(problem, servers_of(problem, str(row["policy"]), int(row["seed"])))
    return {REPLICATION: found.replication, "imbalance": found.imbalance}


def line(rows: pl.DataFrame, policy: str, x: str, y: str = REPLICATION) -> list[float]:
    """Return the means of a policy for rising x."""
    return lines.line(rows, policy, y, x)


def describe_replication(rows: pl.DataFrame, policies: Sequence[str], x: str) -> str:
    """Return the replication of several policies in words."""
    return lines.describe_means(rows, policies, REPLICATION, x)


def rises(rows: pl.DataFrame, policies: Sequence[str], x: str, *, falls: bool = False) -> Finding:
    """Find whether the factor of every policy rises with x, or falls."""
    if missing := lacks(rows, policies, x):
        return missing
    sign = -1 if falls else 1
    lines = [line(rows, policy, x) for policy in policies]
    holds = all(sign * (b - a) > 0 for values in lines for a, b in pairwise(values))
    return Finding(describe_replication(rows, policies, x), holds)


def lowest(rows: pl.DataFrame, first: Sequence[str], others: Sequence[str], x: str, within: float = 1.0) -> Finding:
    """Find whether, at every x, the best of `first` is at most `within` times the best of the others."""
    if missing := lacks(rows, (*first, *others), x, 1):
        return missing
    mine = [min(values) for values in zip(*(line(rows, name, x) for name in first), strict=True)]
    theirs = [min(values) for values in zip(*(line(rows, name, x) for name in others), strict=True)]
    holds = all(a <= within * b for a, b in zip(mine, theirs, strict=True))
    return Finding(describe_replication(rows, (*first, *others), x), holds)


def up_to(rows: pl.DataFrame, first: Sequence[str], other: str, x: str, factor: float) -> Finding:
    """Find whether, at some x, the best of `first` is below another policy by this factor."""
    if missing := lacks(rows, (*first, other), x, 1):
        return missing
    gains = [
        theirs / mine for name in first for mine, theirs in zip(line(rows, name, x), line(rows, other, x), strict=True)
    ]
    return Finding(
        f"at most {max(gains):.2f} times; {describe_replication(rows, (*first, other), x)}", max(gains) >= factor
    )


def alike(rows: pl.DataFrame, one: str, other: str, x: str, within: float) -> Finding:
    """Find whether two policies differ by at most that factor at every x."""
    if missing := lacks(rows, (one, other), x, 1):
        return missing
    pairs = zip(line(rows, one, x), line(rows, other, x), strict=True)
    worst = max(max(a / b, b / a) for a, b in pairs)
    return Finding(f"largest ratio {worst:.3f}; {describe_replication(rows, (one, other), x)}", worst <= within)
