"""Reads what a report needs from a checkpoint.

Rule 1: reading changes nothing and takes no lock, so you can make a report while the network runs.
Rule 2: what is missing or damaged is named in `RunFiles.missing`; the report shows the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from pyarrow.fs import FileSystem, FileType

from drover.control import history
from drover.control.history import SavedState
from drover.control.record import PeriodRecord
from drover.control.settings import Control, control_of
from drover.errors import DroverError, shorten
from drover.flow.parking import ParkedOperator
from drover.flow.planlog import PLANS, read_plan
from drover.flow.query_log.chain import FOLDER as BOOK
from drover.flow.query_log.figures import Figures, read_figures
from drover.flow.state.commits import latest
from drover.flow.state.layout import COMMITS
from drover.flow.state.storage import exists, join, open_root, sizes
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.changes import NETWORK, noted_network
from drover.spark.commit_notes import notes_of
from drover.spark.queries.stopped import StoredQueries, find
from drover.spark.row_totals import RowTotals

V = TypeVar("V")
NEWEST: Final = sys.maxsize  # a batch after all others


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What a checkpoint holds. Parts that it lacks are None or empty, and `missing` names them."""

    checkpoint: str  # as the user named it
    name: str = ""  # of the network
    network: Network | None = None
    plan: Plan | None = None
    saved: SavedState = field(default_factory=SavedState)
    settings: Control | None = None
    records: tuple[PeriodRecord, ...] = ()  # oldest first
    written: datetime | None = None  # when the control loop last saved its state
    missing: tuple[str, ...] = ()
    queries: StoredQueries | None = None  # None if no query was ever submitted
    query_metrics: Figures | None = None  # last measurements of queries; None if there are none
    parked: Mapping[str, ParkedOperator] = field(default_factory=dict)  # operators that failed and do not run
    totals: RowTotals = field(default_factory=RowTotals)  # rows that the run did not use


def read_run(checkpoint: str | os.PathLike[str], last: int | None = None) -> RunFiles:
    """Return what a checkpoint holds, of all periods or of the last few; DroverError if it is not a checkpoint."""
    fs, root = open_root(checkpoint)
    _check_is_checkpoint(fs, root, os.fspath(checkpoint))
    missing: list[str] = []
    network = _read_part(missing, "network file", lambda: noted_network(fs, root))
    plan = _read_part(missing, "plan", lambda: _plan(fs, root))
    state_file = join(join(root, history.FOLDER), "state.json")
    saved = _read_part(
        missing, "control loop state", lambda: history.load_state(fs, root) if exists(fs, state_file) else None
    )
    records = _read_part(missing, "control loop history", lambda: _records(fs, root, last) or None)
    settings = None
    if saved is not None:
        given = saved.settings
        settings = _read_part(missing, "control loop settings", lambda: control_of(given) if given else None)
    queries = None
    metrics = None
    if sizes(fs, join(root, BOOK)):
        queries = _read_part(missing, "queries", lambda: find(os.fspath(checkpoint)))
        metrics = _query_metrics(fs, root, missing)
    parked = _read_part(missing, "parked operators", lambda: notes_of(latest(fs, root)).parked)
    totals = _read_part(missing, "late rows and dead letters", lambda: notes_of(latest(fs, root)).totals)
    saved_name = "" if saved is None else saved.network
    return RunFiles(
        checkpoint=os.fspath(checkpoint),
        name=saved_name if network is None else network.name,
        network=network,
        plan=plan,
        saved=saved or SavedState(),
        settings=settings,
        records=tuple(records or ()),
        written=None if saved is None else fs.get_file_info(state_file).mtime,
        missing=tuple(missing),
        queries=queries,
        query_metrics=metrics,
        parked=parked or {},
        totals=totals or RowTotals(),
    )


def _check_is_checkpoint(fs: FileSystem, root: str, named: str) -> None:
    kind = fs.get_file_info(root).type
    if kind == FileType.NotFound:
        found = "it does not exist"
    elif kind != FileType.Directory:
        found = "it is a file"
    elif exists(fs, join(root, NETWORK)) or any(sizes(fs, join(root, part)) for part in (COMMITS, PLANS)):
        return
    else:
        found = f"it has no {NETWORK}, no {COMMITS} and no {PLANS}"
    raise DroverError(
        f"CHECKPOINT is {shorten(named)}, but must be the checkpoint directory of a run: {found}. "
        "Give the directory that the run file names as `checkpoint`."
    )


def _read_part(missing: list[str], part: str, read: Callable[[], V | None]) -> V | None:
    """Return a part of the checkpoint, or None with the reason in `missing`."""
    try:
        value = read()
    except DroverError as error:
        missing.append(f"{part}: {error}")
        return None
    if value is None:
        missing.append(f"{part}: not in the checkpoint")
    return value


def _plan(fs: FileSystem, root: str) -> Plan | None:
    entry = read_plan(fs, root, NEWEST)
    return None if entry is None else entry.plan


def _records(fs: FileSystem, root: str, last: int | None) -> list[PeriodRecord]:
    """Return the records of all periods or of the last few."""
    # A period in which a plan was approved by hand has two records.
    found = history.read_records(fs, root, None if last is None else 2 * last)
    periods = sorted({record.period for record in found})[-last:] if last is not None else []
    return [record for record in found if record.period >= periods[0]] if periods else found


def _query_metrics(fs: FileSystem, root: str, missing: list[str]) -> Figures | None:
    # The file is written every few batches; its absence is normal, and the section on queries mentions it.
    try:
        return read_figures(fs, root)
    except DroverError as error:
        missing.append(f"query metrics: {error}")
        return None
