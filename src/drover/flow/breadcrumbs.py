"""Breadcrumbs: what each worker is running at the moment, readable even if the worker dies.

Rule 1: a place has one small file while it runs, in `running/`, and overwrites it before every operator and family. A
place that ends, well or with an error, removes it. So a file that stays was left by a worker that died.
Rule 2: a breadcrumb is advice. If it cannot be written, the batch runs all the same.
Rule 3: this works on a local or mounted disk only. On an object store, every write would take longer than many batches.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from drover.flow.schedule import HopNode
from drover.flow.state.storage import local_path, open_root

FOLDER: Final = "running"
NAME: Final = re.compile(r"(\d{12})-(\d+)-(\d+)-[\w.-]+\.json")

Kind = Literal["operator", "family"]
Mark = Callable[[Kind, str], None]  # notes what runs from now on


@dataclass(frozen=True, slots=True)
class Breadcrumb:
    """What a place runs, or ran when its worker died."""

    batch: int
    hop: int
    node: int
    kind: Kind
    name: str  # of the operator, or the id of the family
    since: float  # seconds since 1970, by the clock of the worker


@cache
def folder_of(root: str) -> Path | None:
    """Return the folder for breadcrumbs of a checkpoint; None if the checkpoint is not on a disk."""
    local = local_path(*open_root(root))
    return None if local is None else local / FOLDER


@contextmanager
def breadcrumbs(root: str, batch: int, place: HopNode, attempt: str, clock: Callable[[], float]) -> Iterator[Mark]:
    """Yield a function that notes what the place runs from now on; at the end, the note is removed."""
    folder = folder_of(root)
    if folder is None:
        yield lambda _kind, _name: None
        return
    trail = _Trail(folder, batch, place, attempt, clock)
    try:
        yield trail.mark
    finally:
        trail.remove()


class _Trail:
    """The breadcrumb file of one place; it is opened with the first mark, and kept open."""

    def __init__(self, folder: Path, batch: int, place: HopNode, attempt: str, clock: Callable[[], float]) -> None:
        self.folder = folder
        self.clock = clock
        self.head = f'{{"batch": {batch}, "hop": {place.hop}, "node": {place.node}'
        self.path = folder / f"{batch:012}-{place.hop}-{place.node}-{attempt}.json"
        self.file: int | None = None
        self.longest = 0

    def mark(self, kind: Kind, name: str) -> None:
        # By hand, because this runs before every operator: `asdict` alone would take three times as long as the rest.
        text = f'{self.head}, "kind": "{kind}", "name": {json.dumps(name)}, "since": {self.clock():.3f}}}'.encode()
        self.longest = max(self.longest, len(text))
        with contextlib.suppress(OSError):
            if self.file is None:
                self.file = self._open()
            # One call: a worker may be killed at any time. Blanks cover the rest of a longer text.
            os.pwrite(self.file, text.ljust(self.longest), 0)

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o644)
        except FileNotFoundError:
            self.folder.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o644)

    def remove(self) -> None:
        if self.file is not None:
            os.close(self.file)
            with contextlib.suppress(OSError):
                self.path.unlink()


def read_breadcrumbs(root: str, batch: int | None = None) -> list[Breadcrumb]:
    """Return what places run, or ran when they died, of one batch or of all, sorted by place."""
    folder = folder_of(root)
    found = []
    for path in [] if folder is None or not folder.is_dir() else sorted(folder.iterdir()):
        match = NAME.fullmatch(path.name)
        if match and (batch is None or int(match[1]) == batch):
            # It may be removed, or written, at this moment.
            with contextlib.suppress(OSError, ValueError, TypeError):
                found.append(Breadcrumb(**json.loads(path.read_text(encoding="utf-8"))))
    return found


def sweep_breadcrumbs(root: str, last: int) -> None:
    """Remove what dead workers left in batches up to `last`."""
    folder = folder_of(root)
    if folder is None or not folder.is_dir():
        return
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name[:12].isdecimal() and int(path.name[:12]) <= last:
                path.unlink(missing_ok=True)
