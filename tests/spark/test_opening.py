"""Opening a checkpoint: all checks come first, a refusal leaves no trace, and a crash between writes does no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

import drover
from drover.errors import DroverError
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.placement.plan import Plan
from drover.spark import opening
from drover.spark.changes import noted_network
from drover.spark.integrity import Integrity
from drover.spark.opening import OpenedRun, Permissions, open_checkpoint
from drover.spark.planner import Planner
from drover.spark.sink_folders import ExistingRows
from drover.spark.sinks import Files, Sink

PLAN = Plan(1, 2, {"f": 0})


def network(where: str = "k > 0") -> Network:
    net = drover.Builder("n")
    net.source("s", {"ts": "timestamp", "k": "bigint"}, time="ts").filter("f", where).output()
    return net.build()


def opened(root: Path, *sinks: Sink, of: Network | None = None, allowed: Permissions | None = None) -> OpenedRun:
    fs, path = open_root(str(root))
    planner = Planner(str(root), PLAN)
    integrity = Integrity(fs, path)
    return open_checkpoint(str(root), of or network(), {}, sinks, planner, integrity, allowed or Permissions())


def begin_batch(root: Path, *, spark_batch: int) -> None:
    """Write what Spark and drover write before the first batch computes."""
    offsets = root / "spark" / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (root / "spark" / "metadata").touch()
    (offsets / str(spark_batch)).write_text("v1\n{}")
    Planner(str(root), PLAN).entry_for(0, closing=False)


def files_of(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_a_new_checkpoint_gets_its_network_and_an_id(tmp_path: Path) -> None:
    found = opened(tmp_path)
    assert (found.checkpoint.batch, found.planned, found.begun, found.renamed) == (-1, None, False, {})
    assert noted_network(*open_root(str(tmp_path))) == network()
    assert opened(tmp_path).run_id == found.run_id


def test_another_checkpoint_has_another_id(tmp_path: Path) -> None:
    assert opened(tmp_path / "a").run_id != opened(tmp_path / "b").run_id


def test_a_batch_that_was_begun_is_reported_with_its_plan(tmp_path: Path) -> None:
    opened(tmp_path)
    begin_batch(tmp_path, spark_batch=0)
    found = opened(tmp_path)
    assert found.begun
    assert found.planned is not None
    assert found.planned.plan == PLAN


def test_a_refused_network_leaves_no_trace(tmp_path: Path) -> None:
    opened(tmp_path)
    begin_batch(tmp_path, spark_batch=0)
    before = files_of(tmp_path)
    with pytest.raises(DroverError, match="was made by another form of network 'n'"):
        opened(tmp_path, of=network("k > 1"))
    assert files_of(tmp_path) == before


def test_a_refused_sink_folder_leaves_no_trace(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    opened(tmp_path / "first", Files(str(folder), "parquet"))
    before = files_of(tmp_path)
    with pytest.raises(DroverError, match="belongs to run"):
        opened(tmp_path / "second", Files(str(folder), "parquet"))
    assert files_of(tmp_path) == before
    adopting = Permissions(existing=ExistingRows.ADOPT)
    assert opened(tmp_path / "second", Files(str(folder), "parquet"), allowed=adopting).claims


@pytest.mark.parametrize("dies_at", ["note_network", "save_run", "claim_folders"])
def test_a_start_that_died_between_two_writes_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: str
) -> None:
    def die(*_: object) -> None:
        raise OSError("no power")

    sink = Files(str(tmp_path / "out"), "parquet")
    with monkeypatch.context() as patch:
        patch.setattr(opening, dies_at, die)
        with pytest.raises(OSError, match="no power"):
            opened(tmp_path / "run", sink)
    found = opened(tmp_path / "run", sink)
    assert opened(tmp_path / "run", sink).run_id == found.run_id
    with pytest.raises(DroverError, match="belongs to run"):
        opened(tmp_path / "other", sink)
