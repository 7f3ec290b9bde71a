"""What was measured of queries last, in a file of the checkpoint, for whoever looks at a run from outside or later.

Rule 1: nothing depends on this file. It is written now and then, whole or not at all but without waiting for the disk,
and no run ever reads it; who does tells of what is missing or damaged, and goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.book.files import FOLDER, sealed, unsealed
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
    """Means over the last measured batches, and state as it was in the last of them."""

    batch: int  # the last that counts
    seconds: float  # that the batches took together, by the clock on the wall
    replication: float  # nodes that a row travels to which some query wants, on the mean, by rates
    sent: Mapping[str, float]  # bytes per second that the router sent, by source
    busy: tuple[float, ...]  # busy seconds per second of all queries, by node
    queries: pl.DataFrame  # FIGURES


def write_figures(fs: FileSystem, root: str, figures: Figures) -> None:
    """Write the figures in place of those before."""
    head = {
        "batch": figures.batch, "seconds": figures.seconds, "replication": figures.replication,
        "sent": dict(figures.sent), "busy": list(figures.busy),
    }  # fmt: skip
    write_whole(fs, _path(root), [sealed(head, [figures.queries])], durable=False)


def read_figures(fs: FileSystem, root: str) -> Figures | None:
    """Return the figures that were written last, or None; StateError if they are damaged."""
    path = _path(root)
    if not exists(fs, path):
        return None
    head, frames = unsealed(path, read_whole(fs, path))
    try:
        (queries,) = frames
        if queries.schema != FIGURES:
            raise ValueError(f"columns {', '.join(queries.columns)}")
        return Figures(
            int(head["batch"]), float(head["seconds"]), float(head["replication"]),
            {str(source): float(rate) for source, rate in head["sent"].items()},
            tuple(map(float, head["busy"])), queries,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(path, "figures of queries", repr(error), RESTORE) from error


def _path(root: str) -> str:
    return join(join(root, FOLDER), "figures.arrow")
