"""The names of the files in a checkpoint.

Rule 1: every file except the lock belongs to one batch, and its name begins with the batch as 12 digits. So names sort
by batch.
Rule 2: a file whose name does not parse here is not drover's, and drover never deletes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

STATE: Final = "state"
COMMITS: Final = "commits"
LOCK: Final = "lock"
TEMPORARY: Final = ".tmp-"  # before the name of a file that is not complete

NAME: Final = re.compile(
    r"(?P<temporary>\.tmp-)?(?P<batch>\d{12,})(?P<kind>-[\w.-]+\.arrow|\.full\.json|\.json)", re.ASCII
)
WORD: Final = re.compile(r"[\w.-]+", re.ASCII)

Kind = Literal["state", "commit", "full"]


@dataclass(frozen=True, slots=True)
class FileNameParts:
    """What the name of a file says about it."""

    kind: Kind
    batch: int
    temporary: bool  # whether the file may be incomplete: it gets its final name when it is complete


def parse(name: str) -> FileNameParts | None:
    """Return what a file's name says, or None if the file is not part of a checkpoint.

    >>> parse("000000000042.json")
    FileNameParts(kind='commit', batch=42, temporary=False)
    """
    found = NAME.fullmatch(name)
    if found is None:
        return None
    kind: Kind = "commit" if found["kind"] == ".json" else "full" if found["kind"] == ".full.json" else "state"
    return FileNameParts(kind, int(found["batch"]), found["temporary"] is not None)


def commit_name(batch: int) -> str:
    """Return the name of the file that commits a batch."""
    return f"{batch:012}.json"


def full_name(batch: int) -> str:
    """Return the name of the file with a whole version."""
    return f"{batch:012}.full.json"


def state_name(batch: int, node: int, attempt: str) -> str:
    """Return the name of the file that a node task writes its deltas to.

    `attempt` must be different for every attempt of every run that may execute this batch on this node. The number of
    Spark's task attempt is not enough, because it starts again with every run.

    >>> state_name(42, 3, "a7")
    '000000000042-3-a7.arrow'
    """
    if batch < 0 or node < 0 or not WORD.fullmatch(attempt):
        raise ValueError(f"batch {batch}, node {node} and attempt {attempt!r} must be numbers from 0 and a word")
    return f"{batch:012}-{node}-{attempt}.arrow"
