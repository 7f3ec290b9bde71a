"""What a report is made of, as a checkpoint has it.

Rule 1: nothing is changed, and no lock is taken: a report may be made while the network runs.
Rule 2: what is missing or damaged is told in a sentence, and the rest is shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from pyarrow.fs import FileSystem, FileType

from drover.control import history
from drover.control.history import Saved
from drover.control.record import Record
from drover.control.settings import Control, control_of
from drover.errors import DroverError, shorten
from drover.flow.book.figures import Figures, read_figures
from drover.flow.book.files import FOLDER as BOOK
from drover.flow.planlog import PLANS, read_plan
from drover.flow.state.layout import COMMITS
from drover.flow.state.storage import exists, join, open_root, sizes
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.changes import NETWORK, noted_network
from drover.spark.queries.stopped import Found, find

V = TypeVar("V")
NEWEST: Final = sys.maxsize  # a batch after all others


@dataclass(frozen=True, slots=True)
class Material:
    """What was found in a checkpoint; None or nothing where it lacks something, which `missing` then says."""

    place: str  # of the checkpoint, as it was named
    name: str = ""  # of the network
    network: Network | None = None
    plan: Plan | None = None
    saved: Saved = field(default_factory=Saved)
    settings: Control | None = None
    records: tuple[Record, ...] = ()  # oldest first
    written: datetime | None = None  # when the loop last wrote something
    missing: tuple[str, ...] = ()
    queries: Found | None = None  # None if none was ever submitted
    figures: Figures | None = None  # what was measured of queries last; None if nothing was


def read(checkpoint: str | os.PathLike[str], last: int | None = None) -> Material:
    """Return what a checkpoint has, of the `last` so many periods or of all; DroverError if it is no checkpoint."""
    fs, root = open_root(checkpoint)
    _demand_checkpoint(fs, root, os.fspath(checkpoint))
    missing: list[str] = []
    network = _try(missing, "the network's text", lambda: noted_network(fs, root))
    plan = _try(missing, "the plan", lambda: _plan(fs, root))
    memory = join(join(root, history.FOLDER), "state.json")
    saved = _try(missing, "the memory of the control loop", lambda: _saved(fs, root, memory))
    records = _try(missing, "the decisions of the control loop", lambda: _records(fs, root, last) or None)
    settings = None
    if saved is not None:
        settings = _try(missing, "the settings of the control loop", lambda: _settings(saved.settings))
    queries = figures = None
    if sizes(fs, join(root, BOOK)):
        queries = _try(missing, "the queries", lambda: find(os.fspath(checkpoint)))
        figures = _figures(fs, root, missing)
    return Material(
        os.fspath(checkpoint),
        network.name if network is not None else "" if saved is None else saved.network,
        network,
        plan,
        Saved() if saved is None else saved,
        settings,
        tuple(records or ()),
        fs.get_file_info(memory).mtime if saved is not None else None,
        tuple(missing),
        queries,
        figures,
    )


def _demand_checkpoint(fs: FileSystem, root: str, named: str) -> None:
    kind = fs.get_file_info(root).type
    if kind == FileType.NotFound:
        found = "there is nothing"
    elif kind != FileType.Directory:
        found = "it is a file"
    elif exists(fs, join(root, NETWORK)) or any(sizes(fs, join(root, part)) for part in (COMMITS, PLANS)):
        return
    else:
        found = f"it has no {NETWORK}, no {COMMITS} and no {PLANS}"
    raise DroverError(
        f"CHECKPOINT is {shorten(named)}, but must be the checkpoint directory of a run, and {found}. "
        "Name the directory that the run has as `checkpoint`."
    )


def _try(missing: list[str], what: str, found: Callable[[], V | None]) -> V | None:
    """Return what is found, or None and a sentence in `missing`."""
    try:
        value = found()
    except DroverError as error:
        missing.append(f"{what}: {error}")
        return None
    if value is None:
        missing.append(f"{what}: the checkpoint has none")
    return value


def _plan(fs: FileSystem, root: str) -> Plan | None:
    entry = read_plan(fs, root, NEWEST)
    return None if entry is None else entry.plan


def _records(fs: FileSystem, root: str, last: int | None) -> list[Record]:
    """Return the records of the last so many periods; a period that somebody approved a plan in has two."""
    found = history.read(fs, root, None if last is None else 2 * last)
    periods = sorted({record.period for record in found})[-last:] if last is not None else []
    return [record for record in found if record.period >= periods[0]] if periods else found


def _figures(fs: FileSystem, root: str, missing: list[str]) -> Figures | None:
    """Return the figures of queries; that there are none is told with the queries."""
    try:
        return read_figures(fs, root)
    except DroverError as error:
        missing.append(f"the figures of queries: {error}")
        return None


def _saved(fs: FileSystem, root: str, memory: str) -> Saved | None:
    return history.load(fs, root) if exists(fs, memory) else None


def _settings(given: Mapping[str, Any]) -> Control | None:  # Any: JSON
    return control_of(given) if given else None
