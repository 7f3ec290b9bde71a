"""Member tables by family, derived from the query log and rebuilt only where something changed.

Rule 1: everything works on whole columns, because a family may have 100,000 members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa

from drover.flow.families.members import CONSTANT, MEMBER, NODE, MemberTable, make_members, members_of_columns
from drover.flow.families.topics import ALL
from drover.flow.query_log.figures import TopicRates
from drover.flow.query_log.log import QueryLog
from drover.load.arrays import Ints
from drover.network.queries import Query, Shape, Shaped

if TYPE_CHECKING:  # these load compiled code, which a command that only reads a checkpoint does without
    from drover.control.query_placer import TopicsRead
    from drover.network.queries.text_shapes import ShapedTexts

Topic = tuple[str, str, object]  # stream, key column and key value: the rows that a query reads from a stream


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """A shape and its members; `stored` names the file of the table once it is written."""

    shape: Shape
    table: pa.Table
    stored: MemberTable | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """All families that have members, by the id of their shape."""

    by_id: Mapping[str, Family] = field(default_factory=dict)

    @property
    def shapes(self) -> list[Shape]:
        """The shapes, sorted by id."""
        return [self.by_id[name].shape for name in sorted(self.by_id)]

    @property
    def bytes(self) -> int:
        """The size of all member tables."""
        return sum(family.table.nbytes for family in self.by_id.values())

    @property
    def stored(self) -> dict[str, MemberTable]:
        """The member tables that are written, by the id of the shape."""
        return {name: family.stored for name, family in sorted(self.by_id.items()) if family.stored is not None}


def tables_of(members: Iterable[tuple[int, Query, Shaped]]) -> dict[str, Family]:
    """Group queries, given with their numbers, into families. No member has a node yet."""
    grouped: dict[str, list[tuple[int, Query, Shaped]]] = {}
    for member in members:
        grouped.setdefault(member[2].shape.id, []).append(member)
    return {name: Family(group[0][2].shape, _table(group[0][2].shape, group)) for name, group in grouped.items()}


def _table(shape: Shape, members: Sequence[tuple[int, Query, Shaped]]) -> pa.Table:
    numbers, queries, shaped = zip(*members, strict=True)
    nodes = [-1] * len(members)
    return make_members(shape, numbers, [query.name for query in queries], nodes, [one.constants for one in shaped])


def family_of_texts(found: ShapedTexts, numbers: Ints) -> Family:
    """Return queries of one shape, which have these numbers, as a family. No member has a node yet."""
    names = found.names.to_arrow()
    nodes = np.full(len(numbers), -1)
    return Family(found.shape, members_of_columns(found.shape, [numbers, names, nodes, *found.constants]))


def merged(families: Iterable[Family]) -> dict[str, Family]:
    """Return families by the id of their shapes; those of one shape become one."""
    parts: dict[str, list[Family]] = {}
    for family in families:
        parts.setdefault(family.shape.id, []).append(family)
    return {name: found[0] if len(found) == 1 else _joined(found) for name, found in parts.items()}


def _joined(families: Sequence[Family]) -> Family:
    return Family(families[0].shape, pa.concat_tables([family.table for family in families]).sort_by(MEMBER))


def update_families(
    families: Families, query_log: QueryLog, added: Iterable[Mapping[str, Family]], touched: Iterable[str]
) -> Families:
    """Return the families as of a query log: with `added`, and without members that are dropped or parked.

    `touched` names the families whose members changed; the others are kept as they are.
    """
    live = query_log.live
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
            made[name] = replace(parts[0], table=table, stored=None)
    return Families(made)


def _placed(table: pa.Table, numbers: Ints, nodes: Ints) -> pa.Table:
    """Return the rows of the live members with their current nodes; `numbers` ascend."""
    members = table.column(MEMBER).to_numpy()
    if not len(numbers):
        return table.slice(0, 0)
    # Both are sorted by number, so a search finds each member among the live ones, or a neighbour if it is not live.
    at = np.minimum(np.searchsorted(numbers, members), len(numbers) - 1)
    is_live = numbers[at] == members
    kept = table.filter(pa.array(is_live))
    index = kept.schema.get_field_index(NODE)
    return kept.set_column(index, kept.schema.field(index), pa.array(nodes[at[is_live]], kept.schema.field(index).type))


def topics_of(families: Iterable[Family], chosen: Ints | None = None) -> tuple[Ints, TopicsRead]:
    """Return the numbers of all members, ascending, and the topic that each reads of each of its streams.

    With `chosen`, only these members are returned.
    """
    from drover.control.query_placer import TopicsRead  # noqa: PLC0415 - see above

    numbers: dict[Topic, int] = {}
    members = [np.zeros(0, np.int64)]
    topics = [np.zeros(0, np.int64)]
    for family in families:
        table = pl.DataFrame(family.table)
        if chosen is not None:
            table = table.filter(pl.Series(np.isin(table[MEMBER].to_numpy(), chosen)))
        for stream in family.shape.reads:
            members.append(table[MEMBER].to_numpy())
            topics.append(_topics_of_stream(family.shape, stream, table, numbers))
    member = np.concatenate(members)
    order = np.argsort(member, kind="stable")
    found, counts = np.unique(member, return_counts=True)
    start = np.concatenate([[0], np.cumsum(counts)])
    return found, TopicsRead(tuple(numbers), start, np.concatenate(topics)[order])


def _topics_of_stream(shape: Shape, stream: str, members: pl.DataFrame, numbers: dict[Topic, int]) -> Ints:
    """Return the topic of each member in a stream; new topics get numbers."""
    key = shape.key_of(stream)
    if key is None:
        return np.full(members.height, numbers.setdefault((stream, ALL, None), len(numbers)))
    values = members.select(pl.col(f"{CONSTANT}{key.constant}").alias("value"))
    distinct = values.unique(maintain_order=True)
    found = [numbers.setdefault((stream, key.column, value), len(numbers)) for value in distinct["value"]]
    known = distinct.with_columns(pl.Series("topic", found, pl.Int64))
    return values.join(known, on="value", how="left", maintain_order="left")["topic"].to_numpy()


def stream_of(topic: object) -> str:
    """Return the stream of a topic."""
    assert isinstance(topic, tuple)
    return str(topic[0])


def rates_of(topics: Iterable[TopicRates]) -> dict[Topic, float]:
    """Return the rate of every topic."""
    return {
        (one.stream, one.column, value): rate
        for one in topics
        for value, rate in one.table["value", "rate"].iter_rows()
    }


def families_named(members: pl.DataFrame, numbers: pl.Series) -> set[str]:
    """Return the ids of the families that have members with these numbers."""
    return set(members.filter(pl.col("number").is_in(numbers.implode()))["family"].unique())
