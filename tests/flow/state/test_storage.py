from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from drover import files
from drover.errors import StateError
from drover.flow.state import storage
from drover.flow.state.storage import (
    absolute,
    delete,
    exists,
    is_object_store,
    join,
    local_path,
    make_durable,
    make_folder,
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
    assert local_path(SubTreeFileSystem("/", LOCAL), "/x/y") == Path("/x/y")
    assert local_path(broken(None)[0], "/x") is None


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"missing: expected a file, but found none"):
        read_whole(LOCAL, str(tmp_path / "missing"))
    with pytest.raises(
        StateError, match=rf"^{tmp_path}: expected to read it, but found .*director.* Correct its rights"
    ):
        read_whole(LOCAL, str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(
        StateError, match=r"/file/x: expected to write it, but found .*director.* Free space or correct"
    ):
        write_whole(LOCAL, str(tmp_path / "file" / "x"), [b"x"])
    with pytest.raises(
        StateError, match=rf"^{tmp_path}: expected to delete it, but found .*Cannot delete .* Correct the rights"
    ):
        delete(LOCAL, str(tmp_path))
    with pytest.raises(StateError, match=r"/file: expected to read it, but found .*director.* Correct its rights"):
        sizes(LOCAL, str(tmp_path / "file"))


@given(
    size=st.integers(0, 300),
    ranges=st.lists(st.tuples(st.integers(0, 320), st.integers(0, 100)), max_size=8),
    gap=st.sampled_from([0, 10, 1000]),
    at_once=st.sampled_from([1, 50, 1000]),
    mapped=st.booleans(),
)
@settings(deadline=None)
def test_ranges_are_read_alike_however_they_are_grouped(
    tmp_path_factory: pytest.TempPathFactory,
    size: int,
    ranges: Sequence[tuple[int, int]],
    gap: int,
    at_once: int,
    mapped: bool,
) -> None:
    file = tmp_path_factory.mktemp("ranges") / "file"
    data = bytes(number % 251 for number in range(size))
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage, "GAP", gap)
        patch.setattr(storage, "MOST_AT_ONCE", at_once)
        found = read_ranges(LOCAL, str(file), ranges, mapped=mapped)
    assert [part.to_pybytes() for part in found] == [data[offset : offset + length] for offset, length in ranges]


@pytest.mark.parametrize(
    ("ranges", "groups"),
    [
        pytest.param([], [], id="nothing to read"),
        pytest.param([(0, 10), (30, 10)], [[0, 1]], id="a gap that is cheaper to read than to skip"),
        pytest.param([(0, 10), (31, 10)], [[0], [1]], id="a wider gap"),
        pytest.param([(30, 10), (0, 10)], [[1, 0]], id="in order of offset"),
        pytest.param([(0, 60), (10, 5), (79, 5)], [[0, 1, 2]], id="a range within another does not end the group"),
        pytest.param([(5, 50), (55, 50)], [[0, 1]], id="as many bytes as may be read at once"),
        pytest.param([(5, 50), (55, 51)], [[0], [1]], id="one byte more"),
        pytest.param([(0, 500), (500, 20), (520, 20)], [[0], [1, 2]], id="a long range is read by itself"),
    ],
)
def test_ranges_close_to_each_other_are_read_together(
    monkeypatch: pytest.MonkeyPatch, ranges: Sequence[tuple[int, int]], groups: list[list[int]]
) -> None:
    monkeypatch.setattr(storage, "GAP", 20)
    monkeypatch.setattr(storage, "MOST_AT_ONCE", 100)
    assert list(storage._neighbours(ranges)) == groups


