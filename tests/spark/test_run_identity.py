"""The identity of a run: made once, kept in the checkpoint, and checked against the commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.errors import StateError
from drover.flow.state.storage import open_root
from drover.spark.changes import NETWORK
from drover.spark.run_identity import RunIdentity, recall_run, save_run


def recalled(root: Path, noted: str | None = None) -> RunIdentity:
    return recall_run(*open_root(str(root)), noted)


def saved(root: Path, identity: RunIdentity) -> RunIdentity:
    save_run(*open_root(str(root)), identity)
    return identity


def test_a_new_checkpoint_gets_an_id_that_stays_once_it_is_saved(tmp_path: Path) -> None:
    first = recalled(tmp_path)
    assert not first.upgraded
    assert list(tmp_path.iterdir()) == []
    assert recalled(tmp_path).id != first.id
    assert saved(tmp_path, first) == recalled(tmp_path) == recalled(tmp_path, first.id)


def test_a_checkpoint_of_an_earlier_version_is_known_as_one(tmp_path: Path) -> None:
    (tmp_path / NETWORK).write_text("", encoding="utf-8")
    first = recalled(tmp_path)
    assert first.upgraded
    assert saved(tmp_path, first) == recalled(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"{}"], ids=["gone", "empty", "damaged"])
def test_a_lost_file_is_made_again_from_the_commit(tmp_path: Path, content: bytes | None) -> None:
    first = saved(tmp_path, recalled(tmp_path))
    path = tmp_path / "run.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert recalled(tmp_path, first.id) == first
    assert saved(tmp_path, first) == recalled(tmp_path)


def test_a_damaged_file_without_a_commit_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"{")
    with pytest.raises(StateError, match=r"run.json: expected a whole document"):
        recalled(tmp_path)


def test_a_file_of_another_run_is_named(tmp_path: Path) -> None:
    saved(tmp_path, RunIdentity("b" * 32))
    with pytest.raises(
        StateError, match=r"run.json: expected run a+, as in the last commit, but found run b+: files of"
    ):
        recalled(tmp_path, "a" * 32)
