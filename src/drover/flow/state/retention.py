"""Which files of a checkpoint nobody needs any more.

Rule 1: what a kept version needs stays, and so does every file of a batch after the last committed one: it may be
running. Rule 2: a sweep that dies anywhere leaves a checkpoint that loads the same; the next sweep goes on.
Rule 3: only files whose names `layout.py` recognises are ever deleted.

Everything else goes, whoever left it: attempts that lost, crashed runs, files whose segments are all dead.
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
from drover.flow.state.versions import UnitState, Version

KEEP: Final = 10  # versions: two for the next batch and a replay of the last, the others for people who look back
LEAST_KEEP: Final = 2


@dataclass(frozen=True, slots=True)
class Victims:
    """Names of files to delete, in the order in which to delete them."""

    commits: tuple[str, ...]
    state: tuple[str, ...]
    base: int | None  # the batch whose full file loading the oldest kept version begins with


def sweep(fs: FileSystem, root: str, versions: Sequence[Version] | None = None, *, keep: int = KEEP) -> Victims:
    """Delete what the last `keep` versions do not need, and return what was deleted.

    Call it on the driver between batches, not after each. `versions` are the ones to keep, the last committed among
    them, if the caller still has them (oldest first); otherwise they are read from the log.
    """
    if keep < LEAST_KEEP:
        raise ValueError(f"keep is {keep}, but a replay of the last batch needs the version before it: give 2 or more")
    kept = recent(fs, root, keep) if versions is None else versions[-keep:]
    if not kept:
        return Victims((), (), None)
    commit_files = sizes(fs, join(root, COMMITS))
    _refuse_strangers(kept, commit_files)
    found = victims(commit_files, sizes(fs, join(root, STATE)), kept)
    if found.base is not None:
        verify_full(fs, root, found.base)  # before anything older than it goes
    for name in found.commits:
        delete(fs, join(join(root, COMMITS), name))
    for name in found.state:
        delete(fs, join(join(root, STATE), name))
    return found


def victims(commit_files: Iterable[str], state_files: Iterable[str], kept: Sequence[Version]) -> Victims:
    """Return the files that no version in `kept` (oldest first, at least one) needs."""
    oldest, last = kept[0].batch, kept[-1].batch
    commits = {name: found for name in commit_files if (found := parse(name)) is not None and found.kind != "state"}
    fulls = [found.batch for found in commits.values() if found.kind == "full" and not found.temporary]
    base = max((batch for batch in fulls if batch <= oldest), default=None)
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
    # Oldest first: what a dying sweep leaves of the log is then still one piece.
    return Victims(tuple(sorted(dead)), tuple(sorted(orphans)), base)


def files_of(versions: Iterable[Version]) -> set[str]:
    """Return the names of all state files that some of the versions need."""
    files: set[str] = set()
    seen: dict[str, UnitState] = {}
    for version in versions:
        for unit, parts in version.units.items():
            if seen.get(unit) is not parts:  # versions share what did not change
                seen[unit] = parts
                files.update(segment.file for state in parts.values() for segment in state.segments)
    return files


def _refuse_strangers(kept: Sequence[Version], commit_files: Collection[str]) -> None:
    """Refuse versions that this checkpoint does not have: their files would all look like orphans."""
    last = commit_name(kept[-1].batch)
    if last not in commit_files:
        raise StateError(last, "a commit of the last version to keep", "none", "Sweep the checkpoint it belongs to.")
