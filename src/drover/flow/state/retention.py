"""Deleting the files of a checkpoint that no recent version needs.

Rule 1: files that a kept version needs stay. So do all files of batches after the last commit, which may be running.
Rule 2: if a sweep dies at any point, the checkpoint loads as before, and the next sweep continues.
Rule 3: a sweep deletes only files whose names `layout.py` recognises.

Everything else goes: files of failed task attempts and crashed runs, and files whose segments have all expired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.commits import recent, verify_full
from drover.flow.state.layout import COMMITS, STATE, commit_name, parse
from drover.flow.state.storage import delete, join, sizes
from drover.flow.state.versions import SavedUnit, Version

KEEP: Final = 10  # versions: two for the next batch and a replay of the last, the others for people who investigate
LEAST_KEEP: Final = 2


@dataclass(frozen=True, slots=True)
class ExpiredFiles:
    """Names of files to delete, in the order in which to delete them."""

    commits: tuple[str, ...]
    state: tuple[str, ...]
    base: int | None  # the batch of the full file that the oldest kept version is loaded from


def sweep(fs: FileSystem, root: str, versions: Sequence[Version] | None = None, *, keep: int = KEEP) -> ExpiredFiles:
    """Delete what the last `keep` versions do not need; return the deleted files.

    Call this on the driver between batches, every few batches. `versions` are the versions to keep, oldest first, with
    the last committed one; without them, they are read from the log.
    """
    if keep < LEAST_KEEP:
        raise ValueError(f"keep is {keep}, but a replay of the last batch needs the version before it: give 2 or more")
    kept = recent(fs, root, keep) if versions is None else versions[-keep:]
    if not kept:
        return ExpiredFiles((), (), None)
    commit_files = sizes(fs, join(root, COMMITS))
    _refuse_strangers(kept, commit_files)
    found = expired_files(commit_files, sizes(fs, join(root, STATE)), kept)
    if found.base is not None:
        verify_full(fs, root, found.base)  # before anything older is deleted
    for name in found.commits:
        delete(fs, join(join(root, COMMITS), name))
    for name in found.state:
        delete(fs, join(join(root, STATE), name))
    return found


def expired_files(commit_files: Iterable[str], state_files: Iterable[str], kept: Sequence[Version]) -> ExpiredFiles:
    """Return the files that no version in `kept` (oldest first, at least one) needs."""
    oldest = kept[0].batch
    last = kept[-1].batch
    commits = {name: found for name in commit_files if (found := parse(name)) is not None and found.kind != "state"}
    fulls = [found.batch for found in commits.values() if found.kind == "full" and not found.temporary]
    base = max((batch for batch in fulls if batch <= oldest), default=None)
    # A temporary file of a batch after the last commit may be being written at this moment.
    dead = [
        name
        for name, found in commits.items()
        if (base is not None and found.batch < base) or (found.temporary and found.batch <= last)
    ]
    needed = files_of(kept)
    orphans = [
        name
        for name in state_files
        if (found := parse(name)) is not None and found.kind == "state" and found.batch <= last and name not in needed
    ]
    # Oldest first, so that a sweep that dies leaves a log without gaps.
    return ExpiredFiles(tuple(sorted(dead)), tuple(sorted(orphans)), base)


def files_of(versions: Iterable[Version]) -> set[str]:
    """Return the names of all state files that the versions need."""
    files: set[str] = set()
    seen: dict[str, SavedUnit] = {}
    for version in versions:
        for unit, parts in version.units.items():
            if seen.get(unit) is not parts:  # versions share unchanged parts
                seen[unit] = parts
                files.update(segment.file for state in parts.values() for segment in state.segments)
    return files


def _refuse_strangers(kept: Sequence[Version], commit_files: Collection[str]) -> None:
    """Refuse versions of another checkpoint: all files of this one would look unneeded."""
    last = commit_name(kept[-1].batch)
    if last not in commit_files:
        raise StateError(last, "a commit of the last version to keep", "none", "Sweep the checkpoint it belongs to.")
