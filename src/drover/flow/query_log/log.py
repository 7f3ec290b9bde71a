"""The query log in memory: changes, batch manifests, and the table of queries that they add up to.

Rule 1: all functions are pure and all data is frozen.
Rule 2: a query gets a number when it is accepted, and no other query ever gets that number. State and results of a
dropped query can therefore never be mistaken for those of a later query with the same name.
Rule 3: a change adds or drops queries, and waits for a batch. A batch manifest says what one batch starts with: the
last change that it includes, and which queries are placed on which node or parked.
Rule 4: changes and manifests are two chains. Each has the checksum of the one before it, its link, and a manifest also
that of its last change. Files of release 0.1 have no links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

# These columns are in the files of a checkpoint: a new name is a new file format.
ADDED: Final = pl.Schema(
    {"number": pl.Int64, "name": pl.String, "tenant": pl.String, "family": pl.String, "text": pl.String}
)
MEMBERS: Final = pl.Schema([*ADDED.items(), ("node", pl.Int32()), ("since", pl.Int64()), ("parked", pl.String())])
PLACED: Final = pl.Schema({"number": pl.Int64, "node": pl.Int32})
PARKED: Final = pl.Schema({"number": pl.Int64, "parked": pl.String})


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Queries to add and queries to drop, as one accepted request asked."""

    serial: int  # from 1, without gaps
    added: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ADDED))
    dropped: tuple[int, ...] = ()
    previous: str | None = None  # link of the change before it
    link: str = ""  # checksum of its file


@dataclass(frozen=True, slots=True, eq=False)
class BatchManifest:
    """The difference between the queries of one batch and those of the batch before it."""

    batch: int
    last_serial: int  # the batch includes all changes up to this serial number
    placed: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLACED))  # new queries and moved ones
    parked: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PARKED))  # from this batch on, and why
    previous: tuple[int, str] | None = None  # batch and link of the manifest before it
    change: str | None = None  # link of the last change that it includes
    link: str = ""  # checksum of its file


@dataclass(frozen=True, slots=True, eq=False)
class QueryLog:
    """The log applied up to one batch: a table of all its queries, by number."""

    members: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MEMBERS))
    batch: int = -1  # of the last manifest
    last_serial: int = 0  # of the last change
    next_number: int = 0  # for the next query that is accepted
    link: str = ""  # of the last manifest
    change: str = ""  # link of the last change

    @property
    def live(self) -> pl.DataFrame:
        """The queries that run: all that are not parked."""
        return self.members.filter(pl.col("parked").is_null())


def advance(query_log: QueryLog, changes: Iterable[Change], manifest: BatchManifest) -> QueryLog:
    """Apply a manifest; `changes` are those after the log's last one, up to the manifest's last one, in order."""
    members = query_log.members
    serial = query_log.last_serial
    next_number = query_log.next_number
    link = query_log.change
    for change in changes:
        if change.serial != serial + 1:
            raise ValueError(f"change {change.serial} follows change {serial}, but serial numbers have no gaps")
        serial = change.serial
        link = change.link
        if change.added.height:
            # Node -1 until the manifest places it, below.
            fresh = {"node": -1, "since": manifest.batch, "parked": None}
            added = change.added.with_columns(pl.lit(value, MEMBERS[name]).alias(name) for name, value in fresh.items())
            members = pl.concat([members, added.select(MEMBERS.names())])
            next_number = max(next_number, int(change.added["number"][-1]) + 1)
        if change.dropped:
            members = members.filter(~pl.col("number").is_in(list(change.dropped)))
    if serial != manifest.last_serial:
        raise ValueError(
            f"the manifest of batch {manifest.batch} ends with change {manifest.last_serial}, but the log with {serial}"
        )
    members = _with_values(_with_values(members, manifest.placed, "node"), manifest.parked, "parked")
    return QueryLog(members.rechunk(), manifest.batch, serial, next_number, manifest.link, link)


def _with_values(members: pl.DataFrame, values: pl.DataFrame, column: str) -> pl.DataFrame:
    """Overwrite one column of the members whose numbers are in `values`."""
    if not values.height:
        return members
    joined = members.join(values.rename({column: "new"}), on="number", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("new", column).alias(column)).drop("new")


def parked_frame(reasons: Mapping[int, str]) -> pl.DataFrame:
    """Return numbers and reasons as the `parked` table of a manifest."""
    return pl.DataFrame({"number": list(reasons), "parked": list(reasons.values())}, schema=PARKED)
