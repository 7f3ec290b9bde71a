"""What a clerk finds when it comes back: the queries of the last committed batch, and what waits for the next ones.

Rule 1: a query that was accepted and fits the network no more is parked with the reason; nothing is lost in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from drover.errors import NetworkError
from drover.flow.book.book import Book, Turn, Wish
from drover.flow.book.files import recover
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.network.queries import Query, Shaped, Shapes
from drover.network.queries.notation import entries_of
from drover.network.queries.read import read_entry
from drover.spark.queries.families import Families, Family, renewed, tables_of
from drover.spark.queries.names import Names

NOTES: Final = "queries"  # in the notes of a commit
Shapely = Mapping[int, tuple[Query, Shaped]]  # by number


@dataclass(frozen=True, slots=True)
class Ready:
    """A wish that waits for a batch, with the tables of what it adds."""

    wish: Wish
    tables: Mapping[str, Family] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Reopened:
    """All that a clerk knows."""

    book: Book
    families: Families
    ready: Sequence[Ready]
    names: Names
    failed: dict[int, str]  # to be parked with the next batch that is not repeated
    begun: Turn | None  # of a batch that an earlier run may have begun
    serial: int  # of the last wish
    following: int  # the number that the next query gets
    shaped: Shapely
    nodes: Mapping[int, int]  # of those that have one


def reopen(root: str, checkpoint: Checkpoint, shapes: Shapes) -> Reopened:
    """Return what the checkpoint says about queries."""
    notes: Mapping[str, Any] = checkpoint.notes.get(NOTES, {})  # Any: JSON
    found = recover(*open_root(root), checkpoint.batch, notes.get("turn", -1))
    book, names = found.book, Names()
    failed = {int(number): reason for number, reason in notes.get("failed", {}).items()}
    shaped = shaped_of(dict(book.live.select("number", "text").iter_rows()), shapes, failed)
    families = renewed(Families(), book, [tables_of((number, *one) for number, one in shaped.items())], ())
    names.add(book.members.select("name", "number", "tenant").iter_rows())
    ready, following = [], book.following
    name_of = dict(book.members.select("number", "name").iter_rows())
    for wish in found.wishes:
        new = shaped_of(dict(wish.added.select("number", "text").iter_rows()), shapes, failed)
        shaped |= new
        ready.append(Ready(wish, tables_of((number, *one) for number, one in new.items())))
        names.add(wish.added.select("name", "number", "tenant").iter_rows())
        name_of |= dict(wish.added.select("number", "name").iter_rows())
        names.remove(name_of[number] for number in wish.dropped)
        following = max(following, *(number + 1 for number in wish.added["number"]), 0)
    nodes = dict(book.live.select("number", "node").iter_rows())
    if found.begun is not None:
        nodes |= dict(found.begun.placed.iter_rows())
    serial = found.wishes[-1].serial if found.wishes else book.upto
    return Reopened(book, families, ready, names, failed, found.begun, serial, following, shaped, nodes)


def shaped_of(texts: Mapping[int, str], shapes: Shapes, failed: dict[int, str]) -> dict[int, tuple[Query, Shaped]]:
    """Return queries with their shapes, by number; those that fit the network no more go to `failed`, with reasons."""
    good: dict[int, tuple[Query, Shaped]] = {}
    for number, text in texts.items():
        draft = read_entry(entries_of(text, ".jsonl")[0])
        try:
            if draft.query is None:
                raise NetworkError(draft.faults)
            good[number] = (draft.query, shapes.shape_of(draft.query))
        except NetworkError as error:
            failed.setdefault(number, f"it does not fit the network any more: {error.faults[0].text}")
    return good
