"""Submitted queries: counts, families, the heaviest queries, and how queries read streams.

Rule 1: everything follows from the query log and the last commit, except the metrics, which may be missing. The state
of a family on a node is shared equally among its queries there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from drover.flow.families.moves import family_and_node
from drover.flow.query_log.figures import Figures
from drover.flow.state.versions import Version
from drover.network.model import Network
from drover.network.queries import Shapes
from drover.spark.queries.families import stream_of, topics_of
from drover.spark.queries.listing import LIVE, PARKED, summary
from drover.spark.queries.recovery import shape_all
from drover.spark.queries.stopped import StoredQueries, rows_of

MOST_PARSED: Final = 20_000  # queries that a report parses; each takes 0.2 ms
STATES: Final = pl.Schema({"family": pl.String, "node": pl.Int32, "bytes": pl.Int64, "rows": pl.Int64})
BUSY_MS: Final = pl.col("busy") * 1000  # busy milliseconds per second


@dataclass(frozen=True, slots=True)
class StreamReaders:
    """How live queries read one stream."""

    stream: str
    queries: int
    topics: int
    replication: float  # nodes that a topic goes to, mean over topics
    most: int  # nodes that a topic goes to, maximum


@dataclass(frozen=True, slots=True, eq=False)
class QueryOverview:
    """What a report shows of queries."""

    counts: Mapping[str, Any]  # Any: numbers, as `listing.summary` has them
    families: pl.DataFrame  # family, queries, nodes, bytes, rows, rows_in, rows_out, busy_ms: largest state first
    heaviest: (
        pl.DataFrame
    )  # query, tenant, node, since, family, share (bytes), rows_in, rows_out, busy_ms: busiest first
    parked: pl.DataFrame  # query, tenant, since, parked: newest first
    readers: tuple[StreamReaders, ...]  # by stream
    missing: tuple[str, ...]
    metrics: Figures | None = None  # None if nothing was measured


def query_overview(found: StoredQueries, network: Network | None, metrics: Figures | None = None) -> QueryOverview:
    """Return what a report shows of the queries in a checkpoint; `metrics` are the last measurements of them."""
    rows = rows_of(found, figures=None if metrics is None else metrics.queries)
    live = rows.filter(pl.col("state") == LIVE)
    local = live.group_by("family", "node", maintain_order=True).agg(pl.len().alias("queries"))
    local = local.join(_states(found.version), on=("family", "node"), how="left", maintain_order="left").fill_null(0)
    share = local.select("family", "node", share=pl.col("bytes") / pl.col("queries"))
    heaviest = live.join(share, on=("family", "node"), how="left", maintain_order="left").with_columns(busy_ms=BUSY_MS)
    missing: list[str] = []
    return QueryOverview(
        counts=summary(rows),
        families=_families(live, local),
        heaviest=heaviest.sort("busy", "share", descending=True, nulls_last=True, maintain_order=True),
        parked=rows.filter(pl.col("state") == PARKED).reverse(),
        readers=_stream_readers(found, live["query"], network, missing),
        missing=tuple(missing),
        metrics=metrics,
    )


def _families(live: pl.DataFrame, local: pl.DataFrame) -> pl.DataFrame:
    families = local.group_by("family", maintain_order=True).agg(
        pl.col("queries").sum(),
        pl.col("node").n_unique().alias("nodes"),
        pl.col("bytes").sum(),
        pl.col("rows").sum(),
    )
    # The sum of no measurement is null, not 0.
    sums = {
        name: pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()) for name in ("rows_in", "rows_out", "busy")
    }
    measured = live.group_by("family").agg(**sums).with_columns(busy_ms=BUSY_MS)
    families = families.join(measured, on="family", how="left", maintain_order="left")
    return families.sort("bytes", "queries", "family", descending=[True, True, False])


def _states(version: Version) -> pl.DataFrame:
    """Return the size of each family's state files on each node."""
    found = []
    for unit in version.units:
        owner = family_and_node(unit)
        if owner is not None:
            usage = version.usage(unit)
            found.append((*owner, usage.bytes, usage.rows))
    rows = pl.DataFrame(found, schema=STATES, orient="row")
    return rows.group_by("family", "node", maintain_order=True).agg(pl.col("bytes").sum(), pl.col("rows").sum())


def _stream_readers(
    found: StoredQueries, live: pl.Series, network: Network | None, missing: list[str]
) -> tuple[StreamReaders, ...]:
    """Return how live queries read streams; each topic counts once, however many rows it has."""
    if not len(live):
        return ()
    if network is None:
        missing.append("replication of queries: it needs the network file")
        return ()
    if len(live) > MOST_PARSED:
        missing.append(f"replication of queries: {len(live):,} queries are too many to parse for a report")
        return ()
    members = found.recovered.query_log.live.filter(pl.col("name").is_in(live.implode()))
    unfit: dict[int, str] = {}
    numbers, read = topics_of(shape_all(members, Shapes(network), unfit).values())
    if unfit:
        missing.append(f"replication of {len(unfit):,} queries: they no longer fit the network")
    pairs = pl.DataFrame({"number": np.repeat(numbers, np.diff(read.start)), "topic": read.topic})
    nodes = pairs.join(members.select("number", "node"), on="number")
    by_topic = nodes.group_by("topic").agg(queries=pl.len(), nodes=pl.col("node").n_unique())
    streams = by_topic.with_columns(
        stream=pl.Series([stream_of(topic) for topic in read.topics]).gather(by_topic["topic"])
    )
    found_streams = streams.group_by("stream").agg(
        pl.col("queries").sum(), pl.len().alias("topics"), pl.col("nodes").mean().alias("mean"), pl.col("nodes").max()
    )
    return tuple(StreamReaders(*row) for row in found_streams.sort("stream").iter_rows())
