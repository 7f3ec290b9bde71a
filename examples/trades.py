"""Trades and quotes: one-minute bars per symbol, and trades that paid more than an offer standing a moment before.

The join has keys, two windows of different length and a predicate over both sides. Run it: python -m examples.trades
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession

import drover
from examples.show import show

DAY: Final = "2013-10-07"
TO_UTC: Final = 4 * 3_600_000  # ms from New York's summer time to UTC
OPEN: Final = 10 * 3_600_000  # ms after midnight: five minutes from 10:00
CLOSE: Final = OPEN + 5 * 60_000
TRADES: Final = {"ts": "timestamp", "symbol": "string", "price": "double", "size": "bigint", "exchange": "string"}
QUOTES: Final = {
    "ts": "timestamp",
    "symbol": "string",
    "bid": "double",
    "bid_size": "bigint",
    "ask": "double",
    "ask_size": "bigint",
    "exchange": "string",
}


def build() -> drover.Network:
    """Return the network."""
    net = drover.Builder("trades")
    trades = net.source("trades", TRADES, time="ts", lateness="1 s")
    quotes = net.source("quotes", QUOTES, time="ts", lateness="1 s")
    trades.aggregate(
        "bars",
        {
            "open": "first(price)",
            "high": "max(price)",
            "low": "min(price)",
            "close": "last(price)",
            "volume": "sum(size)",
        },
        size="1 min",
        group_by="symbol",
    ).output()
    offers = quotes.filter("offers", "ask IS NOT NULL AND ask_size >= 100")
    dear = trades.join(
        "dear",
        offers,
        within=("0 s", "200 ms"),
        on=["symbol", "exchange"],
        where="left.price > right.ask",
        select={
            "symbol": "left.symbol",
            "size": "left.size",
            "paid": "left.price",
            "offered": "right.ask",
            "excess": "left.price - right.ask",
        },
    )
    dear.aggregate(
        "dear_minutes",
        {"pairs": "count(*)", "worst": "max(excess)", "spread": "stddev(excess)"},
        size="1 min",
        advance="30 s",
        group_by="symbol",
    ).output()
    return net.build()


def inputs(spark: SparkSession) -> dict[str, DataFrame]:
    """Return five minutes of real ticks if DROVER_DATA points to them, and made-up ones otherwise."""
    frames = (
        {name: _ticks(pl.read_csv(_file(name)), name) for name in ("trades", "quotes")} if is_real() else _made_up()
    )
    return {name: spark.createDataFrame(frame.to_arrow()) for name, frame in frames.items()}


def is_real() -> bool:
    """Return whether DROVER_DATA points to the real ticks."""
    return all(_file(name).is_file() for name in ("trades", "quotes"))


def _file(name: str) -> Path:
    return Path(os.environ.get("DROVER_DATA", "")) / "ticks-us-equity" / f"{name}-20131007.csv.gz"


def _ticks(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the ticks between OPEN and CLOSE with an instant instead of `ms` since midnight, in the source's types."""
    columns = TRADES if name == "trades" else QUOTES
    midnight = pl.lit(DAY).str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC")
    instant = midnight + pl.duration(milliseconds=pl.col("ms") + TO_UTC, time_unit="us")
    kinds = {"string": pl.String, "double": pl.Float64, "bigint": pl.Int64}
    return frame.filter(pl.col("ms").is_between(OPEN, CLOSE, closed="left")).select(
        instant.alias("ts"), *(pl.col(column).cast(kinds[kind]) for column, kind in columns.items() if column != "ts")
    )


def _made_up(count: int = 4000, seed: int = 7) -> dict[str, pl.DataFrame]:
    """Return ticks of a random walk. They are NOT real; use them if you have no tick data."""
    rng = np.random.default_rng(seed)
    ms = np.sort(rng.integers(OPEN, CLOSE, count))
    middle = 50 + np.cumsum(rng.normal(0, 0.002, count))
    base = {"ms": ms, "symbol": rng.choice(["AAA", "BBB", "CCC"], count), "exchange": rng.choice(["N", "Q"], count)}
    price = np.round(middle + rng.normal(0, 0.01, count), 2)
    trades = {**base, "price": price, "size": rng.integers(1, 20, count) * 100}
    sizes = {"bid_size": rng.integers(1, 9, count) * 100, "ask_size": rng.integers(1, 9, count) * 100}
    quotes = {**base, "bid": np.round(middle - 0.01, 2), "ask": np.round(middle + 0.01, 2), **sizes}
    return {"trades": _ticks(pl.DataFrame(trades), "trades"), "quotes": _ticks(pl.DataFrame(quotes), "quotes")}


if __name__ == "__main__":
    print("real ticks" if is_real() else "MADE-UP ticks; examples/data/README.md says how to give it real ones")
    show(build(), inputs, order="window_start, symbol")
