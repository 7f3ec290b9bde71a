"""The table of queries that users see: name, tenant, state, node, cost, and why some are parked."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from drover.flow.query_log.figures import FIGURES
from drover.flow.query_log.log import ADDED

LIVE: Final = "live"
WAITING: Final = "waiting"  # for the next batch
PARKED: Final = "parked"


def listing(
    members: pl.DataFrame, waiting: pl.DataFrame, figures: pl.DataFrame, lag: float | None, tenant: str | None = None
) -> pl.DataFrame:
    """Return one row per query: `members` of the query log, and those `waiting` for their first batch.

    Figures that were not measured are null. `lag` is the age of the oldest row in the last batch, in seconds. With
    `tenant`, only the queries of that tenant are listed.
    """
    fresh = waiting.select(ADDED.names()).filter(~pl.col("number").is_in(members["number"].implode()))
    rows = pl.concat([members, fresh], how="diagonal")
    if tenant is not None:
        rows = rows.filter(pl.col("tenant") == tenant)
    state = pl.when(pl.col("parked").is_not_null()).then(pl.lit(PARKED)).when(pl.col("since").is_null())
    live = pl.col("state") == LIVE
    rows = rows.with_columns(state.then(pl.lit(WAITING)).otherwise(pl.lit(LIVE)).alias("state"))
    rows = rows.join(figures, on="number", how="left", maintain_order="left")
    return rows.select(
        pl.col("name").alias("query"),
        "tenant",
        "state",
        "node",
        "since",
        *(pl.when(live).then(pl.col(name)).alias(name) for name in FIGURES.names()[1:]),
        pl.when(live).then(pl.lit(lag, pl.Float64)).alias("lag"),
        "parked",
        "family",
    )


def to_json(rows: pl.DataFrame) -> dict[str, Any]:  # Any: JSON
    """Return a listing as the endpoint sends it."""
    return {"queries": rows.to_dicts()}


def summary(rows: pl.DataFrame) -> dict[str, Any]:  # Any: JSON
    """Return the counts of queries by state, of families and of tenants."""
    counts = dict(rows.group_by("state").len().iter_rows())
    return {
        "queries": rows.height,
        **{state: int(counts.get(state, 0)) for state in (LIVE, WAITING, PARKED)},
        "families": rows.filter(pl.col("state") == LIVE)["family"].n_unique(),
        "tenants": rows["tenant"].n_unique(),
    }
