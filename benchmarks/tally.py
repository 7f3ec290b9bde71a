"""Counting rows where they are made, as Spark's `observe` does; a separate module, because workers import it."""

from __future__ import annotations

import polars as pl

from drover.network.functions import function


@function(columns={"pairs": "bigint", "left_sum": "bigint", "right_sum": "bigint"}, cost="light")
def tally(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per batch: the number of pairs, and the sums of their values."""
    count = pl.len().cast(pl.Int64)
    return pairs.select(pairs=count, left_sum=pl.col("a").sum(), right_sum=pl.col("b").sum())
