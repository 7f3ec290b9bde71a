"""The files of the query log: changes, batch manifests and snapshots. Each is complete or absent, and never edited.

Rule 1: a change is written before its request is answered, a manifest before its batch starts.
Rule 2: a snapshot contains committed batches only. The files that it replaces are deleted after it is written.
Rule 3: a missing or damaged file raises StateError; nothing is guessed. `chain.py` finds missing ones.

A file starts with a checksum (BLAKE2b) of everything after it and a line of JSON; Arrow tables follow. The kinds on
disk are called `wish` (a change), `turn` (a manifest) and `full` (a snapshot): these names are part of the format.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.query_log.chain import (
    CHANGE,
    FOLDER,
    MANIFEST,
    SNAPSHOT,
    check_changes,
    check_manifests,
    path_of,
    read_accepted,
    write_accepted,
)
from drover.flow.query_log.log import ADDED, MEMBERS, PARKED, PLACED, BatchManifest, Change, QueryLog, advance
from drover.flow.state.storage import RESTORE, delete, join, read_whole, sizes, write_whole

FORMAT: Final = 1
NAME: Final = re.compile(rf"({CHANGE}|{MANIFEST}|{SNAPSHOT})-(\d{{12}})\.arrow")
LEAST_CHAIN: Final = 2**20  # bytes of changes and manifests; a shorter chain is read faster than a snapshot is written


@dataclass(frozen=True, slots=True, eq=False)
class RecoveredLog:
    """The log as of the last committed batch, and what comes after it."""

    query_log: QueryLog
    begun: BatchManifest | None  # of the batch after the last committed one, if it was written
    pending: tuple[Change, ...]  # changes that no committed batch includes

    @property
    def newest_change(self) -> tuple[int, str]:
        """Serial number and link of the last change; 0 and nothing before the first."""
        if self.pending:
            return (self.pending[-1].serial, self.pending[-1].link)
        return (self.query_log.last_serial, self.query_log.change)


def write_change(fs: FileSystem, root: str, change: Change) -> Change:
    """Make a change durable, and return it with its link; if that fails, the change does not hold."""
    head = {"serial": change.serial, "dropped": list(change.dropped), "previous": change.previous}
    data = pack(head, [change.added])
    path = path_of(root, CHANGE, change.serial)
    try:
        write_whole(fs, path, [data])
    except StateError:
        # The file may have its name already. A request that was refused must not come true with the next start.
        with suppress(StateError):
            delete(fs, path)
        raise
    written = replace(change, link=link_of(data))
    write_accepted(fs, root, written)
    return written


def write_manifest(fs: FileSystem, root: str, manifest: BatchManifest) -> BatchManifest:
    """Make a manifest durable, and return it with its link."""
    head = {"batch": manifest.batch, "upto": manifest.last_serial, "change": manifest.change}
    data = pack({**head, "previous": manifest.previous}, [manifest.placed, manifest.parked])
    write_whole(fs, path_of(root, MANIFEST, manifest.batch), [data])
    return replace(manifest, link=link_of(data))


def recover(fs: FileSystem, root: str, batch: int, manifest: int = -1, link: str = "") -> RecoveredLog:
    """Read the log as of the last committed `batch`; its commit has the batch and the link of the last manifest."""
    found = _listing(fs, root)
    snapshot = max((number for kind, number in found if kind == SNAPSHOT and number <= batch), default=None)
    query_log = QueryLog() if snapshot is None else _read_snapshot(fs, root, snapshot)
    # A batch may have been planned twice, with a manifest the first time and without one the second time.
    newest = manifest if link else batch
    numbers = sorted(n for kind, n in found if kind == MANIFEST and query_log.batch < n <= newest)
    manifests = [_read_manifest(fs, root, number) for number in numbers]
    check_manifests(root, query_log, manifests, manifest, link)
    changes = [_read_change(fs, root, n) for kind, n in sorted(found) if kind == CHANGE and n > query_log.last_serial]
    check_changes(root, query_log, changes, manifests, read_accepted(fs, root))
    for one in manifests:
        included = [change for change in changes if query_log.last_serial < change.serial <= one.last_serial]
        query_log = advance(query_log, included, one)
    # A batch that was begun has its manifest already. It must start with the same queries when it runs again.
    begun = _read_manifest(fs, root, batch + 1) if (MANIFEST, batch + 1) in found else None
    pending = tuple(change for change in changes if change.serial > query_log.last_serial)
    return RecoveredLog(query_log, begun, pending)


def compact(fs: FileSystem, root: str, query_log: QueryLog) -> None:
    """Write a snapshot if the files since the last one are larger than it, and delete the files it replaces.

    `query_log` must be that of a committed batch.
    """
    found = _listing(fs, root)
    snapshots = {number: size for (kind, number), size in found.items() if kind == SNAPSHOT}
    last = max(snapshots, default=None)
    chain = sum(size for (kind, _), size in found.items() if kind != SNAPSHOT)
    if chain > max(snapshots.get(last, 0) if last is not None else 0, LEAST_CHAIN) and last != query_log.batch:
        head = {"batch": query_log.batch, "upto": query_log.last_serial, "following": query_log.next_number}
        links = {"link": query_log.link, "change": query_log.change}
        write_whole(fs, path_of(root, SNAPSHOT, query_log.batch), [pack({**head, **links}, [query_log.members])])
        # After the snapshot is written: a crash in between leaves files that the snapshot makes redundant.
        for kind, number in found:
            if number <= (query_log.last_serial if kind == CHANGE else query_log.batch):
                delete(fs, path_of(root, kind, number))


def _read_change(fs: FileSystem, root: str, serial: int) -> Change:
    head, (added,), link = _read(fs, path_of(root, CHANGE, serial), "serial", serial, [ADDED])
    return Change(serial, added, tuple(head["dropped"]), head.get("previous"), link)


def _read_manifest(fs: FileSystem, root: str, batch: int) -> BatchManifest:
    head, (placed, parked), link = _read(fs, path_of(root, MANIFEST, batch), "batch", batch, [PLACED, PARKED])
    previous = head.get("previous")
    before = None if previous is None else (int(previous[0]), str(previous[1]))
    return BatchManifest(batch, head["upto"], placed, parked, before, head.get("change"), link)


def _read_snapshot(fs: FileSystem, root: str, batch: int) -> QueryLog:
    head, (members,), _ = _read(fs, path_of(root, SNAPSHOT, batch), "batch", batch, [MEMBERS])
    return QueryLog(members, batch, head["upto"], head["following"], head.get("link", ""), head.get("change", ""))


def pack(head: Mapping[str, Any], frames: Sequence[pl.DataFrame]) -> bytes:  # Any: JSON
    """Return the content of a file: checksum, head and tables."""
    streams = []
    for frame in frames:
        buffer = io.BytesIO()
        frame.write_ipc(buffer, compression="zstd")
        streams.append(buffer.getvalue())
    line = json.dumps({"format": FORMAT, **head, "lengths": [len(stream) for stream in streams]}).encode("ascii")
    body = line + b"\n" + b"".join(streams)
    return hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii") + b" " + body


def _read(
    fs: FileSystem, path: str, field: str, number: int, schemas: Sequence[pl.Schema]
) -> tuple[dict[str, Any], list[pl.DataFrame], str]:
    """Return head, tables and link of a file; `field` of the head must equal the number in the file's name."""
    data = read_whole(fs, path)
    head, frames = unpack(path, data)
    if head[field] != number or [frame.schema for frame in frames] != list(schemas):
        raise StateError(path, f"{field} {number}", f"{field} {head[field]}, or other columns", RESTORE)
    return head, frames, link_of(data)


def link_of(data: bytes) -> str:
    """Return the checksum with which the content of a file begins."""
    return data.partition(b" ")[0].decode("ascii")


def unpack(path: str, data: bytes) -> tuple[dict[str, Any], list[pl.DataFrame]]:  # Any: JSON
    """Return head and tables of a file's content; StateError if the checksum does not match."""
    checksum, _, body = data.partition(b" ")
    if hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii") != checksum:
        raise StateError(path, "a file that matches its checksum", f"{len(data)} bytes that do not", RESTORE)
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    if head["format"] != FORMAT:
        way_out = "Continue with the release of drover that wrote it."
        raise StateError(path, f"format {FORMAT}", f"format {head['format']}", way_out)
    return head, [pl.read_ipc(io.BytesIO(part)) for part in _cut(rest, head["lengths"])]


def _cut(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield data[start : start + length]
        start += length


def _listing(fs: FileSystem, root: str) -> dict[tuple[str, int], int]:
    """Return the size in bytes of every file of the log, by kind and number."""
    found = ((NAME.fullmatch(name), size) for name, size in sizes(fs, join(root, FOLDER)).items())
    return {(match[1], int(match[2])): size for match, size in found if match}
