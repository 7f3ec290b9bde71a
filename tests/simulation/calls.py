"""Every storage call of this process below one folder, seen by the simulated disk and by the faults.

Rule 1: nothing of this is in drover. Functions of `os`, Arrow's local file system and SQLite's connections are
exchanged from outside. Paths elsewhere are not touched.
Rule 2: a call first asks the faults, then happens, and is then noted by the disk.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from pyarrow.fs import LocalFileSystem

from drover.flow.state import storage
from drover.flow.tables.sqlite import SQLite
from tests.simulation.disk import DATABASE, SimulatedDisk
from tests.simulation.faults import Faults

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
REAL: dict[str, Callable[..., Any]] = {  # Any: functions of every type
    name: getattr(os, name)
    for name in (
        *("open", "close", "fdopen", "fsync", "replace", "rename", "unlink"),
        *("mkdir", "ftruncate", "pwrite"),
    )
}


class StorageCalls:
    """The storage calls of a run on a simulated disk."""

    def __init__(self, disk: SimulatedDisk, faults: Faults) -> None:
        self.disk = disk
        self.faults = faults
        self.opened: dict[int, str] = {}  # files by descriptor
        self.paused = False  # while this is true, nothing is seen

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Let all storage calls pass through here."""
        with ExitStack() as stack:
            for name in REAL:
                stack.enter_context(patch.object(os, name, getattr(self, f"_{name}")))
            stack.enter_context(patch.object(storage, "LocalFileSystem", self._file_system()))
            stack.enter_context(patch.object(SQLite, "connect", self._connect(SQLite.connect)))
            yield

    def close_descriptors(self) -> None:
        """Close what a run that died has left open, as the end of its process would."""
        for descriptor in list(self.opened):
            REAL["close"](descriptor)
        self.opened.clear()

    def has(self, path: str) -> bool:
        """Return whether calls for a path pass through here."""
        return not self.paused and self.disk.has(path)

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Leave calls alone for a while: they are those of the world, not of the run."""
        self.paused = True
        try:
            yield
        finally:
            self.paused = False

    def see(self, call: str, path: str, *, writes: bool = True) -> None:
        """Ask the faults before a call."""
        self.faults.before(call, path[len(str(self.disk.root)) + 1 :], writes=writes)

    def _open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        name = _text(path)
        if not self.has(name):
            return int(REAL["open"](path, flags, mode, **options))
        self.see("open", name, writes=bool(flags & WRITING))
        descriptor = int(REAL["open"](path, flags, mode, **options))
        self.opened[descriptor] = name
        if flags & WRITING and not Path(name).is_dir():
            self.disk.created(name)
        return descriptor

    def _close(self, descriptor: int) -> None:
        self.opened.pop(descriptor, None)
        REAL["close"](descriptor)

    def _fdopen(self, descriptor: int, mode: str = "r", *args: Any, **options: Any) -> Any:
        name = self.opened.pop(descriptor, None)  # the file closes it from now on
        if name is None:
            return REAL["fdopen"](descriptor, mode, *args, **options)
        return io.BufferedWriter(_RawFile(descriptor, name, self))

    def _fsync(self, descriptor: int) -> None:
        name = self.opened.get(descriptor) or str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if self.has(name) or name == str(self.disk.root):
            self.see("fsync", name)
            self.disk.synced(name)
        else:
            REAL["fsync"](descriptor)

    def _replace(self, source: Any, target: Any, **options: Any) -> None:
        names = (_text(source), _text(target))
        if not self.has(names[0]):
            REAL["replace"](source, target, **options)
            return
        self.see("rename", names[1])
        REAL["replace"](source, target, **options)
        self.disk.renamed(*names)

    _rename = _replace

    def _unlink(self, path: Any, **options: Any) -> None:
        name = _text(path)
        if self.has(name):
            self.see("delete", name)
        REAL["unlink"](path, **options)
        if self.has(name):
            self.disk.deleted(name)

    def _mkdir(self, path: Any, mode: int = 0o777, **options: Any) -> None:
        name = _text(path)
        if self.has(name):
            self.see("mkdir", name)
        REAL["mkdir"](path, mode, **options)
        if self.has(name):
            self.disk.created(name, folder=True)

    def _ftruncate(self, descriptor: int, length: int) -> None:
        if descriptor in self.opened:
            self.see("truncate", self.opened[descriptor])
        REAL["ftruncate"](descriptor, length)

    def _pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        if descriptor in self.opened:
            self.see("write", self.opened[descriptor])
        return int(REAL["pwrite"](descriptor, data, offset))

    def _file_system(calls: StorageCalls) -> type[LocalFileSystem]:  # noqa: N805 - `self` is the file system, below
        class SimulatedFileSystem(LocalFileSystem):  # type: ignore[misc] # pyarrow has no types
            """Arrow's local file system, call by call."""

            def get_file_info(self, what: Any) -> Any:
                calls.see("look", what if isinstance(what, str) else what.base_dir, writes=False)
                return super().get_file_info(what)

            def open_input_stream(self, path: str, **options: Any) -> Any:
                calls.see("read", path, writes=False)
                return super().open_input_stream(path, **options)

            def open_input_file(self, path: str) -> Any:
                calls.see("read", path, writes=False)
                return super().open_input_file(path)

            def open_output_stream(self, path: str, **_options: Any) -> Any:
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
                return os.fdopen(descriptor, "wb")

            def create_dir(self, path: str, *, recursive: bool = True) -> None:
                Path(path).mkdir(parents=recursive, exist_ok=True)

            def move(self, source: str, target: str) -> None:
                Path(source).replace(target)

            def delete_file(self, path: str) -> None:
                Path(path).unlink()

        return SimulatedFileSystem

    def _connect(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def connect(dialect: SQLite, address: Any) -> Any:
            if not self.has(address.path):
                return real(dialect, address)
            self.see("connect", address.path, writes=False)
            return _Seen(real(dialect, address), self)

        return connect


class _RawFile(io.FileIO):
    """A file whose writes are storage calls."""

    def __init__(self, descriptor: int, path: str, calls: StorageCalls) -> None:
        super().__init__(descriptor, "wb")
        self.path = path
        self.calls = calls

    def write(self, data: Any) -> int:
        self.calls.see("write", self.path)
        return super().write(data)


class _Seen:
    """A connection or a cursor of a database, whose statements are storage calls."""

    def __init__(self, real: Any, calls: StorageCalls) -> None:
        self._real = real
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Self:
        self._real.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._real.__exit__(*error)

    def cursor(self) -> _Seen:
        return _Seen(self._real.cursor(), self._calls)

    def executescript(self, statement: str) -> None:
        self._calls.see(statement.split(maxsplit=1)[0], str(self._calls.disk.root / DATABASE))
        self._real.executescript(statement)


def _text(path: Any) -> str:
    return str(Path(path).absolute()) if isinstance(path, (str, os.PathLike)) else ""
