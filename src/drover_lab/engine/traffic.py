"""Fig. 6.12 and 6.13 [Xing06] on the real engine: 160 window aggregates on a real log at multiples of its rate."""

from __future__ import annotations

from functools import cache, partial
from typing import Final

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.load.profile import Origin, make_profile
from drover.load.statistics import Statistics
from drover.network.model import Network
from drover.placement.model import problem_of
from drover.placement.plan import Plan, round_robin
from drover.placement.policy import propose
from drover_lab.engine.bursts import COLUMNS, measured
from drover_lab.engine.rows import trace
from drover_lab.generate import AggregateParameters, aggregates
from drover_lab.summary import listed, mean, numbers_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row

NODES: Final = 2
STREAMS: Final = 10
SPEED: Final = 120.0  # times as fast as it was: an hour in half a minute
POLICIES: Final = ("resilient", "correlation", "largest-first", "connected", "max-rate", "hash")
LOG: Final = "http-nasa-19950801.csv.gz"
BEHIND: Final = 5.0  # seconds of mean latency from which on a plan has fallen behind


@cache
def network() -> Network:
    """Return the network: sixteen aggregates on each of ten sub-streams."""
    return aggregates(AggregateParameters(streams=STREAMS, lateness="0 s"))


def rows_of(multiplier: int, hours: float) -> pl.DataFrame:
    """Return the last hours of the log, by sub-stream of the client. Each request is repeated within its second."""
    log = pl.read_csv(trace(LOG)).select("ts", "client", "url", "bytes").sort("ts")
    first = log["ts"].max() - hours * 3600  # type: ignore[operator]  # whole seconds
    part = log.filter(pl.col("ts") >= first)
    many = pl.concat([part] * multiplier).sort("ts", "client", "url")
    within = default_rng(multiplier).uniform(0, 1, len(many))
    stream = pl.col("client").hash(seed=0) % STREAMS
    return many.select(
        ((pl.col("ts") + pl.Series(within)) * 1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC")).alias("ts"),
        pl.col("client").alias("src"),
        pl.col("url").alias("dst"),
        pl.col("bytes").cast(pl.Int64).fill_null(0),
        (pl.lit("packets") + stream.cast(pl.String)).alias("stream"),
    )


@cache
def statistics(hours: float) -> Statistics:
    """Return the costs of the aggregates, measured in a run of the log at its own rate."""
    from drover.spark.meter import Meter  # noqa: PLC0415 - Spark takes a second to import
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - as above

    meter = Meter(network())
    rehearse(
        network(),
        rows_of(1, hours),
        round_robin(network(), NODES),
        RehearsalSetup(speed=SPEED, during=lambda _, facts: meter(facts)),
    )
    return meter.statistics()


@cache
def plan_of(policy: str, hours: float) -> Plan:
    """Return the plan that a policy makes from the measured costs."""
    said = statistics(hours)
    problem = problem_of(make_profile(network(), [(Origin.MEASURED, said)]), np.ones(NODES), series=said.series)
    return problem.plan(propose(problem, policy, default_rng(0)))


def run_policy(row: Row) -> Row:
    """Run the aggregates with a policy's plan at a multiple of the log's rate."""
    from drover_lab.engine.rehearsal import RehearsalSetup, rehearse  # noqa: PLC0415 - as above

    hours = float(row["hours"])
    plan = plan_of(str(row["policy"]), hours)
    found = rehearse(network(), rows_of(int(row["multiplier"]), hours), plan, RehearsalSetup(speed=SPEED))
    return measured(found, float(row["from"]))


def best(column: str, rows: pl.DataFrame) -> Finding:
    """Find whether ROD has the lowest latency at the highest rate."""
    top = max(numbers_of(rows, "multiplier"))
    found = {policy: mean(rows, column, policy=policy, multiplier=top) for policy in POLICIES}
    words = f"{column} at {top:g} times the rate: " + ", ".join(
        f"{policy} {value:.3g} s" for policy, value in found.items()
    )
    busiest = max(mean(rows, "critical", policy=policy, multiplier=top) for policy in POLICIES)
    words += f"; no node was busy for more than {busiest:.0%} of the time"
    return Finding(words, found["resilient"] <= min(found.values()) * 1.02)


def survives(rows: pl.DataFrame) -> Finding:
    """Find whether ROD keeps up at a rate at which all others fall behind."""
    rates = numbers_of(rows, "multiplier")
    kept = {
        policy: max(
            (rate for rate in rates if mean(rows, "latency_mean", policy=policy, multiplier=rate) < BEHIND), default=0
        )
        for policy in POLICIES
    }
    others = max(value for policy, value in kept.items() if policy != "resilient")
    words = (
        f"kept up (mean latency below {BEHIND:g} s) to {listed(list(kept.values()))} times the rate: {', '.join(kept)}"
    )
    return Finding(words, kept["resilient"] > others)


ABOUT: Final = f"""
Sixteen window aggregates run on each of {STREAMS} sub-streams of a real web log. They compute count and mean size;
per second, per minute, over the last ten seconds and over the last minute; by client, and by client and URL. The last
hour of the log passes in {3600 / SPEED:g} s. Each request is repeated as many times as the multiplier says. Spark has
one core for each of {NODES} nodes; the text has five machines and a trace of packets. Plans are made from costs,
selectivities and rates that were measured at multiplier 1.
"""
WHY: Final = (
    "The aggregates process whole columns at a time and keep no node busy. At high rates, reading and shipping rows "
    "falls behind, and that is the same for every plan. The text's engine processes one tuple at a time."
)

EXPERIMENTS: Final = tuple(
    Experiment(
        name=f"R-fig6.{number}-spark",
        title=f"{what} latency of 160 aggregates on a real log, on Spark",
        about=ABOUT,
        grids=(ParameterGrid({"multiplier": (1, 100, 1000), "policy": POLICIES}, {"hours": 1.0, "from": 8}),),
        quick=(ParameterGrid({"multiplier": (1,), "policy": ("hash",)}, {"hours": 0.1, "from": 1}),),
        measure=run_policy,
        columns=COLUMNS,
        claims=(
            Claim("rod-best", f"ROD has the smallest {what.lower()} latency.", partial(best, column), WHY),
            Claim("rod-survives", "ROD keeps up at a rate at which all others are overloaded.", survives, WHY),
        ),
        panels=(Panel(x="multiplier", y=column, line="policy", log="y", title=f"{what} latency", label="seconds"),),
        timed=frozenset(COLUMNS),
        engine=True,
    )
    for number, what, column in ((12, "Average", "latency_mean"), (13, "Maximum", "latency_max"))
)
