"""A commit log with missing, swapped, cut or damaged files: an error names the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.errors import StateError
from drover.flow.state.commits import (
    Checkpoint,
    commit,
    latest,
    load,
    recent,
    verify_full,
)
from drover.flow.state.layout import COMMITS, full_name
from drover.flow.state.retention import sweep
from tests.flow.state.made_commits import SOUND, commit_file, entry, make
from tests.flow.state.world import short_chains


def test_a_gap_is_named(tmp_path: Path) -> None:
    make(tmp_path, 5)
    commit_file(tmp_path, 3).unlink()
    with pytest.raises(StateError, match=r"000000000003.json: expected the commit of batch 3.*ends with batch 4"):
        latest(SOUND, str(tmp_path))
    assert load(SOUND, str(tmp_path), 2).batch == 2


@pytest.mark.parametrize("batch", [5, -2])
def test_a_version_that_never_was_is_refused(tmp_path: Path, batch: int) -> None:
    make(tmp_path, 5)
    with pytest.raises(StateError):
        load(SOUND, str(tmp_path), batch)


def test_a_number_below_all_batches_is_named(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=rf"^{tmp_path}: expected a batch from -1, but found -2. Name a batch of the"):
        load(SOUND, str(tmp_path), -2)


@pytest.mark.parametrize("batch", [0, 1])
def test_an_empty_log_has_no_batch(tmp_path: Path, batch: int) -> None:
    says = r"000000000000.json: expected the commit of batch 0, .* ends with batch -1 and begins with 0. Restore it"
    with pytest.raises(StateError, match=says):
        load(SOUND, str(tmp_path), batch)


def test_files_of_two_batches_cannot_change_places(tmp_path: Path) -> None:
    make(tmp_path, 5)
    commit_file(tmp_path, 3).write_bytes(commit_file(tmp_path, 2).read_bytes())
    with pytest.raises(StateError, match=r"000000000003.json: expected batch 3, but found batch 2"):
        latest(SOUND, str(tmp_path))


def test_files_of_two_checkpoints_cannot_be_mixed(tmp_path: Path) -> None:
    make(tmp_path / "a", 5)
    other = Checkpoint()
    for batch in range(5):
        other = commit(SOUND, str(tmp_path / "b"), other, replace(entry(batch), notes={}))
    commit_file(tmp_path / "a", 3).write_bytes(commit_file(tmp_path / "b", 3).read_bytes())
    with pytest.raises(StateError, match=r"000000000003.json: expected to follow"):
        latest(SOUND, str(tmp_path / "a"))


def test_a_damaged_full_commit_may_be_deleted_while_the_files_before_it_are_there(tmp_path: Path) -> None:
    with short_chains():
        made = make(tmp_path, 9)
        newest = max((tmp_path / COMMITS).glob("*.full.json"))
        newest.write_bytes(newest.read_bytes()[:-9])
        with pytest.raises(StateError, match=rf"{newest.name}.*Delete this file"):
            latest(SOUND, str(tmp_path))
        newest.unlink()
        assert latest(SOUND, str(tmp_path)).version == made[-1].version


def test_a_sweep_leaves_what_the_oldest_full_commit_and_those_after_it_say(tmp_path: Path) -> None:
    with short_chains(longest=2, least=1_000_000):
        made = make(tmp_path, 10)  # full ones at batches 2, 5 and 8
        sweep(SOUND, str(tmp_path), keep=4)
        assert latest(SOUND, str(tmp_path)) == made[-1]
        assert recent(SOUND, str(tmp_path), 99) == tuple(one.version for one in made[6:])
        newest = tmp_path / COMMITS / full_name(8)
        newest.write_bytes(b"")
        with pytest.raises(StateError, match=rf"{newest.name}.*Delete this file"):
            latest(SOUND, str(tmp_path))
        newest.unlink()
        assert latest(SOUND, str(tmp_path)).version == made[-1].version


@pytest.mark.parametrize("lost", [[0], [0, 1], [1], [3]], ids=str)
def test_a_full_commit_that_nothing_else_says_must_not_be_deleted(tmp_path: Path, lost: list[int]) -> None:
    with short_chains(longest=4, least=1_000_000):
        made = make(tmp_path, 7)  # a full one at batch 4
        for batch in lost:  # as after a sweep that died, or an accident
            commit_file(tmp_path, batch).unlink()
        assert latest(SOUND, str(tmp_path)) == made[-1]
        full = tmp_path / COMMITS / full_name(4)
        full.write_bytes(full.read_bytes()[:-9])
        with pytest.raises(StateError, match=rf"{full.name}.*Restore it"):
            latest(SOUND, str(tmp_path))
        with pytest.raises(StateError, match=rf"{full.name}: expected a whole document"):
            verify_full(SOUND, str(tmp_path), 4)


def test_the_versions_after_a_sweep_that_died_are_those_that_load(tmp_path: Path) -> None:
    with short_chains(longest=4, least=1_000_000):
        made = make(tmp_path, 7)
        for batch in (0, 1):
            commit_file(tmp_path, batch).unlink()
        assert recent(SOUND, str(tmp_path), 99) == tuple(one.version for one in made[5:])


def test_a_log_without_its_beginning_is_refused(tmp_path: Path) -> None:
    make(tmp_path, 4)
    commit_file(tmp_path, 0).unlink()
    for keep in (2, 99):
        with pytest.raises(StateError, match=r"000000000000.json: expected the commit of batch 0, .* Restore it"):
            recent(SOUND, str(tmp_path), keep)


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_every_damaged_bit_and_every_cut_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("root")
    with short_chains(longest=2, least=1_000_000):
        make(root, 5)  # a full one at batch 2, so that the last version needs exactly these
        needed = [root / COMMITS / full_name(2), commit_file(root, 3), commit_file(root, 4)]
        assert needed[0].exists()
        file = data.draw(st.sampled_from(needed), label="file")
        whole = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(whole) - 1), label="byte")
        if data.draw(st.booleans(), label="cut"):
            file.write_bytes(bytes(whole[:at]))
        else:
            whole[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
            file.write_bytes(bytes(whole))
        with pytest.raises(StateError, match=rf"{file.name}.*damaged"):
            latest(SOUND, str(root))
