"""Submitted queries as one table, and what a batch makes of it.

Rule 1: pure functions on frozen data. Rule 2: a query gets a number when it is accepted, and no other query ever gets
it again, so that state and results of one that was dropped are never taken for those of a namesake.
Rule 3: a wish (queries to add, numbers to drop) waits for a turn; a turn says what one batch begins with: how many
wishes are in it, and which queries are on which node or parked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import polars as pl

ADDED: Final = pl.Schema(
    {"number": pl.Int64, "name": pl.String, "tenant": pl.String, "family": pl.String, "text": pl.String}
)
MEMBERS: Final = pl.Schema([*ADDED.items(), ("node", pl.Int32()), ("since", pl.Int64()), ("parked", pl.String())])
PLACED: Final = pl.Schema({"number": pl.Int64, "node": pl.Int32})
PARKED: Final = pl.Schema({"number": pl.Int64, "parked": pl.String})


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """What one call has asked for and was promised: queries to add, and queries to drop."""

    serial: int  # from 1, without gaps
    added: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ADDED))
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What one batch begins with that the batch before it did not."""

    batch: int
    upto: int  # wishes with a serial number up to this are in it
    placed: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLACED))  # new ones, and those that move
    parked: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PARKED))  # from now on, with the reason


@dataclass(frozen=True, slots=True, eq=False)
class Book:
    """The queries as a batch has them, in order of their numbers."""

    members: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=MEMBERS))
    batch: int = -1  # of the last turn
    upto: int = 0  # serial number of the last wish
    following: int = 0  # the number that the next query gets

    @property
    def live(self) -> pl.DataFrame:
        """The queries that run: all but those that are parked."""
        return self.members.filter(pl.col("parked").is_null())


def advance(book: Book, wishes: Iterable[Wish], turn: Turn) -> Book:
    """Return the book with a turn taken; `wishes` are those between the book's and the turn's, in order."""
    members, upto, following = book.members, book.upto, book.following
    for wish in wishes:
        if wish.serial != upto + 1:
            raise ValueError(f"wish {wish.serial} after {upto}: wishes have no gaps")
        upto = wish.serial
        if wish.added.height:
            fresh = {"node": -1, "since": turn.batch, "parked": None}
            added = wish.added.with_columns(pl.lit(value, MEMBERS[name]).alias(name) for name, value in fresh.items())
            members = pl.concat([members, added.select(MEMBERS.names())])
            following = max(following, int(wish.added["number"][-1]) + 1)
        if wish.dropped:
            members = members.filter(~pl.col("number").is_in(list(wish.dropped)))
    if upto != turn.upto:
        raise ValueError(f"the turn of batch {turn.batch} needs wishes up to {turn.upto}, but they end with {upto}")
    members = _updated(_updated(members, turn.placed, "node"), turn.parked, "parked")
    return Book(members.rechunk(), turn.batch, upto, following)


def _updated(members: pl.DataFrame, change: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the members with other values in a column, for those that the change names."""
    if not change.height:
        return members
    joined = members.join(change.rename({column: "new"}), on="number", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("new", column).alias(column)).drop("new")


def moved(before: Book, after: Book) -> pl.DataFrame:
    """Return the queries that run in both and have another node: number, family, source, target."""
    joined = before.live.select("number", "family", source="node").join(
        after.live.select("number", target="node"), on="number", maintain_order="left"
    )
    return joined.filter((pl.col("source") != pl.col("target")) & (pl.col("source") >= 0))


def parked_frame(reasons: Mapping[int, str]) -> pl.DataFrame:
    """Return numbers and reasons as a turn has them."""
    return pl.DataFrame({"number": list(reasons), "parked": list(reasons.values())}, schema=PARKED)
