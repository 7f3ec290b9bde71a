"""The files of the control loop in a checkpoint: its state, and the records of its decisions.

Rule 1: a file is complete or absent, and its checksum proves it. Rule 2: losing these files loses no row. The data loop
has its own files, and the control loop starts from nothing if its files are gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from pyarrow.fs import FileSystem

from drover.control import record as records
from drover.control import state as states
from drover.control.record import PeriodRecord, Proposal, proposal_of
from drover.control.settings import MEMORY
from drover.control.state import ControlState
from drover.errors import StateError
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import RESTORE, delete, exists, join, read_whole, sizes, write_whole
from drover.load.window import Period, Window

FOLDER: Final = "control"
CHUNK: Final = 60  # records per file: every period rewrites one small file
KEPT: Final = 100  # files; at one period per second, an hour and forty minutes
NAME: Final = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class SavedState:
    """What a restart continues with."""

    state: ControlState = field(default_factory=ControlState)
    drained: frozenset[int] = frozenset()  # nodes to be kept empty
    network: str = ""  # name of the network
    mode: str = "observe"
    settings: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON, from `settings_to_json`
    approved: Proposal | None = None  # to be carried out when the run starts again


def save_state(fs: FileSystem, root: str, saved: SavedState) -> None:
    """Write what a restart continues with: the newest period in a file of its own, and the rest of the state.

    Call it in every period: it relies on the files of earlier periods being there.
    """
    window = saved.state.window
    if window.periods:
        # Each period has a file of its own, so that a step writes one period and not the whole window.
        newest = window.periods[-1]
        write_periods(fs, root, [newest])
        if exists(fs, old := _period_path(root, newest.number - window.length)):
            delete(fs, old)
    body = {
        "state": states.to_json(replace(saved.state, window=Window(window.length))),
        "newest": saved.state.period,
        "drained": sorted(saved.drained),
        "network": saved.network,
        "mode": saved.mode,
        "settings": dict(saved.settings),
        "approved": None if saved.approved is None else asdict(saved.approved),
    }
    data, _ = seal({"format": FORMAT, "batch": 0, **body})
    # Not forced to disk: losing this file loses no row (rule 2).
    write_whole(fs, _state_path(root), [data], durable=False)


def write_periods(fs: FileSystem, root: str, periods: Iterable[Period]) -> None:
    """Write periods, each into a file of its own."""
    for period in periods:
        data, _ = seal({"format": FORMAT, "batch": period.number, "period": states.period_to_json(period)})
        write_whole(fs, _period_path(root, period.number), [data], durable=False)


def load_state(fs: FileSystem, root: str) -> SavedState:
    """Return what the last run saved, or an empty state; StateError if a file is damaged."""
    path = _state_path(root)
    if not exists(fs, path):
        return SavedState()
    body, _ = unseal(path, read_whole(fs, path), 0)
    try:
        state = states.state_of(body["state"])
        state = replace(state, window=replace(state.window, periods=tuple(_periods(fs, root, int(body["newest"])))))
        approved = body.get("approved")
        return SavedState(
            state,
            frozenset(map(int, body["drained"])),
            str(body["network"]),
            str(body["mode"]),
            body.get("settings", {}),
            None if approved is None else proposal_of(approved),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(path, "the state of a control loop", repr(error), RESTORE) from error


def _periods(fs: FileSystem, root: str, newest: int) -> Iterator[Period]:
    """Yield the periods of the window that ends with the newest; missing ones are skipped."""
    for number in range(max(newest - MEMORY, 0) + 1, newest + 1):
        path = _period_path(root, number)
        if exists(fs, path):
            yield states.period_of(unseal(path, read_whole(fs, path), number)[0]["period"])


def write_records(fs: FileSystem, root: str, newest: Sequence[PeriodRecord]) -> None:
    """Write the chunk of the newest record; `newest` holds at least all records of that chunk."""
    if not newest:
        return
    chunk = newest[-1].period // CHUNK
    inside = [records.to_json(record) for record in newest if record.period // CHUNK == chunk]
    data, _ = seal({"format": FORMAT, "batch": chunk, "records": inside})
    write_whole(fs, _chunk_path(root, chunk), [data], durable=False)
    # Only when a new file begins can there be one too many.
    if newest[-1].period % CHUNK == 0:
        for old in _chunks(fs, root)[:-KEPT]:
            delete(fs, _chunk_path(root, old))


def read_records(fs: FileSystem, root: str, last: int | None = None) -> list[PeriodRecord]:
    """Return the records of a checkpoint, oldest first; only the `last` ones if given."""
    found: list[PeriodRecord] = []
    for chunk in reversed(_chunks(fs, root)):
        found = [*_read_chunk(fs, root, chunk), *found]
        if last is not None and len(found) >= last:
            return found[-last:]
    return found


def _read_chunk(fs: FileSystem, root: str, chunk: int) -> Iterable[PeriodRecord]:
    path = _chunk_path(root, chunk)
    body: dict[str, Any] = unseal(path, read_whole(fs, path), chunk)[0]
    try:
        return [records.record_of(record) for record in body["records"]]
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(path, "records of a control loop", repr(error), RESTORE) from error


def _state_path(root: str) -> str:
    return join(join(root, FOLDER), "state.json")


def _period_path(root: str, number: int) -> str:
    return join(join(join(root, FOLDER), "periods"), f"{number:012}.json")


def _chunk_path(root: str, chunk: int) -> str:
    return join(join(join(root, FOLDER), "history"), f"{chunk:012}.json")


def _chunks(fs: FileSystem, root: str) -> list[int]:
    found = (NAME.fullmatch(name) for name in sizes(fs, join(join(root, FOLDER), "history")))
    return sorted(int(match[1]) for match in found if match)
