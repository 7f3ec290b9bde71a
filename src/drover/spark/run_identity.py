"""The identity of a run: a random id that its checkpoint keeps for as long as it exists.

Rule 1: the id is in `run.json` before anything is written outside the checkpoint, and in every commit. Sink folders
repeat it, so that a folder with rows of another run is recognised.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.documents import seal, verify
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole
from drover.spark.changes import NETWORK

FILE: Final = "run.json"


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The id of a run, and whether the checkpoint is of a version that kept none."""

    id: str
    upgraded: bool = False


def recall_run(fs: FileSystem, root: str, noted: str | None) -> RunIdentity:
    """Return the identity of the run on a checkpoint, a new one for a new checkpoint; this writes nothing.

    `noted` is the id in the last commit.
    """
    found = _read(fs, root, noted)
    if found is None:
        # Every version of drover writes the network when it starts, so a checkpoint with a network but no id is old.
        return RunIdentity(noted or uuid.uuid4().hex, upgraded=noted is None and exists(fs, join(root, NETWORK)))
    if noted is not None and noted != found.id:
        raise StateError(
            join(root, FILE), f"run {noted}, as in the last commit", f"run {found.id}: files of two were mixed", RESTORE
        )
    return found


def save_run(fs: FileSystem, root: str, identity: RunIdentity) -> None:
    """Write the identity, if the checkpoint has another or none."""
    if _read(fs, root, identity.id) != identity:
        write_whole(fs, join(root, FILE), [seal({"run": identity.id, "upgraded": identity.upgraded})[0]])


def _read(fs: FileSystem, root: str, noted: str | None) -> RunIdentity | None:
    path = join(root, FILE)
    if not exists(fs, path):
        return None
    try:
        body = json.loads(verify(path, read_whole(fs, path))[0])
    except StateError:
        if noted is not None:  # the commit has the same, and the file is written again
            return None
        raise
    return RunIdentity(body["run"], body["upgraded"])
