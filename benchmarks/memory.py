"""The memory of the worker that holds a join's windows, against the size of their rows in Arrow."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.compare import Outcome
from benchmarks.feed import Feed
from benchmarks.join import BEGIN, MEASURE, TYPES, network
from benchmarks.processor import worker_bytes
from benchmarks.sides import DroverSide, say, scratch, spark_session

WINDOW = 5_000_000  # rows, both sides together
BATCHES = 10  # that fill the window, a second of event time each
KEYS = 50_000_000  # so many that few rows have a partner: state, not results, is measured
LIMIT = 3.0


def rows(batch: int, side: int, count: int) -> pl.DataFrame:
    rng = np.random.default_rng([batch, side])
    begin = int(BEGIN.timestamp() + batch) * 1_000_000
    drawn = {
        "ts": np.sort(rng.integers(begin, begin + 1_000_000, count)),
        "key": rng.integers(0, KEYS, count),
        "value": rng.integers(0, 1000, count),
    }
    return pl.DataFrame(drawn).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))


def bench(quick: bool) -> Outcome:
    window = WINDOW // 10 if quick else WINDOW
    batches = BATCHES + 6  # a few more, to see it with the window full
    outcome = Outcome("memory", targets={"limit": 1.0})
    # One task at a time, so that one worker does everything and what it holds is all there is.
    with spark_session("memory", {"spark.master": "local[1]"}) as spark, scratch() as folder:
        feed = Feed(folder, {"left": TYPES, "right": TYPES})
        side = DroverSide("drover", feed, network(delivered=True), {"pairs": MEASURE}, nodes=1)
        side.start(spark)
        feed.write(0, {name: rows(0, i, 10) for i, name in enumerate(("left", "right"))})
        side.step(0)
        idle = max(worker_bytes().values())
        peak = held = 0
        for batch in range(1, batches):
            feed.write(
                batch, {name: rows(batch, i, window // BATCHES // 2) for i, name in enumerate(("left", "right"))}
            )
            took = side.step(batch)
            assert side.handle is not None
            (sample,) = side.handle.batches[-1]["samples"]
            resident = max(worker_bytes().values())
            if sample["state_bytes"] >= held:
                held = sample["state_bytes"]
                peak = max(peak, resident)
            megabytes = (sample["state_bytes"] / 1e6, resident / 1e6)
            say("batch {}: {:.2f} s, state {:.0f} MB, worker {:.0f} MB".format(batch, took, *megabytes))
        side.stop()
    outcome.figures = {
        "rows in the window": window,
        "Arrow size of the window, MB": held / 1e6,
        "worker without state, MB": idle / 1e6,
        "worker with the window full, at most, MB": peak / 1e6,
        "growth of the worker over Arrow size": (peak - idle) / held,
        "whole worker over Arrow size": peak / held,
    }
    outcome.ratios = {"limit": LIMIT * held / (peak - idle), "limit_whole": LIMIT * held / peak}
    return outcome
