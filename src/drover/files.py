"""Atomic writes to local files: a reader finds the new file, the old one or none, but never a part of one.

Rule 1: local files that other processes read are written with `replacing`. Checkpoints, which may be on any file
system, are written by `flow.state.storage`; it follows the same steps with Arrow's file systems.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # at least two characters: C:/ is no scheme
LONGEST_NAME: Final = 100  # characters of a file's name that its temporary name repeats; a name has at most 255 bytes


def local_folder(path: str) -> str | None:
    """Return a path, or the path of a `file:` URI; None for a URI that is not on this machine.

    >>> local_folder("out"), local_folder("file:///data/out"), local_folder("s3a://bucket/out")
    ('out', '/data/out', None)
    """
    if SCHEME.match(path) is None:
        return path
    parts = urlsplit(path)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def same_place(path: str) -> str:
    """Return a local path in the one form that all its spellings have: absolute, without dots and symbolic links.

    >>> same_place("out/./x/") == same_place("out/y/../x")
    True
    """
    return os.path.realpath(local_folder(path) or path)


@contextmanager
def replacing(path: Path, *, mode: int = 0o666, locked: bool = False, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`; it takes the name when the block ends, and goes away if the block raises.

    The file gets the permissions `mode`, less the umask. With `locked`, the caller holds a lock that keeps out other
    writers of this file: the temporary name is then always the same, and a crash leaves at most one file behind.
    With `durable`, the new name survives a power cut, too.
    """
    descriptor, temporary = _open_beside(path, mode, locked=locked)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            # Without this, a power cut soon after the rename may leave an empty file under the name.
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_durable_folder(path: Path) -> None:
    """Create a folder and those above it, so that it survives a power cut; it may exist already."""
    absent = [step for step in (path, *path.parents) if not step.exists()]
    # A process that was killed may have made the last folder that exists, and not have waited for the disk.
    sync((absent[-1].parent if absent else path).parent)
    for step in reversed(absent):
        step.mkdir(exist_ok=True)
        sync(step.parent)


def _open_beside(path: Path, mode: int, *, locked: bool) -> tuple[int, Path]:
    """Return a new file in the folder of `path`; not from `tempfile`, whose files only their owner may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    if locked:
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.unlink(missing_ok=True)  # left behind by a crash
        return os.open(temporary, flags | os.O_EXCL, mode), temporary
    for attempt in count():
        temporary = path.with_name(f".{path.name[:LONGEST_NAME]}.{os.getpid()}-{attempt}")
        with suppress(FileExistsError):
            return os.open(temporary, flags | os.O_EXCL, mode), temporary
    raise AssertionError  # pragma: no cover
