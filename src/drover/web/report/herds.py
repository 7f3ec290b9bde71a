"""Submitted queries as a report tells of them, worked out from the book and the state of the last commit.

Rule 1: what was measured is in a file that is written now and then, and may be missing. All else follows from what a
checkpoint always keeps: who is where, and the state of a family on a node, of which a query counts as having its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from drover.flow.book.figures import Figures
from drover.flow.families.moves import family_and_node
from drover.flow.state.versions import Version
from drover.network.model import Network
from drover.network.queries import Shapes
from drover.spark.queries.families import Topic, topics_of
from drover.spark.queries.listing import LIVE, PARKED, summary
from drover.spark.queries.reopen import shaped_of
from drover.spark.queries.stopped import Found, rows_of

MOST_READ: Final = 20_000  # queries whose texts are read for a report; it takes 0.2 ms each
STATES: Final = pl.Schema({"family": pl.String, "node": pl.Int32, "bytes": pl.Int64, "rows": pl.Int64})


@dataclass(frozen=True, slots=True)
class Reading:
    """How queries read one stream."""

    stream: str
    queries: int
    topics: int
    replication: float  # nodes that a topic goes to, on the mean of topics
    most: int  # nodes that one goes to


@dataclass(frozen=True, slots=True, eq=False)
class Herds:
    """What is told of queries."""

    counts: Mapping[str, Any]  # Any: numbers, as `listing.summary` has them
    families: pl.DataFrame  # family, queries, nodes, bytes, rows, rows_in, rows_out, busy: the largest state first
    heaviest: pl.DataFrame  # query, tenant, node, since, family, share (bytes), and what FIGURES has: the busiest first
    parked: pl.DataFrame  # query, tenant, since, parked: the newest first
    readings: tuple[Reading, ...]  # by stream
    missing: tuple[str, ...]
    figures: Figures | None = None  # None if nothing was measured


def herds_of(found: Found, network: Network | None, figures: Figures | None = None) -> Herds:
    """Return what a report tells of the queries in a checkpoint; `figures` is what was measured of them last."""
    rows = rows_of(found, figures=None if figures is None else figures.queries)
    states = _states(found.version)
    live = rows.filter(pl.col("state") == LIVE)
    local = live.group_by("family", "node", maintain_order=True).agg(pl.len().alias("queries"))
    local = local.join(states, on=("family", "node"), how="left", maintain_order="left").fill_null(0)
    share = local.select("family", "node", share=pl.col("bytes") / pl.col("queries"))
    families = local.group_by("family", maintain_order=True).agg(
        pl.col("queries").sum(), pl.col("node").n_unique().alias("nodes"), pl.col("bytes").sum(), pl.col("rows").sum()
    )
    sums = {
        name: pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()) for name in ("rows_in", "rows_out", "busy")
    }
    taken = live.group_by("family").agg(**sums)  # null, not 0, where nothing was measured
    families = families.join(taken, on="family", how="left", maintain_order="left")
    heaviest = live.join(share, on=("family", "node"), how="left", maintain_order="left")
    missing: list[str] = []
    return Herds(
        summary(rows),
        families.sort("bytes", "queries", "family", descending=[True, True, False]),
        heaviest.sort("busy", "share", descending=True, nulls_last=True, maintain_order=True),
        rows.filter(pl.col("state") == PARKED).reverse(),
        _readings(found, live["query"], network, missing),
        tuple(missing),
        figures,
    )


def _states(version: Version) -> pl.DataFrame:
    """Return what the state of each family takes up on each node, in files."""
    found = []
    for unit in version.units:
        if (owner := family_and_node(unit)) is not None:
            usage = version.usage(unit)
            found.append((*owner, usage.bytes, usage.rows))
    rows = pl.DataFrame(found, schema=STATES, orient="row")
    return rows.group_by("family", "node", maintain_order=True).agg(pl.col("bytes").sum(), pl.col("rows").sum())


def _readings(found: Found, live: pl.Series, network: Network | None, missing: list[str]) -> tuple[Reading, ...]:
    """Return how queries that run read streams; a topic counts once, however many rows it has."""
    if not len(live):
        return ()
    if network is None:
        missing.append("replication of queries: it needs the network's text")
        return ()
    if len(live) > MOST_READ:
        missing.append(f"replication of queries: {len(live):,} are too many to read for a report")
        return ()
    members = found.recovered.book.live.filter(pl.col("name").is_in(live.implode()))
    node_of = dict(members.select("number", "node").iter_rows())
    unfit: dict[int, str] = {}
    readers: dict[str, dict[Topic, list[int]]] = {}
    for number, (_, shaped) in shaped_of(
        dict(members.select("number", "text").iter_rows()), Shapes(network), unfit
    ).items():
        for topic in topics_of(shaped):
            readers.setdefault(topic[0], {}).setdefault(topic, []).append(node_of[number])
    if unfit:
        missing.append(f"replication of {len(unfit):,} queries: they do not fit the network any more")
    return tuple(_reading(stream, list(topics.values())) for stream, topics in sorted(readers.items()))


def _reading(stream: str, topics: list[list[int]]) -> Reading:
    nodes = [len(set(of)) for of in topics]
    return Reading(stream, sum(map(len, topics)), len(topics), sum(nodes) / len(nodes), max(nodes))
