"""What is checked when a checkpoint is opened, without Spark: batches are begun and committed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.storage import open_root
from drover.flow.state.witness import WITNESS, Witness, write_witness
from drover.spark import integrity
from drover.spark.commit_notes import CommitNotes, to_json
from drover.spark.integrity import Integrity
from tests.spark.spark_files import write_logs

PLAN = "plans/000000000000.json"


@dataclass
class ByHand:
    """A run on a checkpoint, one step at a time; `open` looks at it as the next run would."""

    root: Path
    integrity: Integrity = field(init=False)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    def __post_init__(self) -> None:
        self.integrity = Integrity(*open_root(self.root))
        for name, text in {"network.yaml": "name: n", PLAN: "{}"}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def begin(self, batch: int) -> None:
        write_logs(self.root, begun=batch, done=batch - 1)
        self.integrity.begin(self.checkpoint, batch, 0, batch)

    def commit(self, batch: int) -> None:
        notes = CommitNotes(spark_batch=batch, planned=0, files=self.integrity.noted())
        fs, path = open_root(self.root)
        self.checkpoint = commit(fs, path, self.checkpoint, Commit(batch, notes=to_json(notes)))

    def run(self, batches: int) -> ByHand:
        for batch in range(self.checkpoint.batch + 1, batches):
            self.begin(batch)
            self.commit(batch)
        return self

    def open(self) -> Integrity:
        fs, path = open_root(self.root)
        found = Integrity(fs, path)
        found.verify(latest(fs, path))
        return found


def stopped(run: ByHand) -> None:
    """Spark finishes the last batch, and the run ends."""
    write_logs(run.root, begun=run.checkpoint.batch, done=run.checkpoint.batch)
    (run.root / "tables.db").write_text("rows")
    run.integrity.end(run.checkpoint)


def blocked(run: ByHand) -> None:
    """Spark begins another batch, which drover does not begin any more; then the run ends."""
    write_logs(run.root, begun=run.checkpoint.batch + 1, done=run.checkpoint.batch)
    run.integrity.end(run.checkpoint)


def died(run: ByHand) -> None:
    """The run dies in a batch that has a plan of its own."""
    (run.root / "plans" / f"{run.checkpoint.batch + 1:012}.json").write_text("{}")
    run.begin(run.checkpoint.batch + 1)


ENDS: dict[str, Callable[[ByHand], None]] = {"stopped": stopped, "blocked": blocked, "died": died}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("batches", [1, 3, 6])
def test_what_is_whole_is_accepted_and_continued(tmp_path: Path, end: Callable[[ByHand], None], batches: int) -> None:
    run = ByHand(tmp_path).run(batches)
    end(run)
    run.integrity = run.open()
    run.run(batches + 4)
    run.open()


# The name of a file, and the ends after which the next start needs it.
NEEDED = [
    ("network.yaml", {"stopped", "blocked", "died"}),
    ("plans/000000000000.json", {"stopped", "blocked"}),
    ("plans/000000000005.json", {"died"}),
    ("commits/000000000004.json", {"stopped", "blocked", "died"}),
    ("tables.db", {"stopped"}),
    ("spark/metadata", {"stopped", "blocked", "died"}),
    ("spark/offsets/2", set()),
    ("spark/offsets/3", {"stopped"}),
    ("spark/offsets/4", {"stopped", "blocked", "died"}),
    ("spark/offsets/5", {"died"}),
    ("spark/commits/4", set()),
    ("spark/sources/0/1", set()),
    ("spark/sources/0/2.compact", {"stopped"}),
    ("spark/sources/0/4", {"stopped"}),  # until the next compacted file
    ("spark/sources/0/5.compact", {"blocked", "died"}),
]


@pytest.mark.parametrize("end", ENDS, ids=ENDS)
@pytest.mark.parametrize(("name", "needed"), NEEDED, ids=[name for name, _ in NEEDED])
def test_a_file_may_be_missing_only_if_nobody_needs_it(tmp_path: Path, end: str, name: str, needed: set[str]) -> None:
    run = ByHand(tmp_path).run(5)
    ENDS[end](run)
    (tmp_path / name).unlink(missing_ok=True)
    if end in needed:
        with pytest.raises(StateError, match=f"{name}: expected .* but found none"):
            run.open()
    else:
        run.open()


CHANGED = [
    ("network.yaml", {"stopped", "blocked", "died"}),
    (PLAN, {"stopped", "blocked", "died"}),
    ("tables.db", {"stopped"}),
    ("spark/metadata", {"stopped", "blocked", "died"}),
    ("spark/offsets/4", {"stopped", "blocked", "died"}),
    ("spark/offsets/5", {"blocked", "died"}),
    ("spark/commits/3", {"stopped", "blocked", "died"}),
    ("spark/commits/4", {"stopped", "blocked", "died"}),
    ("spark/sources/0/4", {"stopped", "blocked", "died"}),
    ("spark/sources/0/5.compact", {"blocked", "died"}),
]


@pytest.mark.parametrize(
    ("name", "end"), [(name, end) for name, ends in CHANGED for end in sorted(ends)], ids=lambda word: word
)
def test_a_file_that_has_changed_is_named(tmp_path: Path, name: str, end: str) -> None:
    run = ByHand(tmp_path).run(5)
    ENDS[end](run)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match=rf"{name}: expected content of digest.*damaged, or of another time.*Restore"):
        run.open()


def test_a_witness_can_be_deleted_to_go_on(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(2)
    stopped(run)
    (tmp_path / "tables.db").write_text("changed by hand")
    with pytest.raises(StateError, match=r"tables.db.*delete witness.json if you have changed this file yourself"):
        run.open()
    (tmp_path / WITNESS).unlink()
    run.open()


def test_the_way_out_of_a_damaged_batch_that_was_begun_is_open(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(5)
    died(run)
    damaged = tmp_path / "spark" / "sources" / "0" / "5.compact"
    damaged.write_text("v1")
    with pytest.raises(StateError, match=r"delete it, spark/offsets/5 and witness.json: Spark plans the batch again"):
        run.open()
    for path in (damaged, tmp_path / "spark" / "offsets" / "5", tmp_path / WITNESS):
        path.unlink()
    run.integrity = run.open()
    run.run(8)


def test_a_new_form_of_the_network_is_announced_before_it_is_written(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(2)
    stopped(run)
    run.integrity = run.open()
    run.integrity.announce_network(run.checkpoint, b"name: new")
    run.open()  # as after a crash before the file is written
    (tmp_path / "network.yaml").write_text("name: new")
    run.open()  # and after it
    run.integrity.end(run.checkpoint)
    run.open()  # without any batch
    run.run(4)
    run.open()


def test_a_commit_without_digests_is_accepted(tmp_path: Path) -> None:
    fs, root = open_root(tmp_path)
    write_logs(tmp_path, begun=0, done=0)
    commit(fs, root, Checkpoint(), Commit(0, notes={"spark_batch": 0}))
    Integrity(fs, root).verify(latest(fs, root))


def test_the_commit_of_spark_must_have_its_form_if_nobody_has_seen_it(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(2)
    write_logs(tmp_path, begun=1, done=1)
    run.open()
    (tmp_path / "spark" / "commits" / "1").write_text("")
    with pytest.raises(StateError, match=r"spark/commits/1.*Delete this file"):
        run.open()


def test_offsets_of_a_batch_that_nobody_has_begun_must_have_their_form(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(2)
    write_logs(tmp_path, begun=2, done=1)
    run.open()
    (tmp_path / "spark" / "offsets" / "2").write_text("")  # as a power cut may leave it
    with pytest.raises(StateError, match=r"spark/offsets/2.*Delete this file: Spark then plans the batch again"):
        run.open()
    (tmp_path / "spark" / "offsets" / "2").unlink()
    run.integrity = run.open()
    run.run(4)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record what Integrity makes durable, and when it writes the witness."""
    found: list[str] = []
    original = write_witness

    def record(_fs: FileSystem, paths: Iterable[str]) -> None:
        found.extend(path.partition("/checkpoint/")[2] for path in paths)

    def write(fs: FileSystem, root: str, witness: Witness, *, durable: bool = False) -> None:
        found.append("durable witness" if durable else "witness")
        original(fs, root, witness, durable=durable)

    monkeypatch.setattr(integrity, "make_durable", record)
    monkeypatch.setattr(integrity, "write_witness", write)
    return found


