"""How many rows of each topic a node received. A topic is what a query reads of a stream: see `TopicCounts`.

Rule 1: a topic has the same rows on every node that reads it, so the counts of several nodes never add up.
Rule 2: all rows that travel for a query count, also those that its other conditions drop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from drover.flow.families.fan_out import Memo, match_members
from drover.flow.families.local_members import LocalMembers
from drover.network.queries.shape import LookupKey, Shape, ShapeStep

ALL: Final = ""  # in place of the column, if a query reads all rows of a stream
VALUE: Final = "value"
ROWS: Final = "rows"


@dataclass(frozen=True, slots=True, eq=False)
class TopicCounts:
    """The topics of a stream that a family reads on a node: the rows with one value in a column, or all rows.

    `table` has a row per topic: value of the column (null for all rows), and rows int64.
    """

    stream: str
    column: str
    rows: int  # of the stream on this node
    bytes: int  # of these rows
    table: pa.Table


def count_topics(
    shape: Shape, streams: Mapping[str, pl.DataFrame], local: LocalMembers, memo: Memo
) -> tuple[TopicCounts, ...]:
    """Return the topics that the members of a family read on this node, by stream."""
    return tuple(_count(shape, stream, streams.get(stream), local, memo) for stream in shape.reads)


def _count(shape: Shape, stream: str, rows: pl.DataFrame | None, local: LocalMembers, memo: Memo) -> TopicCounts:
    key = shape.key_of(stream)
    column = ALL if key is None else key.column
    height = 0 if rows is None else rows.height
    if key is None:
        table = pl.DataFrame({VALUE: [None], ROWS: [height]}, schema={VALUE: pl.String(), ROWS: pl.Int64()})
    else:
        table = _by_value(_reader(shape, stream, key), rows, local, memo)
    return TopicCounts(stream, column, height, 0 if rows is None else int(rows.estimated_size()), table.to_arrow())


def _reader(shape: Shape, stream: str, key: LookupKey) -> ShapeStep:
    """Return a step that reads the stream, without its other conditions: rows travel whether or not these hold."""
    step = next(step for step in shape.steps if stream in step.inputs)
    return replace(step, common=None, keys=(key,))


def _by_value(step: ShapeStep, rows: pl.DataFrame | None, local: LocalMembers, memo: Memo) -> pl.DataFrame:
    lookup = local.lookup(step.keys)
    size = np.zeros(lookup.groups, np.int64)
    if rows is not None and rows.height:
        coded, code = match_members(step, rows, local, memo)
        size[lookup.group] = np.where(code >= 0, coded.size[code], 0)
    return lookup.values.select(pl.col("k0").alias(VALUE), pl.Series(ROWS, size))
