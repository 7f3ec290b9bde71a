from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from drover.errors import StateError
from drover.flow.state.commits import (
    LEAST_CHAIN,
    LONGEST_CHAIN,
    Checkpoint,
    commit,
    fold,
    latest,
    load,
    recent,
)
from drover.flow.state.documents import Commit
from drover.flow.state.layout import COMMITS, commit_name, full_name
from drover.flow.state.retention import sweep
from drover.flow.state.storage import read_whole
from drover.flow.state.versions import Version
from tests.flow.state.made_commits import SOUND, commit_file, entry, make, segment
from tests.flow.state.world import short_chains


def test_an_empty_checkpoint_is_before_the_first_batch(tmp_path: Path) -> None:
    assert latest(SOUND, str(tmp_path)) == latest(SOUND, str(tmp_path / "none")) == Checkpoint()
    assert Checkpoint().batch == -1
    assert recent(SOUND, str(tmp_path), 3) == ()


def test_every_version_loads_as_it_was_committed(tmp_path: Path) -> None:
    with short_chains():
        made = make(tmp_path, 20)
        fulls = sorted((tmp_path / COMMITS).glob("*.full.json"))
        assert made[-1].chain > 0
        assert made[-1].full_bytes == fulls[-1].stat().st_size
        assert latest(SOUND, str(tmp_path)) == made[-1]
        assert [load(SOUND, str(tmp_path), batch) for batch in range(-1, 20)] == made
        assert recent(SOUND, str(tmp_path), 4) == tuple(one.version for one in made[-4:])
        assert recent(SOUND, str(tmp_path), 99) == tuple(one.version for one in made[1:])


def test_loading_reads_a_bounded_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make(tmp_path, 3 * LONGEST_CHAIN)
    read: list[str] = []

    def counting(fs: object, path: str) -> bytes:
        read.append(path)
        return read_whole(fs, path)

    monkeypatch.setattr("drover.flow.state.commits.read_whole", counting)
    assert latest(SOUND, str(tmp_path)) == made[-1]
    assert len(read) <= LONGEST_CHAIN + 2


def test_committing_reads_nothing_and_writes_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = Commit(0, tuple(segment(f"unit {number}", 0) for number in range(2_000)))
    start = commit(SOUND, str(tmp_path), Checkpoint(), many)
    monkeypatch.delattr("drover.flow.state.commits.read_whole")
    made = commit(SOUND, str(tmp_path), start, entry(1))
    assert commit_file(tmp_path, 0).stat().st_size > 50_000
    assert commit_file(tmp_path, 1).stat().st_size < 500
    assert len(made.version.units) == 2_001


def test_commits_are_json_that_people_can_read(tmp_path: Path) -> None:
    make(tmp_path, 3)
    said = json.loads(commit_file(tmp_path, 2).read_text())
    assert said["body"]["batch"] == 2
    assert said["body"]["previous"] == json.loads(commit_file(tmp_path, 1).read_text())["checksum"]
    assert said["body"]["notes"] == {"plan": 2}


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        make(tmp_path / name, 3)
    assert commit_file(tmp_path / "a", 2).read_bytes() == commit_file(tmp_path / "b", 2).read_bytes()


def test_a_batch_may_be_committed_again_with_equal_content(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    before = commit_file(tmp_path, 2).read_bytes()
    assert commit(SOUND, str(tmp_path), made[2], entry(2)) == made[3]
    # A replay writes its rows under other names; those of the first run are the ones that count.
    assert commit(SOUND, str(tmp_path), made[2], entry(2, file="replay")) == made[3]
    assert commit_file(tmp_path, 2).read_bytes() == before


def test_a_batch_that_drops_a_part_drops_it_again_in_a_replay(tmp_path: Path) -> None:
    made = make(tmp_path, 10)
    assert "u1" in made[9].version.units
    assert commit(SOUND, str(tmp_path), made[9], entry(9)) == made[10]
    assert "u1" not in made[10].version.units


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda e: replace(e, notes={"plan": 99}), id="other notes"),
        pytest.param(lambda e: replace(e, bounds={}), id="other bounds"),
        pytest.param(lambda e: replace(e, added=()), id="fewer segments"),
        pytest.param(lambda e: replace(e, added=(replace(e.added[0], checksum=1),)), id="other rows"),
        pytest.param(lambda e: replace(e, added=(replace(e.added[0], unit="x"),)), id="another unit"),
        pytest.param(lambda e: replace(e, dropped=(("x", "p"),)), id="dropped parts"),
    ],
)
def test_a_batch_is_not_committed_again_with_other_content(tmp_path: Path, other: Callable[[Commit], Commit]) -> None:
    made = make(tmp_path, 3)
    with pytest.raises(StateError, match=r"000000000002.json: expected the batch as it was.*Continue from version 2"):
        commit(SOUND, str(tmp_path), made[2], other(entry(2)))


