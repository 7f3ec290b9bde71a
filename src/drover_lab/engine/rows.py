"""Rows for networks of synthetic operators, and the traces that their rates follow.

Rule 1: rows depend on parameters and a seed alone. Rule 2: traces are part of the repository, not of the package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.random import Generator, default_rng

from drover.errors import DroverError
from drover.load.arrays import Floats
from drover.network.model import Network

DATA: Final = Path(__file__).resolve().parents[3] / "examples" / "data"
BEGIN: Final = 1_700_000_000  # seconds since 1970 of the first row
TICK: Final = 0.01  # seconds in which a rate is constant


def trace(name: str) -> Path:
    """Return the path of a trace; raise DroverError where the repository's examples are missing."""
    path = DATA / name
    if not path.is_file():
        raise DroverError(
            f"{DATA} has no file {name}, which this experiment needs. Run it in a clone of the repository."
        )
    return path


def arrivals(rates: Floats, step: float, rng: Generator) -> Floats:
    """Return times of Poisson arrivals, in seconds, at rates, (steps,) per second, each for `step` seconds."""
    counts = rng.poisson(rates * step)
    starts = np.repeat(np.arange(len(rates)) * step, counts)
    return np.sort(starts + rng.uniform(0, step, len(starts)))


def rows_of(network: Network, times: dict[str, Floats]) -> pl.DataFrame:
    """Return rows of synthetic sources, (ts, value, stream), at these seconds."""
    parts = [
        pl.DataFrame({"ts": ((BEGIN + times[source.name]) * 1e6).astype(np.int64)}).select(
            pl.col("ts").cast(pl.Datetime("us", "UTC")),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("value"),
            pl.lit(source.name).alias("stream"),
        )
        for source in network.sources
    ]
    return pl.concat(parts).sort("ts", "stream", "value")


def bursts(network: Network, rate: float, seconds: float, seed: int) -> pl.DataFrame:
    """Return rows in bursts of 5 s, with the high rate twice the low one; every second stream is out of phase."""
    rng = default_rng(seed)
    ticks = np.arange(0, seconds, TICK)
    times = {}
    for k, source in enumerate(network.sources):
        high = (ticks + 5.0 * (k % 2)) % 10 < 5
        times[source.name] = arrivals(rate * np.where(high, 4 / 3, 2 / 3), TICK, rng)
    return rows_of(network, times)


@cache
def day() -> pl.DataFrame:
    """Return calls per minute of the busy functions of a cloud over a day: a column for each."""
    return pl.read_csv(trace("rates-azure-functions-day.csv.gz"))


def day_rates(streams: int, rate: float) -> Floats:
    """Return the rates of the busiest functions of the day, (streams, minutes), `rate` in all on average."""
    chosen: Floats = day().to_numpy().astype(np.float64).T[:streams]
    return chosen * (rate / float(chosen.sum(axis=0).mean()))


def busy_day(network: Network, rate: float, seconds: float, seed: int) -> pl.DataFrame:
    """Return rows that follow the functions of a day, which passes in `seconds`, with `rate` in all on average."""
    rates = day_rates(len(network.sources), rate)
    step = seconds / rates.shape[1]
    rng = default_rng(seed)
    return rows_of(network, {source.name: arrivals(rates[k], step, rng) for k, source in enumerate(network.sources)})
