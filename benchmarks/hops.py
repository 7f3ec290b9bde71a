"""What a hop costs: a chain of filters that changes node after every one, on both engines, one to eight hops.

Rows go through the same number of filters on every side; only where these run differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import polars as pl

from benchmarks.compare import Outcome, same_totals, take_turns
from benchmarks.feed import Feed
from benchmarks.sides import DroverSide, Side, scratch, spark_session
from drover.network.build import Builder
from drover.network.model import Network
from drover.placement.plan import Plan

HOPS = (1, 2, 4, 8)
FILTERS = max(HOPS)
ROWS = (100, 100_000)
LIMIT = 0.010  # seconds that a further hop may cost
TYPES = "ts timestamp, value bigint"
MEASURE = {f"filter{FILTERS - 1}": {"rows": "count(*)", "sum": "sum(value)"}}
ENGINES = ("resident", "shuffle")


def rows(batch: int, count: int) -> pl.DataFrame:
    """Return a batch of so many rows."""
    begin = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1e6) + batch * 1_000_000
    values = np.random.default_rng(batch).integers(0, 1000, count)
    times = pl.Series(np.linspace(begin, begin + 999_999, count).astype(np.int64)).cast(pl.Datetime("us", "UTC"))
    return pl.DataFrame({"ts": times, "value": values})


def chain(name: str) -> Network:
    """Return a chain of filters that let all rows pass."""
    builder = Builder(name)
    stream = builder.source("rows", {"ts": "timestamp", "value": "bigint"}, time="ts")
    for j in range(FILTERS):
        stream = stream.filter(f"filter{j}", "value >= 0")
    stream.output()
    return builder.build()


def alternating(hops: int) -> Plan:
    """Return a plan on two nodes by which rows change node `hops` - 1 times."""
    nodes = [j * hops // FILTERS % 2 for j in range(FILTERS)]
    return Plan(1, 2, {f"filter{j}": node for j, node in enumerate(nodes)})


def slope(seconds: Mapping[int, float]) -> float:
    """Return the seconds per further hop, by least squares."""
    return float(np.polyfit(list(seconds), list(seconds.values()), 1)[0])


def measure(count: int, batches: int, warm_up: int) -> Mapping[str, Mapping[int, tuple[float, float]]]:
    """Return seconds and processor seconds per batch, by engine and hops."""
    # Every side is a run of its own, and resident nodes hold their slots while the others run.
    slots = 2 + 2 * len(HOPS)
    names = {(engine, hops): f"{engine}_{hops}" for engine in ENGINES for hops in HOPS}
    with spark_session("hops", slots=slots) as spark, scratch() as folder:
        feed = Feed(folder, {"rows": TYPES})
        for batch in range(batches):
            feed.write(batch, {"rows": rows(batch, count)})
        sides: list[Side] = [
            DroverSide(name, feed, chain(name), MEASURE, plan=alternating(hops), engine=engine)
            for (engine, hops), name in names.items()
        ]
        took, busy = take_turns(spark, sides, range(batches), warm_up)
        same_totals(sides)
        for side in sides:
            side.stop()
    measured = {key: (took[name], busy[name]) for key, name in names.items()}
    return {engine: {hops: measured[engine, hops] for hops in HOPS} for engine in ENGINES}


def bench(quick: bool) -> Outcome:
    """Measure small and large batches."""
    batches, warm_up = (6, 3) if quick else (30, 10)
    outcome = Outcome("hops")
    for count in ROWS:
        found = measure(count, batches, warm_up)
        costs = {engine: slope({hops: each[0] for hops, each in by_hops.items()}) for engine, by_hops in found.items()}
        for engine, by_hops in found.items():
            for hops, (took, busy) in by_hops.items():
                what = f"{count} rows, {engine}, {hops} hops"
                outcome.figures[f"{what}: ms, processor ms"] = f"{took * 1000:10.0f} {busy * 1000:6.0f}"
            outcome.figures[f"{count} rows, {engine}: ms per further hop"] = costs[engine] * 1000
        outcome.ratios[f"limit_{count}"] = LIMIT / max(costs["resident"], 1e-6)
        outcome.ratios[f"shuffle_{count}"] = costs["shuffle"] / max(costs["resident"], 1e-6)
        outcome.targets[f"limit_{count}"] = 1.0
    return outcome
