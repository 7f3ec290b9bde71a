from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from drover.errors import StateError
from drover.flow.state.commits import LONGEST_CHAIN, Checkpoint, commit, latest, load
from drover.flow.state.documents import Commit
from drover.flow.state.layout import COMMITS, STATE, state_name
from drover.flow.state.retention import ExpiredFiles, expired_files, files_of, sweep
from drover.flow.state.segments import Delta, Segment, read_parts, write_deltas
from drover.flow.state.versions import FEW_SEGMENTS, PartState, Version, advance, should_compact
from tests.flow.state.faults import broken
from tests.flow.state.world import to_table

SOUND = broken(None)[0]


def version(batch: int, *files: str) -> Version:
    segments = tuple(Segment("u", "p", file, 0, 1, 0, 1, None, replace=False) for file in files)
    return Version(batch, {"u": {"p": PartState(segments)}})


A7, B7, A8, A9, A10 = (
    state_name(batch, 0, word) for batch, word in [(7, "a"), (7, "b"), (8, "a"), (9, "a"), (10, "a")]
)
KEPT = [version(8, A7, A8), version(9, A8, A9)]


@pytest.mark.parametrize(
    ("commits", "state", "gone"),
    [
        pytest.param([], [A7, A8, A9], [], id="what a kept version needs stays"),
        pytest.param([], [B7], [B7], id="an orphan of a committed batch goes"),
        pytest.param([], [A10, ".tmp-" + A10], [], id="a batch that may be running is left alone"),
        pytest.param([], [".tmp-" + B7], [".tmp-" + B7], id="a file that was never finished goes"),
        pytest.param([], ["README", "7.arrow", "lock", "x000000000007-0-a.arrow"], [], id="strangers stay"),
        pytest.param(["000000000007.json", "000000000008.json"], [], [], id="no commit goes without a full one"),
        pytest.param(
            ["000000000006.json", "000000000007.full.json", "000000000007.json", "000000000009.full.json"],
            [],
            ["000000000006.json"],
            id="commits before the full one that the oldest kept version begins with go",
        ),
        pytest.param(
            ["000000000005.full.json", "000000000008.full.json"], [], ["000000000005.full.json"], id="so do full ones"
        ),
        pytest.param(["000000000009.full.json", "000000000008.json"], [], [], id="a later full one is no help"),
        pytest.param([".tmp-000000000009.json"], [], [".tmp-000000000009.json"], id="an unfinished commit goes"),
        pytest.param([".tmp-000000000010.json"], [], [], id="unless it may be being written"),
        pytest.param(
            ["README", "000000000001-0-a.arrow", "000000000008.full.json"], [], [], id="strangers stay there, too"
        ),
        pytest.param([], [state_name(9, 0, "b")], [state_name(9, 0, "b")], id="so does an orphan of the last batch"),
    ],
)
def test_victims(commits: list[str], state: list[str], gone: list[str]) -> None:
    found = expired_files(commits, state, KEPT)
    assert [*found.commits, *found.state] == gone


def test_files_of_several_versions() -> None:
    assert files_of(KEPT) == {A7, A8, A9}
    assert files_of([]) == set()


def run(root: Path, after: Checkpoint, units: int, *, changed: int = 3) -> Checkpoint:
    """One batch on two nodes, each of which also loses an attempt."""
    batch = after.batch + 1
    added: list[Segment] = []
    for node in (0, 1):
        deltas = []
        for unit in {f"u{(batch * changed + step) * (node + 1) % units}" for step in range(changed)}:
            state = after.version.part(unit, f"p{node}")
            merge = should_compact(state, 500, 500)
            deltas.append(Delta(unit, f"p{node}", to_table([(batch, "x")]), merge, batch))
        write_deltas(SOUND, str(root / STATE), state_name(batch, node, "lost"), deltas)
        added.extend(write_deltas(SOUND, str(root / STATE), state_name(batch, node, "won"), deltas))
    return commit(SOUND, str(root), after, Commit(batch, tuple(added), notes={"plan": 1}))


def test_the_number_of_files_is_bounded_over_hundreds_of_batches(tmp_path: Path) -> None:
    units = 12
    keep = 10
    pause = 25
    made = Checkpoint()
    kept = deque[Version](maxlen=keep)
    most_state = most_commits = 0
    for batch in range(600):
        made = run(tmp_path, made, units)
        kept.append(made.version)
        if batch % pause == 0:
            sweep(SOUND, str(tmp_path), list(kept), keep=keep)
            most_state = max(most_state, len(list((tmp_path / STATE).iterdir())))
            most_commits = max(most_commits, len(list((tmp_path / COMMITS).iterdir())))
    assert most_state <= 2 * units * (FEW_SEGMENTS + 1) + 2 * keep
    assert most_commits <= 2 * (keep + LONGEST_CHAIN + 2)
    assert latest(SOUND, str(tmp_path)) == made
    for old in kept:
        assert load(SOUND, str(tmp_path), old.batch).version == old
        wanted = {(unit, part): state.segments for unit, parts in old.units.items() for part, state in parts.items()}
        read_parts(SOUND, str(tmp_path / STATE), wanted)


def test_a_version_that_was_swept_cannot_be_read(tmp_path: Path) -> None:
    made = Checkpoint()
    for _ in range(120):
        made = run(tmp_path, made, units=4)
    sweep(SOUND, str(tmp_path))
    with pytest.raises(StateError, match="expected the commit of batch 0, but found none"):
        load(SOUND, str(tmp_path), 3)


def test_what_memory_and_the_log_say_is_swept_alike(tmp_path: Path) -> None:
    found = []
    for name in "ab":
        made = Checkpoint()
        kept = []
        for _ in range(30):
            made = run(tmp_path / name, made, units=4)
            kept.append(made.version)
        found.append(sweep(SOUND, str(tmp_path / name), kept if name == "a" else None, keep=5))
    assert found[0] == found[1]
    assert found[0].state


def test_a_damaged_full_commit_stops_the_sweep(tmp_path: Path) -> None:
    made = Checkpoint()
    kept = []
    for _ in range(120):
        made = run(tmp_path, made, units=4)
        kept.append(made.version)
    full = max(path for path in (tmp_path / COMMITS).glob("*.full.json") if path.name < "000000000110")
    full.write_bytes(full.read_bytes()[:-5])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StateError, match=full.name):
        sweep(SOUND, str(tmp_path), kept)
    assert sorted(tmp_path.rglob("*")) == before


def test_versions_of_another_checkpoint_are_refused(tmp_path: Path) -> None:
    made = run(tmp_path, Checkpoint(), units=4)
    with pytest.raises(
        StateError, match=r"000000000001.json: expected a commit of the last version.*, but found none. Sweep"
    ):
        sweep(SOUND, str(tmp_path), [made.version, advance(made.version, 1, [])])


def test_an_empty_checkpoint_has_nothing_to_sweep(tmp_path: Path) -> None:
    write_deltas(SOUND, str(tmp_path / STATE), A7, [Delta("u", "p", to_table([]))])
    assert sweep(LocalFileSystem(), str(tmp_path)) == ExpiredFiles((), (), None)


def test_two_versions_are_the_least(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep is 1"):
        sweep(SOUND, str(tmp_path), keep=1)
    made = Checkpoint()
    for _ in range(4):
        made = run(tmp_path, made, units=1)
    assert sweep(SOUND, str(tmp_path), keep=2).state
