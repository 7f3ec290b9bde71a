"""Match trades with the offers of the second before them. Three symbols are hot, and the join spreads itself.

Trades and offers are joined by symbol only, so hashing symbols would leave most of the work to one node. The join
starts on one node. The control loop spreads it over more nodes when its load requires it, and every pair is still
made once.
Run it: python -m examples.asof
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

import drover
from drover.control.record import PeriodOutcome
from drover.placement.plan import Plan
from drover.spark.replay import replay
from drover.spark.session import session
from drover.spark.sinks import Memory
from examples import trades as ticks

PLAN: Final = Plan(1, 3, {"offers": 0, "slippage": 0, "standing": 1})
SPEED: Final = 15.0  # five minutes of ticks in twenty seconds
CONTROL: Final = {"mode": "observe", "period": 0.5, "window": 4, "warm_up": 4, "cool_down": 8}
WATCHED: Final = 6  # periods


def build() -> drover.Network:
    """Return the network."""
    net = drover.Builder("asof")
    trades = net.source("trades", ticks.TRADES, time="ts", lateness="1 s")
    quotes = net.source("quotes", ticks.QUOTES, time="ts", lateness="1 s")
    offers = quotes.filter("offers", "ask IS NOT NULL AND ask_size >= 100")
    standing = trades.join(
        "standing",
        offers,
        within=("0 s", "1 s"),
        on="symbol",
        select={"symbol": "left.symbol", "paid": "left.price", "size": "left.size", "ask": "right.ask"},
        spread="auto",
    ).output()
    standing.aggregate(
        "slippage",
        {"pairs": "count(*)", "worst": "max(paid - ask)", "volume": "sum(size)"},
        size="1 min",
        group_by="symbol",
    ).output()
    return net.build()


inputs = ticks.inputs


def scarce(load: Callable[[str], float]) -> list[float]:
    """Return node capacities so small that no node can carry the join alone: five minutes of ticks are little load.

    `load` tells what each unit takes. Node 0 has just what the others take, and each other node half of what the join
    does.
    """
    return [load("offers") + load("slippage"), load("standing") / 2, load("standing") / 2]


def wait(handle: drover.Handle, until: Callable[[], bool]) -> None:
    """Wait until a condition holds; raise if the run has failed."""
    while not until():
        if not handle.isActive:
            handle.awaitTermination()
        time.sleep(0.1)


def main(spark: SparkSession) -> bool:
    """Run under the control loop, print its decisions, and return whether plain Spark gives the same pairs."""
    network = build()
    rows = inputs(spark)
    kept = Memory()
    total = sum(frame.count() for frame in rows.values())
    begin = min(frame.agg({"ts": "min"}).collect()[0][0] for frame in rows.values())
    sources = {name: replay(spark, frame, time="ts", speed=SPEED, start=begin) for name, frame in rows.items()}
    with tempfile.TemporaryDirectory(prefix="drover-asof-") as folder:
        handle = drover.run(network, sources, {"standing": kept}, checkpoint=folder, plan=PLAN, control=CONTROL)
        came: dict[int, int] = {}  # rows by batch

        def all_came() -> bool:
            came.update({one["batch"]: sum(one["rowsIn"].values()) for one in handle.batches})
            return sum(came.values()) >= total

        wait(handle, lambda: all_came() or handle.control.status.period >= WATCHED)
        handle.control.change(mode="auto", capacity=scarce(lambda unit: handle.explain(unit).load))
        wait(handle, all_came)
        handle.control.wait()
        for record in handle.decisions:
            if record.kind is PeriodOutcome.MOVED:
                print(f"period {record.period}: {record.reason}")
        print(f"spread {handle.plan.instances['standing'].epochs[-1].grid} at the end")
        handle.stop()
    wanted = pl.DataFrame(drover.reference(network, rows).streams["standing"].toArrow())
    print(f"{wanted.height:,} pairs")
    return bool(kept.rows().select(wanted.columns).sort(wanted.columns).equals(wanted.sort(wanted.columns)))


if __name__ == "__main__":
    print("real ticks" if ticks.is_real() else "MADE-UP ticks; examples/data/README.md says how to give it real ones")
    print("it takes about a minute: ticks come fifteen times as fast as they did, then plain Spark joins them, too")
    spark = session("example asof", "local[2]")
    same = main(spark)
    print("plain Spark gives " + ("the same pairs, row for row" if same else "OTHER pairs"))
    spark.stop()
    sys.exit(0 if same else 1)
