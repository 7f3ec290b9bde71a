"""How far Spark has come by its own checkpoint, and whether that fits what drover has committed.

Rule 1: Spark's files are read, never written. Rule 2: Spark may be at drover's last batch or begin the one after it;
anything else means that files of one of the two are gone, and going on would lose rows or take them twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyarrow.fs import FileSystem, LocalFileSystem

from drover.errors import StateError
from drover.flow.state.commits import Checkpoint
from drover.flow.state.layout import COMMITS, commit_name
from drover.flow.state.storage import RESTORE, exists, join, open_root, sizes

SPARK: Final = "spark"
NONE: Final = -1  # the batch before Spark's first


@dataclass(frozen=True, slots=True)
class Pace:
    """The last batch that Spark has begun, and the last it has done; NONE before the first."""

    begun: int
    done: int


def location(checkpoint: str) -> str:
    """Return where Spark keeps its own files of a checkpoint, as Spark is told."""
    fs, path = open_root(checkpoint)
    return join(path if isinstance(fs, LocalFileSystem) else checkpoint, SPARK)


def spark_batch(checkpoint: Checkpoint) -> int:
    """Return the last of Spark's batches that is in the state."""
    return int(checkpoint.notes.get("spark_batch", NONE))


def read_pace(fs: FileSystem, root: str, checkpoint: Checkpoint) -> Pace:
    """Return how far Spark has come; StateError if that cannot be with what is committed."""
    folder = join(root, SPARK)
    if checkpoint.batch >= 0 and not exists(fs, join(folder, "metadata")):
        raise StateError(join(folder, "metadata"), "the file with which Spark knows its query again", "none", RESTORE)
    pace = Pace(_last(fs, join(folder, "offsets")), _last(fs, join(folder, "commits")))
    if pace.done > spark_batch(checkpoint):
        raise _lost(root, checkpoint, pace.done)
    if pace.begun < spark_batch(checkpoint):
        raise _behind(join(folder, "offsets"), checkpoint, pace.begun)
    return pace


def check_follows(root: str, checkpoint: Checkpoint, batch: int) -> None:
    """Refuse a batch of Spark's that is neither the last one in the state nor the one after it."""
    last = spark_batch(checkpoint)
    if batch > last + 1:
        raise _lost(root, checkpoint, batch - 1)
    if batch < last:
        raise _behind(join(root, SPARK), checkpoint, batch)


def _behind(path: str, checkpoint: Checkpoint, batch: int) -> StateError:
    found = f"that Spark is at batch {batch}: its files are older than drover's, or gone"
    return StateError(path, f"Spark to go on after its batch {spark_batch(checkpoint)}", found, RESTORE)


def _lost(root: str, checkpoint: Checkpoint, done: int) -> StateError:
    path = join(join(root, COMMITS), commit_name(checkpoint.batch + 1))
    last = spark_batch(checkpoint)
    found = f"none, though Spark has done batch {done}: rows after Spark's batch {last} would be lost"
    return StateError(path, f"the commit of Spark's batch {last + 1}", found, RESTORE)


def _last(fs: FileSystem, folder: str) -> int:
    return max((int(name) for name in sizes(fs, folder) if name.isdecimal()), default=NONE)
