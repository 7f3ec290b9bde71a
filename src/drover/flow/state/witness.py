"""The witness: one small file that names, with digests, what a start would read beyond the last commit.

A batch that was begun has files that no commit names yet: its plan, its queries and Spark's offsets. The witness names
them. So does a run that ends, for files that Spark writes after the last commit.

Rule 1: the witness only accuses. Without it, or with one that is damaged or older than the last commit, a checkpoint
opens as if there were none. So it is written without waiting for the disk.
Rule 2: files with which results stay the same are written durably before the witness names them. So after a power cut
it never accuses drover's own files wrongly.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.digests import Digests
from drover.flow.state.documents import FORMAT, seal, verify
from drover.flow.state.storage import exists, join, read_whole, write_whole

WITNESS: Final = "witness.json"
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Witness:
    """What a start would read, as of one moment after a commit."""

    after: int = -1  # the batch of that commit; -1 before the first
    link: str = ""  # the checksum of that commit
    begun: bool = False  # whether drover has begun the batch after it
    files: Digests = field(default_factory=dict)


def write_witness(fs: FileSystem, root: str, witness: Witness, *, durable: bool = False) -> None:
    """Replace the witness; with `durable`, the one before does not come back after a power cut."""
    body = {"format": FORMAT, "batch": witness.after, "link": witness.link, "begun": witness.begun}
    data, _ = seal({**body, "files": dict(witness.files)})
    write_whole(fs, join(root, WITNESS), [data], durable=durable)


def read_witness(fs: FileSystem, root: str) -> Witness | None:
    """Return the witness, or None if there is none that can be read."""
    path = join(root, WITNESS)
    if not exists(fs, path):
        return None
    try:
        body = json.loads(verify(path, read_whole(fs, path))[0])
        return Witness(int(body["batch"]), str(body["link"]), bool(body["begun"]), dict(body["files"]))
    # Without a witness, a start only checks less (rule 1).
    except (StateError, KeyError, TypeError, ValueError) as error:
        log.warning("the last batch that was begun is not checked, because its witness cannot be read: %s", error)
        return None
