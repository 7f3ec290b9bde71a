"""Functions for user-defined operators in tests."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import drover


@drover.function({"ts": "timestamp", "total": "bigint"}, time="ts", keeps_state=True)
def running_total(frame: pl.DataFrame, state: bytes | None) -> tuple[pl.DataFrame, bytes]:
    """Return the sum of `v` so far, per row."""
    before = int(state or b"0")
    totals = frame.select("ts", total=pl.col("v").cum_sum() + before)
    return totals, str(totals["total"][-1] if len(totals) else before).encode()


@drover.function({"ts": "timestamp", "twice": "bigint"}, time="ts", frame="arrow", cost="light")
def doubled(table: pa.Table) -> pa.Table:
    """Return twice `v`, per row."""
    return pa.table({"ts": table["ts"], "twice": pc.multiply(table["v"], 2)})
