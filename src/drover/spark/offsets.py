"""How far Spark's own checkpoint has come, and whether that fits drover's commits.

Rule 1: drover reads Spark's files and never writes them.
Rule 2: Spark may repeat drover's last batch or begin the one after it. Anything else means that files of one of the two
are missing, and continuing would lose rows or process them twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyarrow.fs import FileSystem, LocalFileSystem

from drover.errors import StateError
from drover.flow.state.commits import Checkpoint
from drover.flow.state.layout import COMMITS, commit_name
from drover.flow.state.storage import RESTORE, exists, join, open_root, sizes
from drover.spark.commit_notes import NONE, notes_of
from drover.spark.spark_logs import COMMITTED, METADATA, OFFSETS, SPARK


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """The last batch that Spark has begun, and the last that it has finished; NONE before the first."""

    begun: int
    done: int


def location(checkpoint: str) -> str:
    """Return the path of Spark's own files in a checkpoint, in the form that Spark expects."""
    fs, path = open_root(checkpoint)
    return join(path if isinstance(fs, LocalFileSystem) else checkpoint, SPARK)


def spark_batch(checkpoint: Checkpoint) -> int:
    """Return the last of Spark's batches that the state includes."""
    return notes_of(checkpoint).spark_batch


def read_progress(fs: FileSystem, root: str, checkpoint: Checkpoint) -> BatchProgress:
    """Return how far Spark has come; StateError if that does not fit drover's commits."""
    if checkpoint.batch >= 0 and not exists(fs, join(root, METADATA)):
        raise StateError(join(root, METADATA), "the file with which Spark knows its query again", "none", RESTORE)
    found = BatchProgress(_last(fs, join(root, OFFSETS)), _last(fs, join(root, COMMITTED)))
    # Spark never gives the rows of a batch again that it has finished.
    if found.done > spark_batch(checkpoint):
        raise _lost(root, checkpoint, found.done)
    # Spark would give rows again that are in the state already.
    if found.begun < spark_batch(checkpoint):
        raise _behind(join(root, f"{OFFSETS}/{spark_batch(checkpoint)}"), checkpoint, found.begun)
    return found


def check_follows(root: str, checkpoint: Checkpoint, batch: int) -> None:
    """Refuse one of Spark's batches that is neither the last one in the state nor the one after it."""
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
