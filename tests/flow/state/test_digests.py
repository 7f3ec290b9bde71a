"""Digests: of any file in the checkpoint, whatever its size; a missing file has none."""

from __future__ import annotations

from pathlib import Path

from drover.flow.state.digests import digest_of, read_digest
from drover.flow.state.storage import CHUNK, open_root


def test_a_file_has_the_digest_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "large").write_bytes(b"abc" * CHUNK)
    assert read_digest(*open_root(tmp_path), "empty") == digest_of(b"")
    assert read_digest(*open_root(tmp_path), "large") == digest_of(b"abc" * CHUNK)


def test_a_missing_file_has_none(tmp_path: Path) -> None:
    assert read_digest(*open_root(tmp_path), "folder/file") is None
