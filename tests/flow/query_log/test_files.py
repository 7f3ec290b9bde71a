"""The files of the query log: accepted changes survive, and a batch that was begun starts with the same queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from drover.errors import StateError
from drover.flow.query_log import files
from drover.flow.query_log.chain import path_of
from drover.flow.query_log.files import compact, recover, write_change, write_manifest
from drover.flow.query_log.log import BatchManifest, Change, QueryLog, advance
from drover.flow.state import storage
from drover.flow.state.storage import open_root
from tests.flow.query_log.logs import change, numbers, placed


def local(folder: Path) -> FileSystem:
    return SubTreeFileSystem(str(folder), LocalFileSystem())


@given(data=st.data())
def test_what_is_recovered_is_what_was_written(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Random changes and manifests, some batches without a manifest, compacted now and then, and a crash at the end."""
    fs = local(tmp_path_factory.mktemp("log"))
    query_log = QueryLog()
    serial = 0
    next_number = 0
    pending = list[Change]()
    for batch in range(data.draw(st.integers(1, 6))):
        for _ in range(data.draw(st.integers(0, 2))):
            serial += 1
            count = data.draw(st.integers(0, 3))
            known = [*numbers(query_log), *(n for one in pending for n in one.added["number"])]
            gone = data.draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else []
            pending.append(change(serial, range(next_number, next_number + count), gone))
            next_number += count
            write_change(fs, "root", pending[-1])
        if data.draw(st.booleans()):
            nodes = {n: data.draw(st.integers(0, 2)) for one in pending for n in one.added["number"]}
            manifest = BatchManifest(batch, serial, placed(nodes))
            write_manifest(fs, "root", manifest)
            query_log = advance(query_log, pending, manifest)
            pending = []
        if data.draw(st.booleans()):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(files, "LEAST_CHAIN", data.draw(st.sampled_from([0, 2**20])))
                compact(fs, "root", query_log)
        found = recover(fs, "root", batch, query_log.batch)
        assert_frame_equal(found.query_log.members, query_log.members)
        assert (found.query_log.batch, found.query_log.last_serial) == (query_log.batch, query_log.last_serial)
        assert [one.serial for one in found.pending] == [one.serial for one in pending]
        assert found.begun is None


def test_the_manifest_of_a_batch_that_was_begun_is_found_but_not_applied(tmp_path: Path) -> None:
    fs = local(tmp_path)
    write_change(fs, "root", change(1, [0]))
    write_manifest(fs, "root", BatchManifest(3, 1, placed({0: 2})))
    found = recover(fs, "root", 2)
    assert found.query_log.members.height == 0
    assert found.begun is not None
    assert advance(found.query_log, found.pending, found.begun).members["node"].to_list() == [2]


@pytest.mark.parametrize("kind", ["wish", "turn"])
def test_a_damaged_file_is_refused(tmp_path: Path, kind: str) -> None:
    fs = local(tmp_path)
    write_change(fs, "root", change(1, [0]))
    write_manifest(fs, "root", BatchManifest(1, 1, placed({0: 2})))
    path = tmp_path / path_of("root", kind, 1)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match="checksum"):
        recover(fs, "root", 1)


@pytest.mark.parametrize("kind", ["wish", "turn"])
def test_a_missing_file_is_refused(tmp_path: Path, kind: str) -> None:
    fs = local(tmp_path)
    write_change(fs, "root", change(1, [0]))
    write_manifest(fs, "root", BatchManifest(1, 1, placed({0: 2})))
    (tmp_path / path_of("root", kind, 1)).unlink()
    with pytest.raises(StateError, match="Restore it"):
        recover(fs, "root", 1, 1)


def test_a_refused_change_does_not_come_true_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fs, root = open_root(tmp_path)
    write_change(fs, root, change(1, [0]))

    def fail_for_folders(path: Path) -> None:
        if path.is_dir():
            raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "sync", fail_for_folders)  # the file has its name by then
        with pytest.raises(StateError, match=r"wish-000000000002\.arrow: expected to write it"):
            write_change(fs, root, change(2, [1]))
    assert [one.serial for one in recover(fs, root, -1).pending] == [1]


def test_a_change_holds_even_if_it_cannot_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fs, root = open_root(tmp_path)
    real = storage._open_output

    def no_note(fs: FileSystem, path: str) -> object:
        if path.endswith("accepted.json"):
            raise OSError(28, "No space left on device")
        return real(fs, path)

    monkeypatch.setattr(storage, "_open_output", no_note)
    write_change(fs, root, change(1, [0]))
    assert "does not check whether the last accepted queries are all there" in caplog.text
    assert [one.serial for one in recover(fs, root, -1).pending] == [1]
