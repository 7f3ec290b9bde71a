"""The last measurements of queries, kept in a file of the checkpoint for reports.

Rule 1: no run reads this file. It is replaced as a whole every few batches, without waiting for the disk. A reader
reports a missing or damaged file and continues without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
class Figures:
    """Means over the last measured batches; state sizes are those of the last one."""

    batch: int  # the last measured batch
    seconds: float  # wall-clock time of the measured batches together
    replication: float  # mean number of nodes that a row is sent to, weighted by rate
    sent: Mapping[str, float]  # bytes per second that the router sent, by source
    busy: tuple[float, ...]  # busy seconds per second of all queries, by node
    queries: pl.DataFrame  # FIGURES


def write_figures(fs: FileSystem, root: str, figures: Figures) -> None:
    """Replace the stored figures."""
    head = {
        "batch": figures.batch,
        "seconds": figures.seconds,
        "replication": figures.replication,
        "sent": dict(figures.sent),
        "busy": list(figures.busy),
    }
    write_whole(fs, _path(root), [pack(head, [figures.queries])], durable=False)


def read_figures(fs: FileSystem, root: str) -> Figures | None:
    """Return the stored figures, or None if there are none; StateError if they are damaged."""
    path = _path(root)
    if not exists(fs, path):
        return None
    head, frames = unpack(path, read_whole(fs, path))
    try:
        (queries,) = frames
        if queries.schema != FIGURES:
            raise ValueError(f"columns {', '.join(queries.columns)}")
        return Figures(
            int(head["batch"]),
            float(head["seconds"]),
            float(head["replication"]),
            {str(source): float(rate) for source, rate in head["sent"].items()},
            tuple(map(float, head["busy"])),
            queries,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(path, "figures of queries", repr(error), RESTORE) from error


def _path(root: str) -> str:
    return join(join(root, FOLDER), "figures.arrow")
