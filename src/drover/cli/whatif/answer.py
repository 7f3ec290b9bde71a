"""The result of simulating a scenario, variant by variant.

Rule 1: figures cover the time after the warm-up. Rule 2: an overload is the stretch of time in which the summed excess
of load over capacity is largest. Single seconds above capacity are noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from drover.cli.whatif.events import SAMPLE
from drover.cli.whatif.scenario import Scenario, Variant
from drover.load.arrays import Floats
from drover.sim.outcome import SimulationResult
from drover.sim.run import simulate

FEW: Final = 16.0  # tuples that wait on average; fewer are noise
PILE: Final = 1.0  # seconds of backlog; less is not reported as an overload


@dataclass(frozen=True, slots=True)
class Overload:
    """The stretch of time in which most work piles up on a node."""

    node: int
    begin: float  # seconds
    end: float  # seconds
    lasts: bool  # whether it lasts until the end of the run
    pile: float  # seconds that the node needs to work off the backlog


@dataclass(frozen=True, slots=True, eq=False)
class VariantResult:
    """The result of one variant."""

    variant: Variant
    outcome: SimulationResult
    overloads: tuple[Overload, ...]  # worst first
    overloaded: float  # seconds in which some node had a load above its capacity
    utilisation: tuple[float, ...]  # (N,) share of the time in which each node worked

    @property
    def busiest(self) -> int:
        """The node with the highest utilisation."""
        return int(np.argmax(self.utilisation))

    @property
    def rank(self) -> tuple[int, float]:
        """The rank of a variant: mean number of waiting tuples, to a factor of two, then latency; less is better.

        Latency alone would favour a variant that never produces its results: tuples that still wait at the end have no
        latency. By Little's law, under equal arrivals the mean number that waits is proportional to the mean wait.
        """
        summary = self.outcome.summary
        latency = summary["latency_p99"]
        return round(math.log2(max(summary["queued_mean"], FEW))), math.inf if math.isnan(latency) else latency


@dataclass(frozen=True, slots=True, eq=False)
class SimulationReport:
    """A scenario and the results of its variants."""

    scenario: Scenario
    results: tuple[VariantResult, ...]

    @property
    def best(self) -> VariantResult:
        """The result with the lowest rank; the first one on a tie."""
        return min(self.results, key=lambda each: each.rank)


def run(scenario: Scenario, variant: Variant) -> VariantResult:
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
    return VariantResult(
        variant,
        outcome,
        tuple(sorted(_overloads(scenario, outcome), key=lambda each: (-each.pile, each.node))),
        float(measured.filter(pl.col("overloaded") > 0)["seconds"].sum()),
        tuple(busy.to_list()),
    )


def _overloads(scenario: Scenario, outcome: SimulationResult) -> Iterator[Overload]:
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
    """Return begin, stop and sum of the stretch of values, (h,), with the largest sum; empty if no value is above 0.

    The best stretch that ends at t starts after the smallest prefix sum before t.
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    least = np.minimum.accumulate(sums)
    stop = int(np.argmax(sums - least))
    begin = int(np.argmin(sums[: stop + 1]))
    return begin, stop, float(sums[stop] - sums[begin])
