"""The journal of a node on a disk: one record per line with a checksum, synced before the agent sends anything.

Rule 1: a record counts once its line is complete. An incomplete last line was being written when the process died.
Rule 2: any other damage, and a file of another tree, is an error: a guess could run operators twice or lose them.
Rule 3: one process holds a journal, by a lock that ends with the process. Each start begins a new file with a snapshot.
"""

from __future__ import annotations

import fcntl
import os
import stat
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Self

from drover.errors import LockedError, StateError
from drover.files import replacing
from drover.hierarchy.codec import CodecError, decode_record, encode
from drover.hierarchy.messages import JournalSnapshot, Record

HEAD: Final = "drover journal 1"
FIRST: Final = 2  # lines that `begin` writes atomically, and that cannot be torn: the head and the snapshot
# A disk returns zeros for an unwritten part of a file. A record has none, and one flipped bit makes only one.
HOLE: Final = b"\0\0"
RESTORE: Final = "Restore it from a backup; do not edit it."


class Journal:
    """A journal that this process holds until `close`, or until the process ends."""

    def __init__(self, path: Path, node: str, digest: str) -> None:
        """Lock a journal, or create one."""
        self.path = path
        self.head = f"{HEAD} {digest} {node}"
        self._file: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._error("a place to write", str(error.strerror), "Choose another file.") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            place = str(path)
            raise LockedError(
                place, "the only agent of this node", "another agent of this node", "Stop that one first."
            ) from error

    def _error(self, expected: str, found: str, way_out: str) -> StateError:
        return StateError(str(self.path), expected, found, way_out)

    def read(self) -> list[Record]:
        """Return the records; an empty list if there is no journal yet."""
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # reading a pipe would block
                raise self._error("a journal", "not a regular file", "Choose a regular file.")
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._error("a journal", str(error.strerror), "Correct its permissions.") from error
        lines = data.split(b"\n")
        torn = lines.pop()  # empty if the last line is complete
        if not lines or lines[0] != self.head.encode():
            way_out = (
                "Use the tree file that it was made with, or stop all agents of the tree and remove all their journals."
            )
            raise self._error("a journal of this node and tree file", "another file", way_out)
        if not torn and len(lines) > FIRST and HOLE in lines[-1]:
            lines.pop()  # the machine crashed after the disk had stored the end of the line, but not its beginning
        return self._records(lines[1:])

    def _records(self, lines: Sequence[bytes]) -> list[Record]:
        records: list[Record] = []
        for number, line in enumerate(lines, start=2):
            record = self._record(line)
            if record is None:
                raise self._error("whole lines", f"damage in line {number}", RESTORE)
            records.append(record)
        # `begin` writes the snapshot together with the head, so only damage can separate them.
        if not records or not isinstance(records[0], JournalSnapshot):
            raise self._error("a snapshot in line 2", "no snapshot in line 2", RESTORE)
        return records

    def _record(self, line: bytes) -> Record | None:
        checksum, _, text = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text):
            return None
        try:
            return decode_record(text.decode())
        except (CodecError, UnicodeDecodeError) as error:
            raise self._error("records", str(error), "Use the version of drover that wrote it.") from error

    def begin(self, records: Iterable[Record]) -> None:
        """Replace the file by a new one with these records; call it once, before any `append`."""
        try:
            self._replace(self.head.encode() + b"\n" + b"".join(map(_line, records)))
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise self._error(
                "to be written", str(error.strerror), "Free disk space, or correct its permissions."
            ) from error

    def _replace(self, data: bytes) -> None:
        with replacing(self.path, locked=True) as file:
            file.write(data)

    def append(self, records: Iterable[Record]) -> None:
        """Write records, and return when they are on the disk."""
        assert self._file is not None
        data = b"".join(map(_line, records))
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            # The agent must not go on: it could send messages about records that it will not find after a restart.
            raise self._error(
                "to be written", str(error.strerror), "Free disk space, and start the agent again."
            ) from error

    def close(self) -> None:
        """Close the file and release the lock."""
        for each in (self._file, self._lock):
            if each is not None:
                os.close(each)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _line(record: Record) -> bytes:
    text = encode(record).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)
