"""The chains of the query log: whichever file is missing or of another time, the error names it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.query_log import files
from drover.flow.query_log.chain import ACCEPTED, path_of, read_accepted
from drover.flow.query_log.files import RecoveredLog, compact, recover, write_change, write_manifest
from drover.flow.query_log.log import BatchManifest, QueryLog, advance
from drover.flow.state.storage import open_root
from tests.flow.query_log.logs import change, placed

LAST = 6  # the last committed batch


def make_log(fs: FileSystem, root: str, *, linked: bool = True, compacted: bool = False) -> QueryLog:
    """Write manifests for batches 0, 2, 4 and 6, each with one change before it, and two changes that wait."""
    log = QueryLog()
    link = ""
    for serial in range(1, 7):
        made = write_change(fs, root, replace(change(serial, [serial]), previous=link if linked else None))
        link = made.link
        if serial <= 4:
            manifest = BatchManifest(2 * serial - 2, serial, placed({serial: 0}))
            if linked:
                manifest = replace(manifest, previous=(log.batch, log.link), change=link)
            log = advance(log, [made], write_manifest(fs, root, manifest))
        if serial == 3 and compacted:
            compact(fs, root, log)
    return log


def reopened(fs: FileSystem, root: str, log: QueryLog) -> RecoveredLog:
    return recover(fs, root, LAST, log.batch, log.link)


@pytest.mark.parametrize("compacted", [False, True], ids=["all files", "with a snapshot"])
def test_a_whole_log_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compacted: bool) -> None:
    monkeypatch.setattr(files, "LEAST_CHAIN", 0)
    fs, root = open_root(tmp_path)
    log = make_log(fs, root, compacted=compacted)
    found = reopened(fs, root, log)
    assert found.query_log.members.equals(log.members)
    assert (found.query_log.link, found.query_log.change) == (log.link, log.change)
    assert [one.serial for one in found.pending] == [5, 6]
    assert found.newest_change == (6, found.pending[-1].link)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *(pytest.param("wish", serial, id=f"change {serial} of 6") for serial in range(1, 7)),
        *(pytest.param("turn", batch, id=f"the manifest of batch {batch}") for batch in (0, 2, 4, 6)),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, kind: str, number: int) -> None:
    fs, root = open_root(tmp_path)
    log = make_log(fs, root)
    path = Path(path_of(root, kind, number))
    path.unlink()
    with pytest.raises(StateError, match=path.name):
        reopened(fs, root, log)


def test_a_missing_snapshot_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LEAST_CHAIN", 0)
    fs, root = open_root(tmp_path)
    log = make_log(fs, root, compacted=True)
    path = Path(path_of(root, "full", 4))
    path.unlink()
    with pytest.raises(StateError, match=path.name):
        reopened(fs, root, log)


@pytest.mark.parametrize(("kind", "number"), [("wish", 2), ("wish", 5), ("turn", 2), ("turn", 6)])
def test_a_file_of_another_run_is_named(tmp_path: Path, kind: str, number: int) -> None:
    fs, root = open_root(tmp_path / "one")
    log = make_log(fs, root)
    other = open_root(tmp_path / "other")
    write_change(*other, change(9, [9]))
    make_log(*other, linked=False)  # the same queries, but without links
    Path(path_of(other[1], kind, number)).replace(path_of(root, kind, number))
    with pytest.raises(StateError, match=Path(path_of(root, kind, number)).name):
        reopened(fs, root, log)


def test_a_log_of_release_0_1_has_no_links(tmp_path: Path) -> None:
    fs, root = open_root(tmp_path)
    log = make_log(fs, root, linked=False)
    (tmp_path / "queries" / ACCEPTED).unlink()
    assert recover(fs, root, LAST, log.batch).query_log.members.equals(log.members)


def test_a_manifest_that_the_commit_does_not_name_is_left_out(tmp_path: Path) -> None:
    """Batch 6 was begun with a manifest, planned again without one, and committed."""
    fs, root = open_root(tmp_path)
    make_log(fs, root)
    before = recover(fs, root, 4, 4).query_log
    found = recover(fs, root, LAST, before.batch, before.link)
    assert found.query_log.batch == 4
    assert [one.serial for one in found.pending] == [4, 5, 6]


@pytest.mark.parametrize("data", [None, b"", b"\xff", b'{"checksum":"00","body":{}}\n'])
def test_without_a_note_of_accepted_changes_the_log_is_read_as_it_is(tmp_path: Path, data: bytes | None) -> None:
    fs, root = open_root(tmp_path)
    log = make_log(fs, root)
    note = tmp_path / "queries" / ACCEPTED
    note.unlink() if data is None else note.write_bytes(data)
    assert read_accepted(fs, root) == 0
    assert [one.serial for one in reopened(fs, root, log).pending] == [5, 6]
