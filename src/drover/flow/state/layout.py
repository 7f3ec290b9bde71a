"""The names of the files of a checkpoint, and what a name says.

Rule 1: every file but the lock belongs to one batch, and its name begins with it: 12 digits, so names sort by batch.
Rule 2: a name that does not parse here was not written here, and nobody deletes it.
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
class Name:
    """What the name of a file says about it."""

    kind: Kind
    batch: int
    temporary: bool  # it was being written; complete only if it lacks this mark


def parse(name: str) -> Name | None:
    """Return what a file's name says, or None if the file is not part of a checkpoint.

    >>> parse("000000000042.json")
    Name(kind='commit', batch=42, temporary=False)
    """
    found = NAME.fullmatch(name)
    if found is None:
        return None
    kind: Kind = "commit" if found["kind"] == ".json" else "full" if found["kind"] == ".full.json" else "state"
    return Name(kind, int(found["batch"]), found["temporary"] is not None)


def commit_name(batch: int) -> str:
    """Return the name of the file that commits a batch."""
    return f"{batch:012}.json"


def full_name(batch: int) -> str:
    """Return the name of the file that holds all of a version."""
    return f"{batch:012}.full.json"


def state_name(batch: int, node: int, attempt: str) -> str:
    """Return the name of the file that a node task writes its deltas to.

    `attempt` tells apart everything that may ever run this batch on this node: it names the run of the application
    as well as the attempt of the task, because numbers of attempts begin again with every run.

    >>> state_name(42, 3, "a7")
    '000000000042-3-a7.arrow'
    """
    if batch < 0 or node < 0 or not WORD.fullmatch(attempt):
        raise ValueError(f"batch {batch}, node {node} and attempt {attempt!r} must be numbers from 0 and a word")
    return f"{batch:012}-{node}-{attempt}.arrow"
