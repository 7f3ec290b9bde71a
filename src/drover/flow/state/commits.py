"""The log of commits: a batch is part of the state exactly if its commit is here.

Rule 1: a commit is one file. Files of state that it does not name do not count.
Rule 2: a commit costs what the batch changed. Loading reads a limited number of files: every so often, a full file has
a whole version, and loading begins with it.
Rule 3: a commit that is missing, damaged or foreign is an error that names the file. drover never falls back to an
earlier version.

This module cannot detect that the newest commit was deleted: the version before it then looks like the last one. The
caller detects it, because Spark then runs a batch that does not follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import START_ANEW, StateError
from drover.flow.state.documents import (
    Commit,
    Notes,
    canonical,
    commit_body,
    commit_from,
    full_body,
    seal,
    unseal,
    verify,
    version_from,
)
from drover.flow.state.layout import COMMITS, commit_name, full_name, parse
from drover.flow.state.storage import RESTORE, join, read_whole, sizes, write_whole
from drover.flow.state.versions import BEFORE_FIRST, Version, advance

LONGEST_CHAIN: Final = 50  # commits that loading may have to read after a full file
LEAST_CHAIN: Final = 64 * 2**10  # bytes of commits: reading these is faster than writing another full file


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after a batch, and what the next commit needs to know of the log."""

    version: Version = field(default_factory=Version)
    notes: Notes = field(default_factory=dict)
    link: str = ""  # checksum of the commit of this batch; empty before the first
    chain: int = 0  # commits since the last full file
    chain_bytes: int = 0
    full_bytes: int = 0  # size of the last full file

    @property
    def batch(self) -> int:
        """The last batch that the state includes; -1 before the first."""
        return self.version.batch


def commit(fs: FileSystem, root: str, after: Checkpoint, entry: Commit, *, folding: bool = True) -> Checkpoint:
    """Commit `entry` as the batch after `after`, and return the checkpoint after it.

    If the log already has the batch with equal content, this returns the checkpoint in the log, so that a replay ends
    where the first run did. Other content for the same batch is an error. After a failure, you may call it again.
    """
    version = advance(after.version, entry.batch, entry.added, entry.bounds, entry.dropped)
    path = join(join(root, COMMITS), commit_name(entry.batch))
    log = _listing(fs, root)
    # A run that died right after its commit repeats the batch: Spark has not heard of the commit.
    if ("commit", entry.batch) in log:
        return _recommit(path, read_whole(fs, path), after, entry)
    # Another run has committed meanwhile, or a commit was deleted.
    if (last := _last(log)) != after.batch:
        way_out = f"Continue from the last version, or {START_ANEW}."
        raise StateError(path, f"a log that ends with batch {after.batch}", f"that it ends with {last}", way_out)
    data, link = seal(commit_body(entry, after.link))
    write_whole(fs, path, [data])
    made = _follow(after, version, json.loads(canonical(entry.notes)), link, len(data))
    return fold(fs, root, made) if folding else made


def fold(fs: FileSystem, root: str, checkpoint: Checkpoint) -> Checkpoint:
    """Write the whole version into one file if loading would otherwise read too many; you may call this at any time.

    `commit` calls it, unless `folding` is False. It takes 0.3 s for 20,000 units with 4 segments each, about every
    fiftieth batch; to save this time in a commit, call it between two batches instead.
    """
    # Only when the commits since the last full file are larger than it. So the time for full files stays in proportion
    # to the time for commits.
    due = checkpoint.chain_bytes > max(checkpoint.full_bytes, LEAST_CHAIN) or checkpoint.chain > LONGEST_CHAIN
    if not due:
        return checkpoint
    data, _ = seal(full_body(checkpoint.version, checkpoint.notes, checkpoint.link))
    write_whole(fs, join(join(root, COMMITS), full_name(checkpoint.batch)), [data])
    return replace(checkpoint, chain=0, chain_bytes=0, full_bytes=len(data))


def latest(fs: FileSystem, root: str) -> Checkpoint:
    """Return the last checkpoint; an empty one, of batch -1, before the first commit."""
    return load(fs, root, _last(_listing(fs, root)))


def load(fs: FileSystem, root: str, batch: int) -> Checkpoint:
    """Return the checkpoint after a batch; its state is readable if a sweep keeps the batch."""
    if batch < BEFORE_FIRST:
        raise StateError(root, f"a batch from {BEFORE_FIRST}", str(batch), "Name a batch of the log.")
    return list(_walk(fs, root, batch, batch))[-1]


def recent(fs: FileSystem, root: str, keep: int) -> tuple[Version, ...]:
    """Return the last `keep` versions, oldest first; fewer if the log is shorter."""
    log = _listing(fs, root)
    if not log:
        return ()
    last = _last(log)
    bases = [batch for kind, batch in log if kind == "full" or batch == BEFORE_FIRST + 1]
    oldest = max(last - keep + 1, min(bases, default=0))
    return tuple(found.version for found in _walk(fs, root, oldest, last) if found.batch >= oldest)


