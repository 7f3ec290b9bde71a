"""The tables of members that follow from the book, family by family, made again only where something has changed.

Rule 1: whatever is done here is done on whole columns: a family may have 100,000 members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pyarrow as pa

from drover.flow.book.book import Book
from drover.flow.families.members import MEMBER, NODE, Roll, make_members
from drover.load.arrays import Ints
from drover.network.queries import Query, Shape, Shaped

Topic = tuple[str, str, object]  # a stream, and the column and value that its rows are looked up by; or all of them
ALL = ""  # stands for the column where a query wants all rows


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A shape and its members; `roll` says where the table lies, once it is written."""

    shape: Shape
    table: pa.Table
    roll: Roll | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """All families that have members, by the id of their shapes."""

    by_id: Mapping[str, Family] = field(default_factory=dict)

    @property
    def shapes(self) -> list[Shape]:
        """The shapes, in order of their ids."""
        return [self.by_id[name].shape for name in sorted(self.by_id)]

    @property
    def rolls(self) -> dict[str, Roll]:
        """Where the tables lie that are written."""
        return {name: one.roll for name, one in sorted(self.by_id.items()) if one.roll is not None}


def tables_of(members: Iterable[tuple[int, Query, Shaped]]) -> dict[str, Family]:
    """Return the families of queries with their numbers, all of them on no node yet."""
    grouped: dict[str, list[tuple[int, Query, Shaped]]] = {}
    for one in members:
        grouped.setdefault(one[2].shape.id, []).append(one)
    return {name: Family(of[0][2].shape, _table(of[0][2].shape, of)) for name, of in grouped.items()}


def _table(shape: Shape, members: Sequence[tuple[int, Query, Shaped]]) -> pa.Table:
    numbers, queries, shaped = zip(*members, strict=True)
    nodes = [-1] * len(members)
    return make_members(shape, numbers, [one.name for one in queries], nodes, [one.constants for one in shaped])


def renewed(families: Families, book: Book, added: Iterable[Mapping[str, Family]], touched: Iterable[str]) -> Families:
    """Return the families as the book has them: with those that are added, without those that are gone or parked.

    `touched` are the families in which anything has changed; the others stay as they are.
    """
    live = book.live
    numbers: Ints = live["number"].to_numpy()
    nodes: Ints = live["node"].to_numpy()
    pieces: dict[str, list[Family]] = {name: [families.by_id[name]] for name in touched if name in families.by_id}
    for tables in added:
        for name, family in tables.items():
            pieces.setdefault(name, [families.by_id[name]] if name in families.by_id else []).append(family)
    made = dict(families.by_id)
    for name, parts in pieces.items():
        table = _placed(pa.concat_tables([part.table for part in parts]), numbers, nodes)
        made.pop(name, None)
        if table.num_rows:
            made[name] = replace(parts[0], table=table, roll=None)
    return Families(made)


def _placed(table: pa.Table, numbers: Ints, nodes: Ints) -> pa.Table:
    """Return the rows of members that run, with their nodes; `numbers` ascend."""
    members = table.column(MEMBER).to_numpy()
    if not len(numbers):
        return table.slice(0, 0)
    at = np.minimum(np.searchsorted(numbers, members), len(numbers) - 1)
    here = numbers[at] == members
    kept = table.filter(pa.array(here))
    index = kept.schema.get_field_index(NODE)
    return kept.set_column(index, kept.schema.field(index), pa.array(nodes[at[here]], kept.schema.field(index).type))


def topics_of(shaped: Shaped) -> list[Topic]:
    """Return what a query wants to see, stream by stream."""
    found: list[Topic] = []
    for stream in shaped.shape.reads:
        key = shaped.shape.key_of(stream)
        found.append((stream, ALL, None) if key is None else (stream, key.column, shaped.constants[key.constant]))
    return found


def families_named(members: pl.DataFrame, numbers: pl.Series) -> set[str]:
    """Return the families of the members with these numbers."""
    return set(members.filter(pl.col("number").is_in(numbers.implode()))["family"].unique())
