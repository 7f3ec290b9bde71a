"""The section about submitted queries."""

from __future__ import annotations

from typing import Final

from drover.web.report.figures import NONE, count, number, size
from drover.web.report.herds import Herds
from drover.web.report.lists import left_out
from drover.web.report.markup import Content, element
from drover.web.report.tables import Column, table

MOST_FAMILIES: Final = 50
MOST_QUERIES: Final = 100
MOST_PARKED: Final = 100
KEPT: Final = (
    "As of the last commit. A checkpoint does not keep rates and busy seconds of queries, nor the bytes that were sent "
    "of each source for them: of a run that works, drover queries tells the former, and lastProgress the latter."
)


def queries(herds: Herds) -> Content:
    """Return how many queries there are, how they read streams, what they take, and who is parked."""
    return (
        element("p", counted(herds)),
        element("p", KEPT, class_="soft"),
        _readings(herds),
        _families(herds),
        _heaviest(herds),
        _parked(herds),
    )


def counted(herds: Herds) -> str:
    """Return in a sentence how many queries there are."""
    counts = herds.counts
    return (
        f"{count(counts['queries'], 'query', 'queries')} of {count(counts['tenants'], 'tenant')}: "
        f"{counts['live']:,} live in {count(counts['families'], 'family', 'families')}, "
        f"{counts['waiting']:,} waiting for a first batch, {counts['parked']:,} parked."
    )


def _readings(herds: Herds) -> Content:
    if not herds.readings:
        return ()
    columns = [
        Column("stream"), Column("queries", "number"), Column("topics", "number"), Column("nodes of a topic", "number"),
        Column("at most", "number"),
    ]  # fmt: skip
    rows = [
        [each.stream, f"{each.queries:,}", f"{each.topics:,}", number(each.replication), str(each.most)]
        for each in herds.readings
    ]
    said = "A topic is what a query wants of a stream: rows with one value in one column, or all. Each counts the same."
    return table("Replication: nodes that a topic of a stream goes to", columns, rows), element(
        "p", said, class_="soft"
    )


def _families(herds: Herds) -> Content:
    found = herds.families
    if not found.height:
        return ()
    columns = [
        Column("family"), Column("queries", "number"), Column("nodes", "number"), Column("state", "number"),
        Column("rows of state", "number"),
    ]  # fmt: skip
    shown = found.select("family", "queries", "nodes", "bytes", "rows").head(MOST_FAMILIES)
    rows = [
        [family, f"{many:,}", str(nodes), size(taken), f"{kept:,}"]
        for family, many, nodes, taken, kept in shown.iter_rows()
    ]
    return (
        table("Families of live queries, the largest state first", columns, rows),
        left_out(found.height, MOST_FAMILIES, "those with the least state"),
    )


def _heaviest(herds: Herds) -> Content:
    found = herds.heaviest
    if not found.height:
        return element("p", "No query is live.")
    columns = [
        Column("query"), Column("tenant"), Column("node", "number"), Column("since batch", "number"), Column("family"),
        Column("state, mean", "number"),
    ]  # fmt: skip
    shown = found.select("query", "tenant", "node", "since", "family", "share").head(MOST_QUERIES)
    rows = [
        [query, tenant, str(node), str(since), family, size(share)]
        for query, tenant, node, since, family, share in shown.iter_rows()
    ]
    return (
        table("Live queries, the heaviest first; state is the mean of the family on the node", columns, rows),
        left_out(found.height, MOST_QUERIES, "those with the least state"),
    )


def _parked(herds: Herds) -> Content:
    found = herds.parked
    if not found.height:
        return element("p", "No query is parked.")
    columns = [Column("query"), Column("tenant"), Column("since batch", "number"), Column("why it is parked", "words")]
    shown = found.select("query", "tenant", "since", "parked").head(MOST_PARKED)
    rows = [
        [query, tenant, NONE if since is None else str(since), reason]
        for query, tenant, since, reason in shown.iter_rows()
    ]
    return table("Parked queries, the newest first", columns, rows), left_out(found.height, MOST_PARKED, "the oldest")
