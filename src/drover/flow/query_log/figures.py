"""The last measurements of queries, kept in a file of the checkpoint for reports and for the next run.

Rule 1: a run reads this file once, when it starts, and only to place queries better: no result depends on it. It is
replaced as a whole every few batches, without waiting for the disk. A reader reports a missing or damaged file and
continues without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.query_log.chain import FOLDER
from drover.flow.query_log.files import pack, unpack
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole

FIGURES: Final = pl.Schema(
    {
        "number": pl.Int64,
        "rows_in": pl.Float64,  # per second
        "rows_out": pl.Float64,  # per second
        "busy": pl.Float64,  # busy seconds per second
        "state_rows": pl.Int64,
        "state_bytes": pl.Int64,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class TopicRates:
    """The rates of the topics of a stream by a column, or of the whole stream."""

    stream: str
    column: str  # "" for all rows
    table: pl.DataFrame  # `value` of the column, null for all rows; `rate` in bytes per second


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Means over the last measured batches; state sizes are those of the last one."""

    batch: int  # the last measured batch
    seconds: float  # wall-clock time of the measured batches together
    replication: float  # mean number of nodes that a row is sent to, weighted by rate
    sent: Mapping[str, float]  # bytes per second that the router sent, by source
    busy: tuple[float, ...]  # busy seconds per second of all queries, by node
    queries: pl.DataFrame  # FIGURES
    topics: tuple[TopicRates, ...] = ()  # of all queries; files of release 0.1 have none


def write_figures(fs: FileSystem, root: str, figures: Figures) -> None:
    """Replace the stored figures."""
    head = {
        "batch": figures.batch,
        "seconds": figures.seconds,
        "replication": figures.replication,
        "sent": dict(figures.sent),
        "busy": list(figures.busy),
        "topics": [[one.stream, one.column] for one in figures.topics],
    }
    tables = [figures.queries, *(one.table for one in figures.topics)]
    write_whole(fs, _path(root), [pack(head, tables)], durable=False)


def read_figures(fs: FileSystem, root: str) -> Figures | None:
    """Return the stored figures, or None if there are none; StateError if they are damaged."""
    path = _path(root)
    if not exists(fs, path):
        return None
    head, frames = unpack(path, read_whole(fs, path))
    try:
        queries, *tables = frames
        if queries.schema != FIGURES:
            raise ValueError(f"columns {', '.join(queries.columns)}")
        return Figures(
            int(head["batch"]),
            float(head["seconds"]),
            float(head["replication"]),
            {str(source): float(rate) for source, rate in head["sent"].items()},
            tuple(map(float, head["busy"])),
            queries,
            tuple(_topics(head.get("topics", []), tables)),
        )
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise StateError(path, "figures of queries", repr(error), RESTORE) from error


def _topics(names: Sequence[Sequence[Any]], tables: Sequence[pl.DataFrame]) -> Iterator[TopicRates]:  # Any: JSON
    for (stream, column), table in zip(names, tables, strict=True):
        rates = table["rate"]
        if table.columns != ["value", "rate"] or rates.dtype != pl.Float64() or not rates.is_finite().all():
            raise ValueError(f"rates of {stream!r}")
        if rates.null_count() or (rates < 0).any():
            raise ValueError(f"a negative rate of {stream!r}")
        yield TopicRates(str(stream), str(column), table)


def _path(root: str) -> str:
    return join(join(root, FOLDER), "figures.arrow")