@pytest.mark.parametrize("mapped", [False, True])
def test_a_file_that_cannot_be_read_in_ranges_is_named(tmp_path: Path, mapped: bool) -> None:
    with pytest.raises(StateError, match=rf"^{tmp_path}/missing: expected a file, but found none. Restore it"):
        read_ranges(LOCAL, str(tmp_path / "missing"), [(0, 1)], mapped=mapped)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Record what is made durable: its name, and the files in the folder at that time."""
    found: list[tuple[str, list[str]]] = []

    def record(path: Path) -> None:
        folder = path if path.is_dir() else path.parent
        found.append((path.name, sorted(each.name for each in folder.iterdir())))

    monkeypatch.setattr(storage, "sync", record)
    monkeypatch.setattr(files, "sync", record)
    return found


def test_first_the_bytes_are_durable_then_the_name(tmp_path: Path, synced: list[tuple[str, list[str]]]) -> None:
    write_whole(LOCAL, str(tmp_path / "x"), [b"x"])
    assert synced == [(".tmp-x", [".tmp-x"]), (tmp_path.name, ["x"])]


def test_a_new_folder_is_durable_before_its_files(tmp_path: Path, synced: list[tuple[str, list[str]]]) -> None:
    write_whole(LOCAL, str(tmp_path / "a" / "b" / "x"), [b"x"])
    assert [name for name, _ in synced] == [tmp_path.parent.name, tmp_path.name, "a", ".tmp-x", "b"]


def test_a_folder_and_the_names_in_it_are_durable(tmp_path: Path, synced: list[tuple[str, list[str]]]) -> None:
    make_folder(LOCAL, str(tmp_path / "new"))
    assert [name for name, _ in synced] == [tmp_path.parent.name, tmp_path.name, "new"]
    synced.clear()
    make_folder(LOCAL, str(tmp_path / "new"))
    assert [name for name, _ in synced] == [tmp_path.name, "new"]


def test_files_of_other_programs_are_made_durable(tmp_path: Path, synced: list[tuple[str, list[str]]]) -> None:
    (tmp_path / "x").write_bytes(b"x")
    make_durable(LOCAL, [str(tmp_path / "x"), str(tmp_path)])
    assert [name for name, _ in synced] == ["x", tmp_path.name]


def test_who_need_not_survive_a_power_cut_does_not_wait_for_the_disk(
    tmp_path: Path, synced: list[tuple[str, list[str]]]
) -> None:
    write_whole(LOCAL, str(tmp_path / "x"), [b"x"], durable=False)
    assert synced == []
    assert (tmp_path / "x").read_bytes() == b"x"


def test_a_compressed_name_does_not_compress_the_bytes(tmp_path: Path) -> None:
    write_whole(LOCAL, str(tmp_path / "new" / "x.gz"), [b"plain"])
    write_whole(LOCAL, str(tmp_path / "new" / "y.gz"), [b"plain"])
    assert [file.read_bytes() for file in sorted((tmp_path / "new").iterdir())] == [b"plain", b"plain"]
    assert read_whole(LOCAL, str(tmp_path / "new" / "x.gz")) == b"plain"


def test_a_uri_that_names_no_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened:
        @staticmethod
        def from_uri(uri: str) -> tuple[str, str]:
            return uri, ""

    monkeypatch.setattr(storage, "FileSystem", Opened)
    says = (
        r"^checkpoint 's3://': expected a path, or .*that it cannot be opened \(it names no folder\). Correct the URI"
    )
    with pytest.raises(StateError, match=says):
        open_root("s3://")


def test_the_root_of_a_disk_stays_the_root() -> None:
    assert open_root("file:///")[1] == "/"


def test_a_name_in_a_folder() -> None:
    assert join("/data/", "x") == join("/data", "x") == "/data/x"


def test_a_file_system_that_cannot_be_asked_is_an_error() -> None:
    class Unreachable:
        def get_file_info(self, path: str) -> None:
            raise OSError(113, f"No route to host for {path}")

    with pytest.raises(StateError, match=r"^a/b: expected to read it, but found .*No route to host for a/b"):
        exists(Unreachable(), "a/b")


def test_an_object_gets_its_name_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To rename an object is to copy it."""
    fs, disk = broken(None, kind="s3")
    monkeypatch.delattr(type(disk), "move")
    write_whole(fs, str(tmp_path / "x"), [b"x"])
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("mapped", "after"),
    [
        pytest.param({}, b"old", id="what was read stays as it was"),
        pytest.param({"mapped": False}, b"old", id="and so without mapping"),
        pytest.param({"mapped": True}, b"new", id="a mapped file is not read until its bytes are used"),
    ],
)
def test_what_is_read_of_a_file_that_changes(tmp_path: Path, mapped: dict[str, bool], after: bytes) -> None:
    (tmp_path / "x").write_bytes(b"12 old 34")
    (found,) = read_ranges(LOCAL, str(tmp_path / "x"), [(3, 3)], **mapped)
    with (tmp_path / "x").open("r+b") as file:
        file.write(b"12 new 34")
    assert found.to_pybytes() == after


@pytest.mark.parametrize("mapped", [False, True])
def test_no_more_is_read_than_the_ranges_span(tmp_path: Path, mapped: bool) -> None:
    (tmp_path / "x").write_bytes(b"x" * 1000)
    found = read_ranges(LOCAL, str(tmp_path / "x"), [(120, 5), (100, 10)], mapped=mapped)
    assert [(part.size, part.parent.size) for part in found] == [(5, 25), (10, 25)]


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
