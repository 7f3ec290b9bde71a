"""The simulated disk: what a power cut leaves is possible, and everything possible is left at times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpy.random import default_rng

from drover.files import make_durable_folder, replacing, sync
from tests.simulation.calls import StorageCalls
from tests.simulation.clock import VirtualClock
from tests.simulation.disk import SimulatedDisk
from tests.simulation.faults import Fault, FaultKind, Faults, RunDiedError

LONG = b"x" * 2000


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[StorageCalls]:
    root = tmp_path / "disk"
    root.mkdir()
    made = StorageCalls(SimulatedDisk(root), Faults(VirtualClock()))
    with made.installed():
        yield made


def written(path: Path, data: bytes) -> Path:
    """Write a file without waiting for the disk."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)
    return path


def after_cuts(calls: StorageCalls, path: Path, cuts: int = 60) -> set[bytes | None]:
    """Return what a file may be after a power cut; None if it is gone."""
    found: set[bytes | None] = set()
    disk = calls.disk
    before = {Path(name): Path(name).read_bytes() for name, inode in disk.names.items() if not inode.folder}
    folders = [Path(name) for name, inode in disk.names.items() if inode.folder]
    for seed in range(cuts):
        copy = SimulatedDisk(
            disk.root, dict(disk.names), dict(disk.durable), {k: list(v) for k, v in disk.pending.items()}
        )
        with calls.unseen():
            copy.cut_power(default_rng(seed))
            found.add(path.read_bytes() if path.exists() else None)
            for folder in folders:
                folder.mkdir(exist_ok=True)
            for name, data in before.items():
                name.write_bytes(data)
    return found


def test_an_unsynced_file_may_be_lost_empty_torn_or_whole(calls: StorageCalls) -> None:
    path = written(calls.disk.root / "a", LONG)
    found = after_cuts(calls, path)
    assert {None, b"", LONG} <= found
    assert LONG[:512] in found
    assert LONG[:512].ljust(2000, b"\0") in found


def test_synced_bytes_without_a_synced_name_are_whole_or_gone(calls: StorageCalls) -> None:
    path = written(calls.disk.root / "a", LONG)
    sync(path)
    assert after_cuts(calls, path) == {None, LONG}
    sync(calls.disk.root)
    assert after_cuts(calls, path) == {LONG}


def test_a_replaced_file_is_the_old_one_or_the_new_one(calls: StorageCalls) -> None:
    path = calls.disk.root / "a"
    with replacing(path) as file:
        file.write(b"old")
    with replacing(path, durable=False) as file:
        file.write(b"new")
    assert after_cuts(calls, path) == {b"old", b"new"}


def test_a_file_is_as_lost_as_its_folder(calls: StorageCalls) -> None:
    folder = calls.disk.root / "f"
    folder.mkdir()
    path = written(folder / "a", LONG)
    sync(path)
    sync(folder)
    assert after_cuts(calls, path) == {None, LONG}
    make_durable_folder(folder)
    assert after_cuts(calls, path) == {LONG}


def test_a_deleted_file_may_come_back_until_its_folder_is_synced(calls: StorageCalls) -> None:
    path = calls.disk.root / "a"
    with replacing(path) as file:
        file.write(b"rows")
    path.unlink()
    assert after_cuts(calls, path) == {None, b"rows"}
    sync(calls.disk.root)
    assert after_cuts(calls, path) == {None}


@pytest.mark.parametrize("kind", [FaultKind.FULL, FaultKind.BROKEN])
def test_a_fault_lasts_for_some_calls(calls: StorageCalls, kind: FaultKind) -> None:
    calls.faults.plan(Fault(kind, 2, 2))
    written(calls.disk.root / "a", b"")  # the first call
    for _ in range(2):
        with pytest.raises(OSError, match="open b"):
            written(calls.disk.root / "b", b"")
    written(calls.disk.root / "b", b"")
    assert [fault.kind for fault in calls.faults.struck] == [kind]


def test_a_dead_run_makes_no_calls(calls: StorageCalls) -> None:
    calls.faults.plan(Fault(FaultKind.KILL, 3))
    with pytest.raises(RunDiedError, match="the process is killed at call 3"), replacing(calls.disk.root / "a") as file:
        file.write(b"rows")
    with pytest.raises(RunDiedError):
        (calls.disk.root / "a").unlink()
    assert [path.name for path in calls.disk.root.iterdir()] == [f".a.{os.getpid()}-0"]


def test_a_slow_disk_takes_time(calls: StorageCalls) -> None:
    calls.faults.plan(Fault(FaultKind.SLOW, 1))
    written(calls.disk.root / "a", b"")
    assert calls.faults.clock.now >= 30