def test_files_of_spark_are_durable_before_anything_names_them(tmp_path: Path, synced: list[str]) -> None:
    root = tmp_path / "checkpoint"
    run = ByHand(root)
    run.begin(0)
    assert sorted(synced[:3]) == ["spark/metadata", "spark/offsets/0", "spark/sources/0/0"]
    assert sorted(synced[3:-1]) == ["", "spark", "spark/offsets", "spark/sources", "spark/sources/0"]
    assert synced[-1] == "witness"
    run.commit(0)
    synced.clear()
    run.begin(1)
    files = ["spark/commits/0", "spark/offsets/1", "spark/sources/0/1"]
    nearest = ["spark/commits", "spark/offsets", "spark/sources/0"]
    assert sorted(synced[:-1]) == sorted([*files, *nearest, "spark"])  # the folder of commits is new
    run.commit(1)
    synced.clear()
    run.begin(2)
    assert set(synced[:-1]) & {"", "spark"} == set()


def test_a_start_that_dies_may_have_changed_tables(tmp_path: Path, synced: list[str]) -> None:
    run = ByHand(tmp_path / "checkpoint").run(2)
    stopped(run)
    synced.clear()
    opened = run.open()
    opened.release()
    assert synced == ["durable witness"]  # the one before would accuse the new tables
    (tmp_path / "checkpoint" / "tables.db").write_text("rows of a start that died")
    run.open().release()
    assert synced == ["durable witness"]  # there is nothing more to take back


def test_a_run_that_began_no_batch_does_not_vouch_for_what_spark_wrote(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(2)
    write_logs(tmp_path, begun=2, done=1)
    offsets = tmp_path / "spark" / "offsets" / "2"
    before = offsets.read_text()
    offsets.write_text(before.replace("v1", "v3"))  # Spark cannot read it, and the run ends
    run.open().end(run.checkpoint)
    offsets.write_text(before)  # restored from a copy
    run.open()


def test_a_file_that_spark_writes_anew_is_not_the_one_that_was_deleted(tmp_path: Path) -> None:
    run = ByHand(tmp_path).run(5)
    blocked(run)
    for name in ("offsets/5", "sources/0/5.compact"):
        (tmp_path / "spark" / name).unlink()
    run.open().release()
    (tmp_path / "spark" / "sources" / "0" / "5.compact").write_text('v1\n{"path":"another"}')  # then the run dies
    run.open()


def test_the_tree_of_nodes_must_stay_there_but_may_change(tmp_path: Path) -> None:
    run = ByHand(tmp_path)
    (tmp_path / "cluster.json").write_text("one tree")
    run.run(2)
    (tmp_path / "cluster.json").write_text("the same tree with other capacities")  # it has a checksum of its own
    run.open()
    (tmp_path / "cluster.json").unlink()
    with pytest.raises(
        StateError, match=r"cluster\.json: expected the file that the last run relied on, but found none"
    ):
        run.open()
