"""A full disk: whatever is written to a checkpoint then, the error names the file and the way out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow.fs import FileSystem, LocalFileSystem

import drover
from drover.control.history import SavedState, save_state, write_records
from drover.control.record import PeriodOutcome, PeriodRecord
from drover.errors import DroverError, StateError
from drover.flow.planlog import PlanLogEntry, write_plan
from drover.flow.query_log import files as query_files
from drover.flow.query_log.figures import FIGURES, Figures, write_figures
from drover.flow.query_log.files import compact, write_change, write_manifest
from drover.flow.query_log.log import BatchManifest, QueryLog
from drover.flow.state import storage
from drover.flow.state.commits import Checkpoint, commit
from drover.flow.state.documents import Commit
from drover.flow.state.lock import Holder, hold
from drover.flow.state.segments import Delta, write_deltas
from drover.flow.state.storage import make_folder, open_root
from drover.flow.state.witness import Witness, write_witness
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark.changes import note_network
from drover.spark.sinks import Files
from tests.flow.query_log.logs import change

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
FIGURES_NOW = Figures(1, 1.0, 1.0, {}, (), pl.DataFrame(schema=FIGURES))
RECORD = PeriodRecord(1, PeriodOutcome.REFUSED, "", (), 1)


def network() -> Network:
    net = drover.Builder("n")
    net.source("s", {"ts": "timestamp", "k": "bigint"}, time="ts").filter("f", "k > 0").output()
    return net.build()


WRITERS: dict[str, tuple[str, Callable[[FileSystem, str], object]]] = {
    "a commit": ("commits/000000000000.json", lambda fs, root: commit(fs, root, Checkpoint(), Commit(0))),
    "state": (
        "000000000000-0-a.arrow",
        lambda fs, root: write_deltas(
            fs, f"{root}/state", "000000000000-0-a.arrow", [Delta("u", "p", pa.table({"k": [1]}))]
        ),
    ),
    "a plan": ("plans/000000000003.json", lambda fs, root: write_plan(fs, root, PlanLogEntry(3, Plan(1, 1, {})))),
    "a change": ("queries/wish-000000000001.arrow", lambda fs, root: write_change(fs, root, change(1, [0]))),
    "a manifest": ("queries/turn-000000000002.arrow", lambda fs, root: write_manifest(fs, root, BatchManifest(2, 0))),
    "figures": ("queries/figures.arrow", lambda fs, root: write_figures(fs, root, FIGURES_NOW)),
    "the network": ("network.yaml", lambda fs, root: note_network(fs, root, network())),
    "the witness": ("witness.json", lambda fs, root: write_witness(fs, root, Witness())),
    "the state of the control loop": ("control/state.json", lambda fs, root: save_state(fs, root, SavedState())),
    "a decision": ("control/history/000000000000.json", lambda fs, root: write_records(fs, root, [RECORD])),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS)
def test_the_file_that_does_not_fit_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, write: Callable[[FileSystem, str], object]
) -> None:
    monkeypatch.setattr(storage, "_open_output", lambda fs, _path: fs.open_output_stream("/dev/full"))
    with pytest.raises(StateError, match=r"No space left on device.*Free space") as caught:
        write(*open_root(tmp_path))
    assert f"{name}: expected to write it" in str(caught.value)


def test_a_snapshot_that_does_not_fit_leaves_the_files_it_would_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs, root = open_root(tmp_path)
    write_change(fs, root, change(1, [0]))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(query_files, "LEAST_CHAIN", 0)
    monkeypatch.setattr(storage, "_open_output", lambda fs, _path: fs.open_output_stream("/dev/full"))
    with pytest.raises(StateError, match=r"full-000000000004\.arrow.*No space left"):
        compact(fs, root, QueryLog(batch=4, last_serial=1))
    assert sorted(tmp_path.rglob("*")) == before


def test_the_lock_is_named_and_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise NO_SPACE

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StateError, match=r"lock: expected to write it.*No space left.*Free space"):
            hold(*open_root(tmp_path), Holder(1, "host", "now"))
    hold(*open_root(tmp_path), Holder(1, "host", "now")).release()


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_the_file_of_a_sink_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def full(_: int) -> None:
        raise NO_SPACE

    monkeypatch.setattr(os, "fsync", full)
    spark: object = None
    with pytest.raises(DroverError, match=rf"000000000007\.{kind}.*No space left.*start again"):
        Files(str(tmp_path), kind).write(pl.DataFrame({"k": [1]}), 7, spark)  # type: ignore[arg-type] # unused
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="file/folder: expected to create this folder"):
        make_folder(LocalFileSystem(), str(tmp_path / "file" / "folder"))
