"""Queries as a table for people and programs: who they are, where they run, what they take, and who is parked why."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from drover.flow.book.book import ADDED
from drover.flow.book.figures import FIGURES

LIVE: Final = "live"
WAITING: Final = "waiting"  # for the next batch
PARKED: Final = "parked"


def listing(
    members: pl.DataFrame, waiting: pl.DataFrame, figures: pl.DataFrame, lag: float | None, tenant: str | None = None
) -> pl.DataFrame:
    """Return one row per query: those of the book, and those that wait for their first batch; of one tenant, if given.

    Figures that nobody has measured are null. `lag` is how old results are at the most, in seconds.
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
        pl.col("name").alias("query"), "tenant", "state", "node", "since",
        *(pl.when(live).then(pl.col(name)).alias(name) for name in FIGURES.names()[1:]),
        pl.when(live).then(pl.lit(lag, pl.Float64)).alias("lag"), "parked", "family",
    )  # fmt: skip


def summary(rows: pl.DataFrame) -> dict[str, Any]:  # Any: JSON
    """Return how many there are."""
    counts = dict(rows.group_by("state").len().iter_rows())
    return {
        "queries": rows.height,
        **{state: int(counts.get(state, 0)) for state in (LIVE, WAITING, PARKED)},
        "families": rows.filter(pl.col("state") == LIVE)["family"].n_unique(),
        "tenants": rows["tenant"].n_unique(),
    }
