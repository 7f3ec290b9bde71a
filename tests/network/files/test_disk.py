from __future__ import annotations

import os
from pathlib import Path

import pytest

from drover.errors import FileError
from drover.network.files.disk import MOST_BYTES, read_text, write_text


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_long(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100_000_000)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(Path.mkdir, "a directory", id="a directory"),
        pytest.param(make_pipe, "a pipe", id="a pipe that nobody writes to"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "a device", id="an endless device"),
        pytest.param(lambda path: path.symlink_to(path.name), "it must be opened", id="a link to itself"),
        pytest.param(lambda _path: None, "it must be opened", id="nothing there"),
        pytest.param(make_long, "100000000 bytes long", id="100 MB"),
        pytest.param(lambda path: path.write_bytes(b"a: \xff"), "byte 0xFF", id="not UTF-8"),
        pytest.param(lambda path: path.write_bytes("a: 1".encode("utf-16")), "byte 0xFF", id="UTF-16"),
    ],
)
def test_files_that_are_not_read(tmp_path: Path, make: object, says: str) -> None:
    assert callable(make)
    path = tmp_path / "network.yaml"
    make(path)
    with pytest.raises(FileError, match=says):
        read_text(path)


def test_a_name_with_a_nul_is_not_read() -> None:
    with pytest.raises(FileError, match="it must be opened"):
        read_text("a\0b")


def test_the_line_of_a_bad_byte_is_known(tmp_path: Path) -> None:
    path = tmp_path / "network.yaml"
    path.write_bytes("a: é\r\nb: 1\n".encode() + b"c: \xe9\n")
    with pytest.raises(FileError) as caught:
        read_text(path)
    assert caught.value.faults[0].line == 3


def test_the_longest_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "network.yaml"
    path.write_bytes(b"#" * MOST_BYTES)
    assert len(read_text(path)) == MOST_BYTES


def test_writing_replaces_the_whole_file_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "network.yaml"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    write_text(link, "new é")
    assert path.read_text(encoding="utf-8") == "new é"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_text(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("place", ["missing/new", "", "\0", "x" * 300])
def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    with pytest.raises(FileError):
        write_text(f"{tmp_path}/{place}", "x")
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not written"):
        write_text(tmp_path / "new", "\ud800")
    assert list(tmp_path.iterdir()) == []
