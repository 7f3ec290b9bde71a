"""A disk with a page cache: what was not synced may be lost or torn when the power goes.

The files are real ones in a scratch folder. This module knows which of their bytes and names would survive.

Rule 1: bytes survive once their file is synced. A name survives once its folder is synced. Names of one folder survive
in the order in which they changed, and those of two folders independently.
Rule 2: SQLite's files are left alone, because SQLite syncs them itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from numpy.random import Generator

BLOCK = 512  # bytes; a torn write ends at a multiple of this
DATABASE = "tables.db"


@dataclass(slots=True, eq=False)
class Inode:
    """A file or a folder, under whichever name; `synced` has the bytes that would survive."""

    folder: bool = False
    synced: bytes | None = None


Change = dict[str, Inode | None]  # what a call made of names; None means that the name is gone


@dataclass(slots=True)
class SimulatedDisk:
    """The names and bytes below one folder, as a program sees them and as a power cut would leave them."""

    root: Path
    names: dict[str, Inode] = field(default_factory=dict)  # as a program sees them
    durable: dict[str, Inode] = field(default_factory=dict)
    pending: dict[str, list[Change]] = field(default_factory=dict)  # by folder, oldest first

    def has(self, path: str) -> bool:
        """Return whether a path is on this disk."""
        return path.startswith(f"{self.root}/")

    def created(self, path: str, *, folder: bool = False) -> None:
        """Note a new name, unless it is known."""
        if path not in self.names:
            self._change({path: Inode(folder)})

    def renamed(self, source: str, target: str) -> None:
        """Note that a file has another name, in the same folder."""
        self._change({source: None, target: self.names[source]})

    def deleted(self, path: str) -> None:
        """Note that a name is gone."""
        if path in self.names:
            self._change({path: None})

    def put(self, path: Path, data: bytes | None) -> None:
        """Change a file from outside, durably, as a person does; None deletes it."""
        for change in self.pending.get(parent(str(path)), []):
            change.pop(str(path), None)
        if data is None:
            path.unlink(missing_ok=True)
            self.names.pop(str(path), None)
            self.durable.pop(str(path), None)
        else:
            path.write_bytes(data)
            self.names[str(path)] = self.durable[str(path)] = Inode(synced=data)

    def _change(self, change: Change) -> None:
        for path, inode in change.items():
            if inode is None:
                del self.names[path]
            else:
                self.names[path] = inode
        self.pending.setdefault(parent(next(iter(change))), []).append(change)

    def synced(self, path: str) -> None:
        """Note that a file, or the names in a folder, are on the disk."""
        for change in self.pending.pop(path, []):
            _apply(self.durable, change)
        inode = self.names.get(path)
        if inode is not None and not inode.folder:
            inode.synced = Path(path).read_bytes()

    def cut_power(self, rng: Generator) -> None:
        """Leave what a power cut would leave, in one of the ways that are possible."""
        left = self._surviving_names(rng)
        contents = {path: self._surviving_bytes(left[path], rng) for path in sorted(left)}
        databases = {str(path): path.read_bytes() for path in self._databases() if parent(str(path)) in left}
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, data in {**contents, **databases}.items():
            if data is None:
                Path(name).mkdir()
            else:
                Path(name).write_bytes(data)
        self.names = {name: Inode(data is None, data) for name, data in contents.items()}
        self.durable = dict(self.names)
        self.pending.clear()

    def _surviving_names(self, rng: Generator) -> dict[str, Inode]:
        left = dict(self.durable)
        for folder in sorted(self.pending):
            changes = self.pending[folder]
            for change in changes[: int(rng.integers(len(changes) + 1))]:
                _apply(left, change)
        # A file is as lost as the folder that it is in.
        for path in sorted(left):
            if parent(path) != str(self.root) and parent(path) not in left:
                del left[path]
        return left

    def _surviving_bytes(self, inode: Inode, rng: Generator) -> bytes | None:
        if inode.folder:
            return None
        old = inode.synced or b""
        now = next((Path(name).read_bytes() for name, one in self.names.items() if one is inode), old)
        if now == inode.synced:
            return now
        blocks = len(now) // BLOCK + 1
        torn = now[: BLOCK * int(rng.integers(blocks))]
        return (old, now, torn, torn.ljust(len(now), b"\0"))[int(rng.integers(4))]

    def _databases(self) -> Iterator[Path]:
        return (path for path in sorted(self.root.rglob(f"{DATABASE}*")) if path.is_file())


def parent(path: str) -> str:
    """Return the folder of a path."""
    return path.rpartition("/")[0]


def _apply(names: dict[str, Inode], change: Change) -> None:
    for path, inode in change.items():
        if inode is None:
            names.pop(path, None)
        else:
            names[path] = inode