def test_the_error_for_other_content_shows_how_both_differ(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    with pytest.raises(StateError) as caught:
        commit(SOUND, str(tmp_path), made[2], Commit(2, dropped=(("x", "p"),), notes={"plan": 9}))
    assert '(1 segments, 1 bounds, 0 dropped, notes {"plan":2})' in str(caught.value)
    assert '(0 segments, 0 bounds, 1 dropped, notes {"plan":9})' in str(caught.value)


def test_a_damaged_commit_is_not_committed_again(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    commit_file(tmp_path, 2).write_bytes(b"")
    with pytest.raises(StateError, match=r"000000000002.json: expected a whole document"):
        commit(SOUND, str(tmp_path), made[2], entry(2))


@pytest.mark.parametrize("batch", [0, 1, 2, 4])
def test_a_batch_that_does_not_follow_is_refused(tmp_path: Path, batch: int) -> None:
    made = make(tmp_path, 3)
    with pytest.raises(StateError, match=f"expected batch 3 after version 2, but found batch {batch}"):
        commit(SOUND, str(tmp_path), made[-1], entry(batch))


def test_a_commit_that_follows_a_lost_one_is_refused(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    commit_file(tmp_path, 2).unlink()
    with pytest.raises(
        StateError, match=r"000000000003.json: expected a log that ends with batch 2, but found.* 1. Continue"
    ):
        commit(SOUND, str(tmp_path), made[-1], entry(3))


def test_a_run_that_begins_again_on_an_old_checkpoint_is_refused(tmp_path: Path) -> None:
    with short_chains():
        make(tmp_path, 9)
        sweep(SOUND, str(tmp_path), keep=2)
        with pytest.raises(StateError, match=r"000000000000.json: expected a log that ends with batch -1"):
            commit(SOUND, str(tmp_path), Checkpoint(), entry(0))
        with pytest.raises(StateError, match=r"000000000000.json: expected the commit of batch 0, but found none"):
            load(SOUND, str(tmp_path), -1)


def test_a_log_that_has_lost_the_version_it_begins_with_names_it(tmp_path: Path) -> None:
    with short_chains():
        make(tmp_path, 9)
        sweep(SOUND, str(tmp_path), keep=2)
        for path in (tmp_path / "commits").glob("*.full.json"):
            path.unlink()
        first = min(path.name.removesuffix(".json") for path in (tmp_path / "commits").iterdir())
        with pytest.raises(StateError, match=rf"{first}\.full\.json: expected all of version .* but found none"):
            latest(SOUND, str(tmp_path))


def test_two_runs_on_one_checkpoint_are_noticed(tmp_path: Path) -> None:
    made = make(tmp_path, 2)
    mine = replace(entry(2), notes={"run": "mine"})
    theirs = replace(entry(2), notes={"run": "theirs"})
    after = commit(SOUND, str(tmp_path), made[-1], mine)
    commit_file(tmp_path, 2).unlink()
    other = commit(SOUND, str(tmp_path), made[-1], theirs)  # as if both had found the place free
    commit(SOUND, str(tmp_path), after, entry(3))
    says = rf"000000000003.json: expected to follow the .* {other.link}, but .* {after.link}: two runs.* Restore it"
    with pytest.raises(StateError, match=says):
        latest(SOUND, str(tmp_path))
    with pytest.raises(StateError, match=says):
        commit(SOUND, str(tmp_path), load(SOUND, str(tmp_path), 2), entry(3))


def test_a_first_commit_follows_none(tmp_path: Path) -> None:
    made = make(tmp_path, 2)
    with pytest.raises(StateError, match=r"with checksum 0123, but found that it follows \(none\)"):
        commit(SOUND, str(tmp_path), Checkpoint(link="0123"), entry(0))
    with pytest.raises(StateError, match=rf"with checksum \(none\), but found that it follows {made[1].link}"):
        commit(SOUND, str(tmp_path), replace(made[1], link=""), entry(1))


@pytest.mark.parametrize("notes", [{"x": float("nan")}, {"x": {1, 2}}, {"x": object()}])
def test_notes_that_are_not_json_are_refused(tmp_path: Path, notes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        commit(SOUND, str(tmp_path), Checkpoint(), Commit(0, notes=notes))
    assert not commit_file(tmp_path, 0).exists()


def test_notes_come_back_as_they_are_read(tmp_path: Path) -> None:
    made = commit(SOUND, str(tmp_path), Checkpoint(), Commit(0, notes={"marks": (1, 2**63), "ü": None}))
    assert made == latest(SOUND, str(tmp_path))
    assert made.notes == {"marks": [1, 2**63], "ü": None}


def test_a_commit_that_was_not_finished_never_was(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    (tmp_path / COMMITS / f".tmp-{commit_name(3)}").write_bytes(b'{"checksum":"')
    (tmp_path / COMMITS / f".tmp-{full_name(2)}").write_bytes(b"")
    assert latest(SOUND, str(tmp_path)) == made[-1]
    assert commit(SOUND, str(tmp_path), made[-1], entry(3)) == latest(SOUND, str(tmp_path))


def test_a_full_commit_may_be_written_at_any_later_time(tmp_path: Path) -> None:
    with short_chains():
        made = Checkpoint()
        for batch in range(9):
            made = commit(SOUND, str(tmp_path), made, entry(batch), folding=False)
        assert not list((tmp_path / COMMITS).glob("*.full.json"))
        assert made.chain == 9
        folded = fold(SOUND, str(tmp_path), made)
        assert latest(SOUND, str(tmp_path)) == folded
        assert (folded.version, folded.chain) == (made.version, 0)
        assert fold(SOUND, str(tmp_path), folded) is folded


@pytest.mark.parametrize(
    ("chain", "chain_bytes", "full_bytes", "due"),
    [
        pytest.param(LONGEST_CHAIN, 100, 0, False, id="as many commits as may be read"),
        pytest.param(LONGEST_CHAIN + 1, 100, 0, True, id="one more"),
        pytest.param(5, LEAST_CHAIN, 0, False, id="as many bytes as are read quickly"),
        pytest.param(5, LEAST_CHAIN + 1, 0, True, id="one byte more"),
        pytest.param(5, 2 * LEAST_CHAIN, 2 * LEAST_CHAIN, False, id="as many bytes as the full file has"),
        pytest.param(5, 2 * LEAST_CHAIN + 1, 2 * LEAST_CHAIN, True, id="one byte more than it has"),
    ],
)
def test_when_a_full_commit_is_due(tmp_path: Path, chain: int, chain_bytes: int, full_bytes: int, due: bool) -> None:
    checkpoint = Checkpoint(Version(7, {}), {}, "link", chain, chain_bytes, full_bytes)
    folded = fold(SOUND, str(tmp_path), checkpoint)
    assert (folded is not checkpoint) is due
    assert (tmp_path / COMMITS / full_name(7)).exists() is due


def test_twenty_thousand_units_come_back(tmp_path: Path) -> None:
    units = tuple(segment(f"unit {number}", 0) for number in range(20_000))
    made = commit(SOUND, str(tmp_path), Checkpoint(), Commit(0, units, {one.key: 0 for one in units}))
    assert made.full_bytes > 900_000
    found = latest(SOUND, str(tmp_path))
    assert found == made
    assert isinstance(found.version, Version)
