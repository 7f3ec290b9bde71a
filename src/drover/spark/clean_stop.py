"""The mark of a run that ended between two batches.

Rule 1: Spark writes the offsets of a batch before drover sees it, so Spark's files alone do not say whether a batch was
begun. The mark does: no batch after the one that it names has been begun, and no sink has rows of one.
Rule 2: the mark is void from the moment in which a run may begin a batch. Without it, the worst is assumed.
"""

from __future__ import annotations

from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.planlog import PlanLogEntry
from drover.flow.state.commits import Checkpoint
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import exists, join, read_whole, write_whole
from drover.spark.offsets import BatchProgress, spark_batch

NAME: Final = "stopped.json"
VOID: Final = -2  # no batch has this number


def mark_stop(fs: FileSystem, root: str, batch: int) -> None:
    """Note that the run has ended after `batch`, and has begun no other."""
    data, _ = seal({"format": FORMAT, "batch": 0, "after": batch})
    write_whole(fs, join(root, NAME), [data])


def void_stop(fs: FileSystem, root: str) -> None:
    """Take the mark back, durably, before a batch may begin."""
    if exists(fs, join(root, NAME)):
        mark_stop(fs, root, VOID)


def may_have_begun(
    fs: FileSystem, root: str, checkpoint: Checkpoint, progress: BatchProgress, planned: PlanLogEntry | None
) -> bool:
    """Return whether sinks may have rows of the batch after the last committed one."""
    if _stopped_after(fs, root) == checkpoint.batch:
        return False
    closing = planned is not None and planned.closing and planned.batch == checkpoint.batch + 1
    return closing or progress.begun > spark_batch(checkpoint)


def _stopped_after(fs: FileSystem, root: str) -> int:
    path = join(root, NAME)
    if not exists(fs, path):
        return VOID
    try:
        body, _ = unseal(path, read_whole(fs, path), 0)
        return int(body["after"])
    except (StateError, KeyError, TypeError, ValueError):
        # A damaged mark proves nothing, and nothing else depends on it.
        return VOID
