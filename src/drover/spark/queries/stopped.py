"""Queries of a run that is stopped: listed and dropped from the files of its checkpoint, without shapes and herds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from drover.flow.book.book import ADDED, Wish
from drover.flow.book.figures import FIGURES
from drover.flow.book.files import Recovered, recover, write_wish
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.flow.state.versions import Version
from drover.spark.queries.listing import listing
from drover.spark.queries.names import Names
from drover.spark.queries.reopen import NOTES


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a checkpoint has of queries."""

    recovered: Recovered
    failed: Mapping[str, str]  # reasons by number: to be parked with the next batch
    version: Version  # of the state that the last commit has


def table(checkpoint: str, tenant: str | None = None) -> pl.DataFrame:
    """Return one row per query; nothing is measured while nothing runs."""
    return rows_of(find(checkpoint), tenant)


def rows_of(given: Found, tenant: str | None = None, figures: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return one row per query that was found; `figures` are what was measured of them, if anything."""
    found, failed = given.recovered, given.failed
    gone = [number for wish in found.wishes for number in wish.dropped]
    waiting = pl.concat([pl.DataFrame(schema=ADDED), *(wish.added for wish in found.wishes)])
    reasons = pl.col("number").cast(pl.String).replace_strict(failed, default=None, return_dtype=pl.String)
    members = found.book.members.with_columns(pl.coalesce("parked", reasons).alias("parked"))
    here = ~pl.col("number").is_in(gone)
    measured = pl.DataFrame(schema=FIGURES) if figures is None else figures
    return listing(members.filter(here), waiting.filter(here), measured, None, tenant)


def drop(checkpoint: str, names: Sequence[str], tenant: str | None, *, every: bool) -> int:
    """Take queries out, to be gone when the run starts; the caller holds the checkpoint. Return how many."""
    found = find(checkpoint).recovered
    known = Names()
    rows = pl.concat([found.book.members.select(ADDED.names()), *(wish.added for wish in found.wishes)])
    gone = {number for wish in found.wishes for number in wish.dropped}
    known.add(row for row in rows.select("name", "number", "tenant").iter_rows() if row[1] not in gone)
    chosen = known.choose(names, tenant, every=every)
    if chosen:
        serial = 1 + (found.wishes[-1].serial if found.wishes else found.book.upto)
        numbers = tuple(known.by_name[name].number for name in chosen)
        write_wish(*open_root(checkpoint), Wish(serial, dropped=numbers))
    return len(chosen)


def find(checkpoint: str) -> Found:
    """Return what the files of a checkpoint say about queries."""
    fs, path = open_root(checkpoint)
    done = latest(fs, path)
    notes = done.notes.get(NOTES, {})
    return Found(recover(fs, path, done.batch, notes.get("turn", -1)), notes.get("failed", {}), done.version)
