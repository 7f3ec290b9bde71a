"""The journal of a node on a disk: records in lines, each with a checksum, forced out before anything is said.

Rule 1: a record counts once its line is whole; a last line that is not was being written when its process died.
Rule 2: any other damage, or a file of another tree, is refused: a guess could run things twice, or lose them.
Rule 3: one process per journal, by a lock that ends with it. Each start begins a new file with all there is to know.
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
from drover.hierarchy.codec import CodecError, decode_record, encode
from drover.hierarchy.messages import Kept, Record

HEAD: Final = "drover journal 1"
FIRST: Final = 2  # lines that are written at once, and so are never torn: the head and what the node owns
HOLE: Final = b"\0\0"  # what a disk gives for a part of a file that was not written; no record has it, nor one bit more
RESTORE: Final = "Restore it from a copy; do not guess."


class Journal:
    """A journal that this process holds, until `close` or its end."""

    def __init__(self, path: Path, node: str, digest: str) -> None:
        """Take hold of a journal, or begin one."""
        self.path, self.head = path, f"{HEAD} {digest} {node}"
        self._file: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._error("a place to write", str(error.strerror), "Name another file.") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            place = str(path)
            raise LockedError(place, "to be alone", "another agent of this node", "Stop that one first.") from error

    def _error(self, expected: str, found: str, way_out: str) -> StateError:
        return StateError(str(self.path), expected, found, way_out)

    def read(self) -> list[Record]:
        """Return the records; none if there is no journal yet."""
        try:
            if not stat.S_ISREG(self.path.stat().st_mode):  # a pipe would be waited for
                raise self._error("a journal", "no regular file", "Name a file.")
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._error("a journal", str(error.strerror), "Correct its rights.") from error
        lines = data.split(b"\n")
        torn = lines.pop()  # nothing, if the last line is whole
        if not lines or lines[0] != self.head.encode():
            way_out = (
                "Use the tree file it was made with; or stop all agents of the tree, and remove all their journals."
            )
            raise self._error("a journal of this node and tree file", "another file", way_out)
        if not torn and len(lines) > FIRST and HOLE in lines[-1]:
            lines.pop()  # its machine died, and the disk had the end of the line before the beginning
        return self._records(lines[1:])

    def _records(self, lines: Sequence[bytes]) -> list[Record]:
        records: list[Record] = []
        for number, line in enumerate(lines, start=2):
            record = self._record(line)
            if record is None:
                raise self._error("whole lines", f"damage in line {number}", RESTORE)
            records.append(record)
        if not records or not isinstance(records[0], Kept):  # `begin` writes it with the head, or nothing at all
            raise self._error("what the node owned at its last start", "none of it in line 2", RESTORE)
        return records

    def _record(self, line: bytes) -> Record | None:
        checksum, _, text = line.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text):
            return None
        try:
            return decode_record(text.decode())
        except (CodecError, UnicodeDecodeError) as error:
            raise self._error("records", str(error), "Use the drover that has written it.") from error

    def begin(self, records: Iterable[Record]) -> None:
        """Begin a new file with these records, in place of the old one; once, before anything is appended."""
        try:
            self._replace(self.head.encode() + b"\n" + b"".join(map(_line, records)))
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise self._error("to be written", str(error.strerror), "Make room, or correct its rights.") from error

    def _replace(self, data: bytes) -> None:
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def append(self, records: Iterable[Record]) -> None:
        """Write records, and return when they are on the disk."""
        assert self._file is not None
        data = b"".join(map(_line, records))
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:  # the agent must not go on: it could say what it will not remember
            raise self._error("to be written", str(error.strerror), "Make room, and start the agent again.") from error

    def close(self) -> None:
        """Let go."""
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
