"""The files of Spark's own checkpoint that its next start reads, and their digests.

Spark's logs have no checksums on a local disk: files with checksums beside each of them took 75 ms per batch. One
flipped bit in the log of a source can repeat rows or lose them. So drover remembers digests.

A log is a folder of files named by number. Spark reads the last two of `offsets`, the last of `commits`, and of each
source the newest `N.compact` (every tenth file holds all before it) with what follows. It never changes a file.

Rule 1: drover reads Spark's files and never writes them; it only deletes what Spark has not finished. Spark does not
wait for the disk, so drover does, before it relies on a file.
Rule 2: a file is read once per run. A batch costs its new files: one or two of some hundred bytes, one per source that
had rows, and every tenth time a compacted one.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.digests import Digests, read_digest
from drover.flow.state.storage import delete, exists, folders, join, read_whole, sizes

log = logging.getLogger(__name__)
SPARK: Final = "spark"
METADATA: Final = f"{SPARK}/metadata"
OFFSETS: Final = f"{SPARK}/offsets"
COMMITTED: Final = f"{SPARK}/commits"
SOURCES: Final = f"{SPARK}/sources"
ENTRY: Final = re.compile(r"(?P<number>\d+)(?P<compact>\.compact)?")
UNFINISHED: Final = re.compile(r"\.+\d+(?:\.compact)?\..*\.tmp(?:\.crc)?")  # before Spark gives it its name
COMPACT: Final = ".compact"
LAST: Final = 3  # files of a log that are remembered, besides those since the newest compacted one
NO_OFFSET: Final = "-"  # the line of a source that has no offset yet
REPEAT: Final = "Delete this file: Spark then repeats the batch, and drover knows that it is done."
REPLAN: Final = "Delete this file: Spark then plans the batch again, and drover has not begun it."


def delete_unfinished(fs: FileSystem, root: str) -> None:
    """Delete what Spark was writing when it was stopped; call this while no query runs.

    Beside such a file, Spark refuses to start if it has finished no batch yet.
    """
    for folder in (OFFSETS, COMMITTED):
        path = join(root, folder)
        for name in [name for name in sizes(fs, path) if UNFINISHED.fullmatch(name)]:
            log.info("%s is deleted: Spark was stopped before it had finished this file", join(path, name))
            delete(fs, join(path, name))


def number_of(name: str) -> int | None:
    """Return the number of a file of a log, or None if it is something else.

    >>> number_of("spark/sources/0/9.compact")
    9
    """
    found = ENTRY.fullmatch(name.rpartition("/")[2])
    return None if found is None else int(found["number"])


def newest_compacted(names: Iterable[str]) -> int:
    """Return the number of the newest compacted file of a log, -1 if there is none."""
    return max((number_of(name) or 0 for name in names if name.endswith(COMPACT)), default=-1)


def follow(fs: FileSystem, root: str, known: Digests, batch: int) -> dict[str, str]:
    """Return the digests of what Spark would read now, if `batch` is the last that it may have begun.

    `known` are earlier digests: files in it are not read again.
    """
    wanted = [METADATA]
    for number in range(max(batch - LAST + 1, 0), batch + 1):
        wanted += [f"{OFFSETS}/{number}", f"{COMMITTED}/{number}"]
    for folder in source_logs(fs, root):
        wanted += _entries(fs, root, folder, known)
    found = {name: known.get(name) or read_digest(fs, root, name) for name in wanted}
    return {name: digest for name, digest in found.items() if digest is not None}


def source_logs(fs: FileSystem, root: str) -> list[str]:
    """Return the folders with the logs of sources."""
    return [f"{SOURCES}/{name}" for name in folders(fs, join(root, SOURCES))]


def entries_of(fs: FileSystem, root: str, folder: str) -> list[str]:
    """Return the files of a log, in order of their numbers."""
    named = {name: number_of(name) for name in sizes(fs, join(root, folder))}
    return sorted(
        (f"{folder}/{name}" for name, number in named.items() if number is not None), key=lambda n: number_of(n) or 0
    )


def _entries(fs: FileSystem, root: str, folder: str, known: Digests) -> list[str]:
    """Return the files of a source's log that a start reads."""
    names = sorted((name for name in known if name.startswith(f"{folder}/")), key=lambda name: number_of(name) or 0)
    if not names:
        names = entries_of(fs, root, folder)
    else:
        # Probing costs two calls. Listing would cost one for each of hundreds of old files.
        names += _after(fs, root, folder, number_of(names[-1]) or 0)
    newest = newest_compacted(names)
    return [name for i, name in enumerate(names) if (number_of(name) or 0) >= newest or i >= len(names) - LAST]


def _after(fs: FileSystem, root: str, folder: str, last: int) -> list[str]:
    found: list[str] = []
    while True:
        last += 1
        both = (f"{folder}/{last}", f"{folder}/{last}{COMPACT}")
        new = [name for name in both if exists(fs, join(root, name))]
        if not new:
            return found
        found += new


def folders_above(name: str) -> list[str]:
    """Return the folders within the checkpoint that a file of a log is in, the nearest first; the root is empty.

    >>> folders_above("spark/sources/0/3")
    ['spark/sources/0', 'spark/sources', 'spark', '']
    """
    parts = name.split("/")[:-1]
    return ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]


def check_form(fs: FileSystem, root: str, name: str, way_out: str = REPEAT) -> None:
    """Refuse a file of a log that has no digest and that Spark could not read: a version, then JSON in every line."""
    path = join(root, name)
    data = read_whole(fs, path)
    try:
        version, *lines = data.decode("utf-8").split("\n")
        if not re.fullmatch(r"v\d+", version) or not lines:
            raise ValueError(f"{version!r} in its first line")
        for line in lines:
            if line != NO_OFFSET:
                json.loads(line)
    except ValueError as error:
        raise StateError(path, "a file of Spark's log: a version, then JSON", str(error), way_out) from error
