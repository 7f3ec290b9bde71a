"""Atomic writes: a reader finds the new file, the old one or none."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from drover import files
from drover.files import make_durable_folder, replacing, sync


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("before", [None, b"old"])
def test_a_file_changes_when_the_block_ends(tmp_path: Path, before: bytes | None, locked: bool) -> None:
    path = tmp_path / "a.json"
    if before is not None:
        path.write_bytes(before)
    with replacing(path, locked=locked) as file:
        file.write(b"new")
        file.flush()
        assert (path.read_bytes() if path.exists() else None) == before
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("locked", [False, True])
def test_a_block_that_raises_changes_nothing(tmp_path: Path, locked: bool) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def write_half() -> None:
        with replacing(path, locked=locked) as file:
            file.write(b"ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_the_requested_ones_without_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        for name, mode in (("open", 0o666), ("secret", 0o600)):
            with replacing(tmp_path / name, mode=mode) as file:
                file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_two_writers_without_a_lock_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200)  # with the temporary suffix, a long name would be too long
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"  # the block that ends last
    assert list(tmp_path.iterdir()) == [path]


def test_with_a_lock_the_remains_of_a_crash_are_overwritten(tmp_path: Path) -> None:
    left = tmp_path / ".a.json.tmp"
    left.write_bytes(b"half of a longer file")
    with replacing(tmp_path / "a.json", locked=True) as file:
        file.write(b"new")
    assert (tmp_path / "a.json").read_bytes() == b"new"
    assert not left.exists()


def test_sync_takes_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    sync(tmp_path / "a")
    sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "gone")


@pytest.mark.parametrize(
    ("made", "waits"),
    [
        pytest.param("", ["..", "", "a"], id="new folders are durable from the top down"),
        pytest.param("a", ["", "a"], id="a folder that a killed process made may not be durable yet"),
        pytest.param("a/b", ["a"], id="nor may the last one"),
    ],
)
def test_a_folder_is_durable_once_its_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, waits: list[str]
) -> None:
    (tmp_path / made).mkdir(parents=True, exist_ok=True)
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync", synced.append)
    make_durable_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    assert synced == [(tmp_path / one).resolve() for one in waits]
