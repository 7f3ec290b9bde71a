"""Whole files on any file system: written completely or not at all, read in ranges.

Rule 1: nothing here knows what is in a file.
Rule 2: a file that cannot be read or written is a StateError.
Rule 3: a file under its final name is complete. On object stores, an object appears when it is closed. Elsewhere (local
disk, HDFS, unknown), a file is written under a temporary name, made durable and then renamed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem, SubTreeFileSystem

from drover.errors import START_ANEW, StateError, shorten
from drover.files import make_durable_folder, sync
from drover.flow.state.layout import TEMPORARY

OBJECT_STORES: Final = frozenset({"s3", "s3a", "gcs", "gs", "abfs", "abfss", "adl", "az"})
SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/")  # at least two characters: C:/ is no scheme
ALIASES: Final = {"s3a": "s3", "s3n": "s3"}  # Spark's names for what Arrow calls s3
RESTORE: Final = f"Restore it from a copy of the checkpoint, or {START_ANEW}."

# In bytes: a gap between two ranges that is cheaper to read than to skip, and the most to read at a time.
GAP: Final = 64 * 2**10
MOST_AT_ONCE: Final = 16 * 2**20
CHUNK: Final = 2**20


def open_root(uri: str | os.PathLike[str]) -> tuple[FileSystem, str]:
    """Return the file system and path of a URI or a local path; this creates nothing."""
    text = os.fspath(uri)
    found = SCHEME.match(text)
    if found is None:
        return LocalFileSystem(), str(Path(text).expanduser().absolute())
    scheme = found["scheme"].lower()
    try:
        system, path = FileSystem.from_uri(ALIASES.get(scheme, scheme) + text[len(scheme) :])
        if not path:
            raise ValueError("it names no folder")
    except (OSError, ValueError) as error:  # pyarrow's own errors are children of these
        raise StateError(
            f"checkpoint {shorten(text)}",
            "a path, or a URI such as file:///data/checkpoint, s3://bucket/checkpoint or hdfs://host/checkpoint",
            f"that it cannot be opened ({error})",
            "Correct the URI, or the settings of its file system.",
        ) from error
    return system, path.rstrip("/") or path


def absolute(uri: str | os.PathLike[str]) -> str:
    """Return a local path as an absolute one, and a URI as it is: workers have another working directory.

    >>> absolute("s3://bucket/checkpoint")
    's3://bucket/checkpoint'
    """
    text = os.fspath(uri)
    return text if SCHEME.match(text) else str(Path(text).expanduser().absolute())


def join(folder: str, name: str) -> str:
    """Return the path of `name` in `folder`."""
    return f"{folder.rstrip('/')}/{name}"


def local_path(fs: FileSystem, path: str) -> Path | None:
    """Return a path on a local file system, or None if the file system is not local."""
    if isinstance(fs, SubTreeFileSystem):
        return local_path(fs.base_fs, join(fs.base_path, path.lstrip("/")))
    return Path(path) if isinstance(fs, LocalFileSystem) else None


def is_object_store(fs: FileSystem) -> bool:
    """Return whether a file on `fs` appears only when it is closed."""
    if isinstance(fs, SubTreeFileSystem):
        return is_object_store(fs.base_fs)
    return re.split(r"::|\+", fs.type_name)[-1] in OBJECT_STORES  # also as py::fsspec+s3


def sizes(fs: FileSystem, folder: str) -> Mapping[str, int]:
    """Return the size in bytes of each file directly in `folder`, sorted by name; empty if there is no such folder."""
    with _reading(folder):
        found = fs.get_file_info(FileSelector(folder, allow_not_found=True))
    return dict(sorted((info.base_name, info.size or 0) for info in found if info.type == FileType.File))


def exists(fs: FileSystem, path: str) -> bool:
    """Return whether there is a file at that path."""
    with _reading(path):
        return bool(fs.get_file_info(path).type == FileType.File)


def folders(fs: FileSystem, folder: str) -> list[str]:
    """Return the names of the folders directly in `folder`, sorted; empty if there is no such folder."""
    with _reading(folder):
        found = fs.get_file_info(FileSelector(folder, allow_not_found=True))
    return sorted(info.base_name for info in found if info.type == FileType.Directory)


def read_whole(fs: FileSystem, path: str) -> bytes:
    """Return the content of a file."""
    with _reading(path), fs.open_input_stream(path, compression=None) as file:
        content: bytes = file.read()
        return content


def read_chunks(fs: FileSystem, path: str) -> Iterator[bytes]:
    """Yield the content of a file, piece by piece."""
    with _reading(path), fs.open_input_stream(path, compression=None) as file:
        while chunk := file.read(CHUNK):
            yield chunk


def read_ranges(
    fs: FileSystem, path: str, ranges: Sequence[tuple[int, int]], *, mapped: bool = False
) -> list[pa.Buffer]:
    """Return the bytes at each (offset, length) of a file, in that order; fewer where the file ends.

    Ranges close to each other are read together and sliced without copying. With `mapped`, a local file is mapped into
    memory: use this for bytes that are read once, and only if nobody writes the file meanwhile.
    """
    found: list[pa.Buffer] = [None] * len(ranges)
    local = local_path(fs, path) if mapped else None
    with _reading(path), fs.open_input_file(path) if local is None else pa.memory_map(str(local)) as file:
        for members in _neighbours(ranges):
            start = ranges[members[0]][0]
            stop = max(sum(ranges[member]) for member in members)
            if local is not None:
                file.seek(min(start, file.size()))  # a mapped file refuses a position behind its end
            whole = pa.py_buffer(file.read_at(stop - start, start)) if local is None else file.read_buffer(stop - start)
            for member in members:
                offset, length = ranges[member]
                cut = min(offset - start, whole.size)
                found[member] = whole.slice(cut, min(length, whole.size - cut))
    return found


def write_whole(fs: FileSystem, path: str, chunks: Iterable[bytes | pa.Buffer], *, durable: bool = True) -> None:
    """Write a file so that readers find it complete or not at all; it replaces a file of that name.

    It survives a power cut, unless `durable` is False, which avoids waiting for the disk.
    """
    folder, _, name = path.rpartition("/")
    direct = is_object_store(fs)
    target = path if direct else join(folder, TEMPORARY + name)
    try:
        with _open_output(fs, target) as file:
            for chunk in chunks:
                file.write(chunk)
        if not direct:
            # First the bytes, then the name, then the folder: after a power cut at any point, the name means a
            # complete file or none.
            if durable:
                _make_durable(local_path(fs, target))
            fs.move(target, path)
            if durable:
                _make_durable(local_path(fs, folder))
    except BaseException as error:
        # Leaving `with` closes the file, and to an object store a closed object is complete.
        with suppress(OSError):
            fs.delete_file(target)
        if not isinstance(error, OSError):
            raise
        way_out = "Free space or correct the rights; nothing of it counts until it is complete."
        raise StateError(path, "to write it", str(error), way_out) from error


def make_folder(fs: FileSystem, path: str) -> None:
    """Create a folder and those above it; it may exist already.

    Then its name survives a power cut, and so do all names in it and in the folders directly below. A process that was
    killed may have written files there without waiting for the disk, and whoever reads these relies on them.
    """
    try:
        _create_folder(fs, path)
        for name in ["", *folders(fs, path)]:
            _make_durable(local_path(fs, join(path, name)))
    except OSError as error:
        raise StateError(
            path, "to create this folder", str(error), "Free space, or correct the path or its rights."
        ) from error


def make_durable(fs: FileSystem, paths: Iterable[str]) -> None:
    """Wait until files or folders that another program wrote would survive a power cut; only on a local disk."""
    for path in paths:
        with _reading(path):
            _make_durable(local_path(fs, path))


def delete(fs: FileSystem, path: str) -> None:
    """Delete a file. A missing file is not an error: an earlier sweep may have died after deleting it."""
    try:
        fs.delete_file(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StateError(
            path, "to delete it", str(error), "Correct the rights; the file itself is not needed."
        ) from error


def _open_output(fs: FileSystem, path: str) -> pa.NativeFile:
    try:
        return fs.open_output_stream(path, compression=None)
    except FileNotFoundError:  # the folder does not exist yet
        _create_folder(fs, path.rpartition("/")[0])
        return fs.open_output_stream(path, compression=None)


def _create_folder(fs: FileSystem, path: str) -> None:
    local = local_path(fs, path)
    if local is None:
        fs.create_dir(path, recursive=True)
    else:
        make_durable_folder(local)


def _make_durable(path: Path | None) -> None:
    """Wait until a file or a directory of this machine would survive a power cut; None is on another machine."""
    if path is not None:
        sync(path)


def _neighbours(ranges: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield the indices of the ranges in groups to read together, each in order of offset."""
    group: list[int] = []
    start = stop = 0
    for index in sorted(range(len(ranges)), key=lambda member: ranges[member]):
        offset, length = ranges[index]
        # Small gaps are read along, because another request would cost more. The size is bounded, because all ranges of
        # a group share one buffer in memory.
        if group and (offset > stop + GAP or offset + length > start + MOST_AT_ONCE):
            yield group
            group = []
        if not group:
            start = stop = offset
        group.append(index)
        stop = max(stop, offset + length)
    if group:
        yield group


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise StateError(path, "a file", "none", RESTORE) from error
    except OSError as error:
        raise StateError(
            path, "to read it", str(error), "Correct its rights or the connection, and start again."
        ) from error
