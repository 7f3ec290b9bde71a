from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from drover.errors import StateError
from drover.flow.state import storage
from drover.flow.state.storage import (
    absolute,
    delete,
    exists,
    is_object_store,
    local_path,
    open_root,
    read_ranges,
    read_whole,
    sizes,
    write_whole,
)
from tests.flow.state.faults import broken

LOCAL = LocalFileSystem()


def test_local_paths_and_uris_mean_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "a b"
    for uri in (folder, str(folder), f"file://{tmp_path}/a%20b", f"file:{tmp_path}/a%20b/", "a b", "./a b", "~/a b"):
        fs, path = open_root(uri)
        assert isinstance(fs, LocalFileSystem)
        assert Path(path) == folder
    assert not folder.exists()


@pytest.mark.parametrize("uri", ["gopher://host/x", "file://host/x"])
def test_a_uri_that_cannot_be_opened_is_named(uri: str) -> None:
    with pytest.raises(StateError) as caught:
        open_root(uri)
    assert uri in str(caught.value)
    assert "s3://bucket/checkpoint" in str(caught.value)


def test_what_spark_calls_s3a_is_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened:
        @staticmethod
        def from_uri(uri: str) -> tuple[str, str]:
            return uri, "bucket/check/point/"

    monkeypatch.setattr(storage, "FileSystem", Opened)  # the real one would look for the bucket
    assert open_root("S3A://bucket/check/point/") == ("s3://bucket/check/point/", "bucket/check/point")


@pytest.mark.parametrize(
    ("fs", "answer"),
    [
        pytest.param(LOCAL, False, id="local"),
        pytest.param(SubTreeFileSystem("/tmp", LOCAL), False, id="part of a local one"),
        pytest.param(broken(None)[0], False, id="unknown: renaming is the safe way"),
        pytest.param(broken(None, kind="s3")[0], True, id="s3 in disguise"),
        pytest.param(broken(None, kind="fsspec+gs")[0], True, id="through fsspec"),
        pytest.param(broken(None, kind="fsspec+file")[0], False, id="a file through fsspec"),
    ],
)
def test_object_stores_are_told_apart(fs: FileSystem, answer: bool) -> None:
    assert is_object_store(fs) is answer


@pytest.mark.parametrize("kind", ["local", "subtree", "disk", "s3"])
def test_files_are_written_read_listed_and_deleted(tmp_path: Path, kind: str) -> None:
    fs, root = {
        "local": (LOCAL, str(tmp_path)),
        "subtree": (SubTreeFileSystem(str(tmp_path), LOCAL), ""),
        "disk": (broken(None)[0], str(tmp_path)),
        "s3": (broken(None, kind="s3")[0], str(tmp_path)),
    }[kind]
    folder = f"{root}/one/two" if root else "one/two"
    assert sizes(fs, folder) == {}
    for text in (b"old", b"new "):
        write_whole(fs, f"{folder}/b", [text, b"", b"text"])
    write_whole(fs, f"{folder}/a", [])
    assert read_whole(fs, f"{folder}/b") == b"new text"
    assert sizes(fs, folder) == {"a": 0, "b": 8}
    assert exists(fs, f"{folder}/b")
    assert not exists(fs, folder)
    delete(fs, f"{folder}/b")
    delete(fs, f"{folder}/b")
    assert not exists(fs, f"{folder}/b")


def test_a_local_path_beneath_a_part_of_a_file_system() -> None:
    assert local_path(SubTreeFileSystem("/data", LOCAL), "x/y") == Path("/data/x/y")
    assert local_path(broken(None)[0], "/x") is None


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"missing: expected a file, but found none"):
        read_whole(LOCAL, str(tmp_path / "missing"))
    with pytest.raises(StateError, match="expected to read it"):
        read_whole(LOCAL, str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="expected to write it"):
        write_whole(LOCAL, str(tmp_path / "file" / "x"), [b"x"])
    with pytest.raises(StateError, match="expected to delete it"):
        delete(LOCAL, str(tmp_path))


@given(
    size=st.integers(0, 300),
    ranges=st.lists(st.tuples(st.integers(0, 320), st.integers(0, 100)), max_size=8),
    gap=st.sampled_from([0, 10, 1000]),
    at_once=st.sampled_from([1, 50, 1000]),
)
@settings(deadline=None)
def test_ranges_are_read_alike_however_they_are_grouped(
    tmp_path_factory: pytest.TempPathFactory, size: int, ranges: Sequence[tuple[int, int]], gap: int, at_once: int
) -> None:
    file = tmp_path_factory.mktemp("ranges") / "file"
    data = bytes(number % 251 for number in range(size))
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "GAP", gap)
        patch.setattr(storage, "MOST_AT_ONCE", at_once)
        found = read_ranges(LOCAL, str(file), ranges)
    assert [part.to_pybytes() for part in found] == [data[offset : offset + length] for offset, length in ranges]


def test_a_relative_path_is_taken_from_the_working_directory_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("checkpoint") == f"{tmp_path}/checkpoint"
    assert absolute(Path("a") / "b") == f"{tmp_path}/a/b"
    assert absolute("/data/checkpoint") == "/data/checkpoint"
    assert absolute("~/x") == str(Path("~/x").expanduser())
    for uri in ("file:///data/checkpoint", "s3://bucket/checkpoint", "hdfs://host/checkpoint"):
        assert absolute(uri) == uri
