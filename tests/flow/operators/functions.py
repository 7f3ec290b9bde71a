"""User-defined functions for the tests of their runner; some break their declaration."""

from __future__ import annotations

import time

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import drover

COLUMNS = {"ts": "timestamp", "v": "bigint"}


@drover.function(COLUMNS, time="ts")
def plus_one(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `v` plus 1; fails on a frame without rows, which it must not be given."""
    assert frame.height
    return frame.select(pl.col("v").cast(pl.Int32) + 1, "ts")


@drover.function(COLUMNS, time="ts", frame="arrow")
def doubled(table: pa.Table) -> pa.Table:
    """Return twice `v`."""
    return pa.table({"ts": table["ts"], "v": pc.multiply(table["v"], 2)})


@drover.function(COLUMNS, time="ts", keeps_state=True)
def running_total(frame: pl.DataFrame, state: bytes | None) -> tuple[pl.DataFrame, bytes]:
    """Return the sum of `v` so far."""
    totals = frame.select("ts", v=pl.col("v").cum_sum() + int(state or b"0"))
    return totals, str(totals["v"][-1]).encode()


@drover.function(COLUMNS, time="ts")
def no_frame(_: pl.DataFrame) -> list[int]:
    """Return a list."""
    return [1]


@drover.function(COLUMNS, time="ts")
def other_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a column under another name."""
    return frame.select("ts", w="v")


@drover.function(COLUMNS, time="ts")
def other_types(frame: pl.DataFrame) -> pl.DataFrame:
    """Return text that is no number."""
    return frame.select("ts", v=pl.lit("many"))


@drover.function(COLUMNS, time="ts")
def fractions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return numbers of which a whole number would be only a part."""
    return frame.select("ts", v=pl.col("v") / 2)


@drover.function(COLUMNS, time="ts")
def whole_floats(frame: pl.DataFrame) -> pl.DataFrame:
    """Return whole numbers as another type."""
    return frame.select("ts", v=pl.col("v") * 2.0)


@drover.function(COLUMNS, time="ts")
def far_future(frame: pl.DataFrame) -> pl.DataFrame:
    """Return event times that Spark does not have."""
    return frame.select(pl.lit(2**60).cast(pl.Datetime("us", "UTC")).alias("ts"), "v")


@drover.function(COLUMNS, time="ts", keeps_state=True)
def no_state(frame: pl.DataFrame, _: bytes | None) -> pl.DataFrame:
    """Return a frame without a state."""
    return frame.select("ts", "v")


@drover.function(COLUMNS, time="ts")
def loses_time(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.when(pl.col("v") > 5).then("ts").alias("ts"), "v")


@drover.function(COLUMNS, time="ts", timeout="50 ms")
def dawdles(frame: pl.DataFrame) -> pl.DataFrame:
    time.sleep(20)
    return frame.select("ts", "v")