def verify_full(fs: FileSystem, root: str, batch: int) -> None:
    """Check that the full file of a batch exists and is intact."""
    path = join(join(root, COMMITS), full_name(batch))
    verify(path, read_whole(fs, path))


def _recommit(path: str, data: bytes, after: Checkpoint, entry: Commit) -> Checkpoint:
    body, link = unseal(path, data, entry.batch)
    known = commit_from(body)
    if body["previous"] != after.link:
        raise _foreign(path, after.link, body["previous"])
    if known.content != entry.content:
        raise StateError(
            path,
            f"the batch as it was committed ({_summary(known)})",
            f"other content for the same batch ({_summary(entry)})",
            f"Continue from version {entry.batch}, which is complete; a batch is committed once.",
        )
    version = advance(after.version, known.batch, known.added, known.bounds, known.dropped)
    return _follow(after, version, known.notes, link, len(data))


def _walk(fs: FileSystem, root: str, start: int, stop: int) -> Iterator[Checkpoint]:
    """Yield the checkpoints up to `stop`, from the last full file at or before `start`."""
    folder = join(root, COMMITS)
    log = _listing(fs, root)
    # Begin with the last full file, so that only a limited number of commits has to be read (rule 2).
    base = max((batch for kind, batch in log if kind == "full" and batch <= start), default=BEFORE_FIRST)
    # Even for the version before the first batch, the first commit must exist: otherwise the log has lost its
    # beginning, and an empty state would be wrong.
    needed = range(max(base, BEFORE_FIRST + 1), max(stop, BEFORE_FIRST + 1) + 1) if log else range(stop + 1)
    for batch in needed:
        if ("commit", batch) not in log:
            raise _missing(folder, log, batch)
    found = _read_full(fs, folder, base, log)
    yield found
    for batch in range(base + 1, stop + 1):
        path = join(folder, commit_name(batch))
        data = read_whole(fs, path)
        body, link = unseal(path, data, batch)
        if body["previous"] != found.link:
            raise _foreign(path, found.link, body["previous"])
        known = commit_from(body)
        version = advance(found.version, batch, known.added, known.bounds, known.dropped)
        found = _follow(found, version, known.notes, link, len(data))
        yield found


def _missing(folder: str, log: Mapping[tuple[str, int], int], batch: int) -> StateError:
    first = min((number for _, number in log), default=0)
    # A sweep leaves a log that begins with a full file. If that is gone, nobody misses the commits before it. But no
    # sweep deletes a single commit, so then it is that one which is lost.
    if batch + 1 < first and ("full", first) not in log:
        path = join(folder, full_name(first))
        return StateError(path, f"all of version {first}, with which the log begins", "none", RESTORE)
    found = f"none; the log ends with batch {_last(log)} and begins with {first}"
    return StateError(join(folder, commit_name(batch)), f"the commit of batch {batch}", found, RESTORE)


def _read_full(fs: FileSystem, folder: str, batch: int, log: Mapping[tuple[str, int], int]) -> Checkpoint:
    if batch == BEFORE_FIRST:
        return Checkpoint()
    path = join(folder, full_name(batch))
    earlier = max((other for kind, other in log if kind == "full" and other < batch), default=BEFORE_FIRST)
    # While all commits since the full file before it are there, this one is only a shortcut.
    spare = all(("commit", other) in log for other in range(max(earlier, 0), batch + 1))
    way_out = "Delete this file: the files before it say the same." if spare else RESTORE
    data = read_whole(fs, path)
    body, _ = unseal(path, data, batch, way_out)
    return Checkpoint(version_from(body), body["notes"], body["link"], full_bytes=len(data))


def _follow(after: Checkpoint, version: Version, notes: Notes, link: str, size: int) -> Checkpoint:
    return Checkpoint(version, notes, link, after.chain + 1, after.chain_bytes + size, after.full_bytes)


def _listing(fs: FileSystem, root: str) -> dict[tuple[str, int], int]:
    """Return the size in bytes of every complete file of the log, by kind and batch."""
    found = ((parse(name), size) for name, size in sizes(fs, join(root, COMMITS)).items())
    return {(name.kind, name.batch): size for name, size in found if name is not None and not name.temporary}


def _last(log: Mapping[tuple[str, int], int]) -> int:
    return max((batch for _, batch in log), default=BEFORE_FIRST)


def _foreign(path: str, expected: str, found: str) -> StateError:
    return StateError(
        path,
        f"to follow the commit with checksum {expected or '(none)'}",
        f"that it follows {found or '(none)'}: two runs wrote to one checkpoint, or files of two were mixed",
        RESTORE,
    )


def _summary(entry: Commit) -> str:
    counts = f"{len(entry.added)} segments, {len(entry.bounds)} bounds, {len(entry.dropped)} dropped"
    return f"{counts}, notes {canonical(entry.notes)}"
