"""Queries of a stopped run, listed and dropped from the files of its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from drover.flow.query_log.figures import FIGURES
from drover.flow.query_log.files import RecoveredLog, recover, write_change
from drover.flow.query_log.log import ADDED, Change
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.flow.state.versions import Version
from drover.spark.queries.listing import listing
from drover.spark.queries.names import QueryNames
from drover.spark.queries.recovery import FAILED_NOTE, LINK_NOTE, MANIFEST_NOTE, NOTES


@dataclass(frozen=True, slots=True, eq=False)
class StoredQueries:
    """What a checkpoint contains about queries."""

    recovered: RecoveredLog
    failed: Mapping[str, str]  # reasons by number; the next batch parks these queries
    version: Version  # of the state in the last commit


def table(checkpoint: str, tenant: str | None = None) -> pl.DataFrame:
    """Return one row per query, without figures: a stopped run measures nothing."""
    return rows_of(find(checkpoint), tenant)


def rows_of(stored: StoredQueries, tenant: str | None = None, figures: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return one row per query, with the last measured `figures` if they are given."""
    found = stored.recovered
    dropped = [number for change in found.pending for number in change.dropped]
    waiting = pl.concat([pl.DataFrame(schema=ADDED), *(change.added for change in found.pending)])
    reasons = pl.col("number").cast(pl.String).replace_strict(stored.failed, default=None, return_dtype=pl.String)
    members = found.query_log.members.with_columns(pl.coalesce("parked", reasons).alias("parked"))
    remains = ~pl.col("number").is_in(dropped)
    measured = pl.DataFrame(schema=FIGURES) if figures is None else figures
    return listing(members.filter(remains), waiting.filter(remains), measured, None, tenant)


def drop(checkpoint: str, names: Sequence[str], tenant: str | None, *, every: bool) -> int:
    """Drop queries from the next start of the run on, and return how many. The caller holds the checkpoint's lock."""
    found = find(checkpoint).recovered
    known = QueryNames()
    rows = pl.concat([found.query_log.members.select(ADDED.names()), *(change.added for change in found.pending)])
    dropped = {number for change in found.pending for number in change.dropped}
    known.add(row for row in rows.select("name", "number", "tenant").iter_rows() if row[1] not in dropped)
    chosen = known.select(names, tenant, every=every)
    if chosen:
        serial, link = found.newest_change
        numbers = tuple(known.by_name[name].number for name in chosen)
        # The next run reads this change like one of its own; it needs no shapes and no placement.
        write_change(*open_root(checkpoint), Change(serial + 1, dropped=numbers, previous=link))
    return len(chosen)


def find(checkpoint: str) -> StoredQueries:
    """Read what the files of a checkpoint contain about queries."""
    fs, path = open_root(checkpoint)
    done = latest(fs, path)
    notes = done.notes.get(NOTES, {})
    recovered = recover(fs, path, done.batch, notes.get(MANIFEST_NOTE, -1), notes.get(LINK_NOTE, ""))
    return StoredQueries(recovered, notes.get(FAILED_NOTE, {}), done.version)
