"""Files of the user: reads are bounded in size, and writes are atomic.

Rule 1: only regular files are read, up to a limit. Pipes, devices and directories are refused. Rule 2: a process that
reads a file during a write sees the old or the new text, never a part.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

from drover.errors import FileError
from drover.files import replacing
from drover.network.files.document import BREAK, file_fault

MOST_BYTES: Final = 16 * 2**20
KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_text(path: str | os.PathLike[str], most: int = MOST_BYTES) -> str:
    """Return the text of a file with at most `most` bytes; FileError with the reason if it cannot be read."""
    try:
        # Without O_NONBLOCK, opening a pipe that has no writer would block forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _refusal(
            "unreadable", f"it must be opened ({_reason(error)})", "Correct the name or its rights."
        ) from error
    try:
        _refuse_odd(os.fstat(descriptor), most)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return read_stream(file, most)
    finally:
        os.close(descriptor)


def _refuse_odd(found: os.stat_result, most: int) -> None:
    """Raise FileError for anything but a regular file of a reasonable size."""
    if not stat.S_ISREG(found.st_mode):
        kind = next((word for test, word in KINDS if test(found.st_mode)), "no regular file")
        raise _refusal(kind, "it must be a regular file", "Name a file, or - for standard input.")
    if found.st_size > most:
        raise _too_long(f"{found.st_size} bytes long", most)


def read_stream(file: BinaryIO, most: int = MOST_BYTES) -> str:
    """Return the text of an open file or pipe, read once and within bounds."""
    try:
        data = file.read(most + 1)
    except OSError as error:
        raise _refusal("unreadable", f"it must be readable ({_reason(error)})", "Name another file.") from error
    if len(data) > most:
        raise _too_long(f"more than {most} bytes long", most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = 1 + len(BREAK.findall(data[: error.start].decode("utf-8")))
        fault = file_fault(f"holding byte 0x{data[error.start]:02X}", "a file is UTF-8 text", "Save it as UTF-8.", line)
        raise FileError([fault]) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file by way of a temporary one beside it; raises FileError with the reason if that fails."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refusal("not written", f"it must be writable ({_reason(error)})", "Name another file.") from error
    write_bytes(path, data)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a binary file in the same way."""
    try:
        target = Path(os.path.realpath(path))  # a link stays a link
        if target.exists() and not target.is_file():
            raise _refusal("no regular file", "only a regular file can be replaced", "Name another file.")
        with replacing(target, durable=False) as file:
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            file.write(data)
    except (OSError, ValueError) as error:
        raise _refusal("not written", f"it must be writable ({_reason(error)})", "Name another file.") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _refusal(value: str, rule: str, way_out: str) -> FileError:
    return FileError([file_fault(value, rule, way_out)])


def _too_long(value: str, most: int) -> FileError:
    return _refusal(value, f"a file has at most {most} bytes", "Split it into several files.")
