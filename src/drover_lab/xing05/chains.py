"""What the figures of [Xing05] share: chains under bursts, in the simulator.

Rule 1: a row names every parameter of table 2 that some figure varies.
Rule 2: where the text leaves something open, this module chooses it once for all figures and says so in SETTING.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.load.arrays import Floats, Ints
from drover.load.profile import make_profile
from drover.placement.model import problem_of
from drover.placement.policy import propose
from drover.placement.problem import PlacementProblem
from drover.sim.cluster import SimulatedCluster
from drover.sim.control import SimulatedControl
from drover.sim.model import Model, model_of
from drover.sim.outcome import SimulationResult
from drover.sim.workload import Periodic, Rates, Workload, periodic
from drover_lab.generate import ChainParameters, chains
from drover_lab.table import Row, Value

DEFAULTS: Final[dict[str, Value]] = {
    "nodes": 20,
    "per_node": 10.0,  # operators
    "period": 10.0,  # seconds
    "ratio": 4.0,  # high over low rate
    "window": 10.0,  # seconds
    "samples": 10,  # h, in a window
    "offsets": "even",
}
SMALL: Final[dict[str, Value]] = {**DEFAULTS, "nodes": 8}  # for quick versions
LENGTH: Final = 10  # operators of a chain
EVERY: Final = 1.0  # seconds between decisions
WARM_UP: Final = 10.0  # seconds until the first decision, or a window of statistics if that is longer
SETTLING: Final = 10.0  # seconds after it until plans that never change are measured
MEASURED: Final = 100.0  # seconds
FIRST: Final = 100  # seed

SETTING: Final = """
Defaults of the text: 20 nodes and 20 chains of 10 operators. Selectivities are uniform from 0.8 to 1.2, and every
operator spends 1 ms on a tuple. Mean rates are uniform from 0.8 to 1.2 and scaled to the load. The high rate is 4
times the low one; each lasts 5 s. Arrivals are Poisson. A move suspends an operator for 200 ms. Statistics are ten
samples of 1 s, and there is a decision every second.

The text leaves open the following, which we chose. Offsets of the streams are evenly spaced over the period, in
random order; Table 3 suggests this. Nodes serve tuples first come, first served, and streams between nodes take no
time. The warm-up takes 10 s. The text offloads overloaded nodes during the warm-up; we do not. We measure 100 s, so
the ratio depends on that length where a node is overloaded for long. The latency ratio is the mean latency divided by
the mean pure processing time of the tuples that came out.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Chains on nodes, and their rates before they are scaled."""

    model: Model
    problem: PlacementProblem  # without rates
    means: Floats  # (d,) tuples per second at a load of 1


@lru_cache(maxsize=8)
def case(seed: int, nodes: int, count: int) -> Case:
    """Return random chains on this many nodes."""
    profile = make_profile(chains(default_rng(seed), ChainParameters(chains=count, length=LENGTH)))
    problem = problem_of(profile, np.ones(nodes))
    means = default_rng(seed).uniform(0.8, 1.2, count)
    return Case(model_of(profile), problem, means * nodes / float((problem.coefficients @ means).sum()))


def case_of(row: Row) -> Case:
    """Return the chains that a row asks for."""
    nodes = int(row["nodes"])
    return case(int(row["seed"]), nodes, max(1, round(nodes * float(row["per_node"]) / LENGTH)))


def bursts(row: Row, load: float | None = None) -> tuple[Periodic, ...]:
    """Return workload 1 at the given load; by default at the load of the row."""
    means = case_of(row).means * (float(row["load"]) if load is None else load)
    rng = default_rng((int(row["seed"]), 1))
    even = row["offsets"] == "even"
    return periodic(means, rng, period=float(row["period"]), ratio=float(row["ratio"]), even=even)


def raised(row: Row, before: float, at: float, seconds: float, step: float = 0.05) -> Workload:
    """Return workload 1 whose load rises from `before` to that of the row at time `at`."""
    times = np.arange(0, seconds, step)
    found = []
    for stream in bursts(row, 1.0):
        high = (times + stream.offset) % stream.period < stream.period / 2
        low = 2 * stream.rate / (1 + stream.ratio)
        level = np.where(times < at, before, float(row["load"]))
        found.append(Rates(np.where(high, stream.ratio * low, low) * level, step))
    return tuple(found)


def start(row: Row, policy: str) -> Ints:
    """Return a plan that needs no statistics: `random`, or `whole`, which the text calls connected."""
    return propose(case_of(row).problem, policy, default_rng(int(row["seed"])))


def warm_up(row: Row) -> float:
    """Return the seconds until the first decision."""
    return max(WARM_UP, float(row["window"]))


def measured_from(row: Row) -> float:
    """Return the time in seconds from which a plan that was made after the warm-up is measured."""
    return warm_up(row) + SETTLING


def control(row: Row, *, first: str | None, policy: str | None, begin: float | None = None) -> SimulatedControl:
    """Return the control loop of a row: a plan `first` after the warm-up, and a `policy` every second from `begin`."""
    samples = int(row["samples"])
    return SimulatedControl(
        first=first,
        policy=policy,
        first_at=warm_up(row),
        begin=warm_up(row) if begin is None else begin,
        period=EVERY,
        window=samples,
        sample=float(row["window"]) / samples,
    )


def cluster(row: Row) -> SimulatedCluster:
    """Return the nodes of a row."""
    return SimulatedCluster(int(row["nodes"]))


COLUMNS: Final = {
    "latency_ratio": "mean latency divided by mean processing time, of the tuples that came out",
    "latency_p99": "99th percentile of the latency, seconds",
    "deviation": "mean over nodes of the standard deviation of their load, sampled",
    "bound": "the least possible deviation: standard deviation of all load, divided by the number of nodes",
    "correlation": "mean correlation of the loads of two nodes",
    "moved": "load of all moves, divided by the load of the system",
    "queued": "tuples that wait at the end",
}


def columns(row: Row, outcome: SimulationResult, since: float) -> dict[str, Value]:
    """Return the measurements of a run from `since` on."""
    summary = outcome.summary
    nodes = outcome.nodes.filter(pl.col("begin") >= since)
    total = nodes["load"].to_numpy().reshape(-1, int(row["nodes"])).sum(axis=1)  # period by period: the order is fixed
    return {
        "latency_ratio": summary["latency_ratio"],
        "latency_p99": summary["latency_p99"],
        "deviation": summary["load_std"],
        "bound": float(total.std() / int(row["nodes"])),
        "correlation": summary["load_correlation"],
        "moved": summary["moved_load"] / (float(row["load"]) * int(row["nodes"])),
        "queued": summary["queued"],
    }
