"""The section about submitted queries."""

from __future__ import annotations

from typing import Final

from drover.flow.book.figures import Figures
from drover.web.report.figures import NONE, count, number, seconds, size
from drover.web.report.herds import Herds
from drover.web.report.lists import left_out
from drover.web.report.markup import Content, element
from drover.web.report.tables import Column, table

MOST_FAMILIES: Final = 50
MOST_QUERIES: Final = 100
MOST_PARKED: Final = 100
UNMEASURED: Final = (
    "As of the last commit. Nothing that was measured of queries is kept here: a run writes it down every ten batches, "
    "and when it ends."
)
PER_MILLE: Final = 1_000
MEASURED: Final = ("rows_in", "rows_out", "busy")
RATES: Final = tuple(Column(head, "number") for head in ("rows in/s", "rows out/s", "busy ms/s"))


def queries(herds: Herds) -> Content:
    """Return how many queries there are, how they read streams, what they take, and who is parked."""
    return (
        element("p", counted(herds)),
        element("p", measured(herds.figures), class_="soft"),
        _sent(herds.figures),
        _work(herds.figures),
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


def measured(figures: Figures | None) -> str:
    """Return in a sentence or two what was measured of all queries together."""
    if figures is None:
        return UNMEASURED
    return (
        f"As of the last commit. Rates and busy seconds are means over {seconds(figures.seconds)} of batches up to "
        f"batch {figures.batch}. By these rates, a row that some query wants travels to {number(figures.replication)} "
        "nodes on the mean."
    )


def _sent(figures: Figures | None) -> Content:
    if figures is None or not figures.sent:
        return ()
    columns = [Column("source"), Column("bytes per second", "number")]
    rows = [[source, size(rate)] for source, rate in sorted(figures.sent.items())]
    return table("Sent: what the router sends of each source to nodes, copies included", columns, rows)


def _work(figures: Figures | None) -> Content:
    if figures is None or not figures.busy:
        return ()
    columns = [Column("node"), Column("busy ms/s", "number")]
    rows = [[f"node {node}", number(busy * PER_MILLE)] for node, busy in enumerate(figures.busy)]
    return table("Work: what all queries take of each node", columns, rows)


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
        Column("rows of state", "number"), *rates(herds),
    ]  # fmt: skip
    shown = found.select("family", "queries", "nodes", "bytes", "rows", *MEASURED).head(MOST_FAMILIES)
    rows = [
        [family, f"{many:,}", str(nodes), size(taken), f"{kept:,}", *_cells(herds, *figures)]
        for family, many, nodes, taken, kept, *figures in shown.iter_rows()
    ]
    return (
        table("Families of live queries, the largest state first", columns, rows),
        left_out(found.height, MOST_FAMILIES, "those with the least state"),
    )


def _heaviest(herds: Herds) -> Content:
    found = herds.heaviest
    least = "those with the least state" if herds.figures is None else "the least busy"
    if not found.height:
        return element("p", "No query is live.")
    columns = [
        Column("query"), Column("tenant"), Column("node", "number"), Column("since batch", "number"), Column("family"),
        Column("state, mean", "number"), *rates(herds),
    ]  # fmt: skip
    shown = found.select("query", "tenant", "node", "since", "family", "share", *MEASURED).head(MOST_QUERIES)
    rows = [
        [query, tenant, str(node), str(since), family, size(share), *_cells(herds, *figures)]
        for query, tenant, node, since, family, share, *figures in shown.iter_rows()
    ]
    return (
        table("Live queries, the heaviest first; state is the mean of the family on the node", columns, rows),
        left_out(found.height, MOST_QUERIES, least),
    )


def rates(herds: Herds) -> tuple[Column, ...]:
    """Return the columns of what was measured, if anything was."""
    return () if herds.figures is None else RATES


def _cells(herds: Herds, rows_in: float | None, rows_out: float | None, busy: float | None) -> list[str]:
    """Return what was measured of a query or a family; nothing was of one that has just come."""
    if herds.figures is None:
        return []
    taken = None if busy is None else busy * PER_MILLE
    return [NONE if value is None else number(value) for value in (rows_in, rows_out, taken)]


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
