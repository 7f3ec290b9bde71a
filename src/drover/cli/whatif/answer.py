"""Answers: every variant of a scenario simulated, and what is to be known of each.

Rule 1: figures count the time after the warm-up. Rule 2: a node is overloaded from when to when is judged by the excess
of its load over its capacity, summed: the stretch in which most work piles up, since single seconds are noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from drover.cli.whatif.happenings import SAMPLE
from drover.cli.whatif.scenario import Scenario, Variant
from drover.load.arrays import Floats
from drover.sim.outcome import Outcome
from drover.sim.run import simulate

FEW: Final = 16.0  # tuples that wait on average; fewer are chance
PILE: Final = 1.0  # seconds that a tuple would have to wait for what has piled up; less is no overload worth a word


@dataclass(frozen=True, slots=True)
class Overload:
    """The stretch of time in which most work piles up on a node."""

    node: int
    begin: float  # seconds
    end: float  # seconds
    lasts: bool  # whether it goes on at the end of the run
    pile: float  # seconds that the node needs to work off what has piled up


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One variant, simulated."""

    variant: Variant
    outcome: Outcome
    overloads: tuple[Overload, ...]  # the worst first
    overloaded: float  # seconds in which the load of some node was above its capacity
    utilisation: tuple[float, ...]  # (N,) share of the time in which each node worked

    @property
    def busiest(self) -> int:
        """The node that worked most."""
        return int(np.argmax(self.utilisation))

    @property
    def rank(self) -> tuple[int, float]:
        """What variants are compared by: tuples that wait on average, to a factor of two, then latency; less is better.

        Latency alone would praise a variant for results that it never gave: what still waits at the end has none. By
        Little's law the mean number that waits is the mean wait of all, under the same arrivals.
        """
        summary = self.outcome.summary
        latency = summary["latency_p99"]
        return round(math.log2(max(summary["queued_mean"], FEW))), math.inf if math.isnan(latency) else latency


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """All that is to be said."""

    scenario: Scenario
    results: tuple[Result, ...]

    @property
    def best(self) -> Result:
        """The result of lowest rank, the first of equals."""
        return min(self.results, key=lambda each: each.rank)


def run(scenario: Scenario, variant: Variant) -> Result:
    """Simulate one variant."""
    outcome = simulate(
        scenario.model,
        scenario.workload,
        scenario.cluster,
        scenario.plan,
        variant.control,
        seconds=scenario.seconds,
        warmup=scenario.warmup,
        seed=scenario.seed,
        mode=scenario.mode,
        schedule=scenario.schedule,
        sample=SAMPLE,
    )
    measured = outcome.periods.filter(pl.col("begin") >= scenario.warmup)
    seen = outcome.nodes.filter(pl.col("begin") >= scenario.warmup)
    busy = seen.group_by("node").agg(pl.col("utilisation").mean()).sort("node")["utilisation"]
    return Result(
        variant,
        outcome,
        tuple(sorted(_overloads(scenario, outcome), key=lambda each: (-each.pile, each.node))),
        float(measured.filter(pl.col("overloaded") > 0)["seconds"].sum()),
        tuple(busy.to_list()),
    )


def _overloads(scenario: Scenario, outcome: Outcome) -> Iterator[Overload]:
    capacity = scenario.cluster.capacities
    ends = (outcome.periods["begin"] + outcome.periods["seconds"]).to_numpy()
    load = outcome.nodes.sort("begin", "node")["load"].to_numpy().reshape(len(ends), len(capacity))
    excess = (load / capacity - 1.0) * outcome.periods["seconds"].to_numpy()[:, None]  # (periods, N) seconds
    for node in range(len(capacity)):
        begin, stop, pile = heaviest(excess[:, node])
        if pile >= PILE:
            start = float(outcome.periods["begin"][begin])
            yield Overload(node, start, float(ends[stop - 1]), stop == len(ends), pile)


def heaviest(values: Floats) -> tuple[int, int, float]:
    """Return begin, stop and sum of the stretch of values, (h,), with the largest sum; nothing if none is above 0.

    The largest sum of a stretch that ends at t is that of all up to t less the least of those before.
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    least = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - least))
    begin = int(np.argmin(sums[: stop + 1]))
    return begin, stop, float(sums[stop] - sums[begin])
