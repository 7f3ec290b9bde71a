"""The mark of a run that ended between two batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.flow.planlog import PlanLogEntry
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.flow.state.versions import Version
from drover.placement.plan import Plan
from drover.spark.clean_stop import NAME, mark_stop, may_have_begun, void_stop
from drover.spark.offsets import BatchProgress

COMMITTED = Checkpoint(Version(4), {"spark_batch": 3})
PLANNED = PlanLogEntry(2, Plan(1, 1, {"f": 0}))
CLOSING = PlanLogEntry(5, Plan(1, 1, {"f": 0}), closing=True)


@pytest.mark.parametrize(
    ("progress", "planned", "begun"),
    [
        pytest.param(BatchProgress(3, 3), PLANNED, False, id="Spark has nothing else"),
        pytest.param(BatchProgress(4, 3), PLANNED, True, id="Spark has the offsets of the next batch"),
        pytest.param(BatchProgress(3, 3), CLOSING, True, id="the next batch closes windows"),
        pytest.param(BatchProgress(3, 3), None, False, id="no plan yet"),
    ],
)
def test_without_a_mark_the_worst_is_assumed(
    tmp_path: Path, progress: BatchProgress, planned: PlanLogEntry | None, begun: bool
) -> None:
    root = open_root(str(tmp_path))
    assert may_have_begun(*root, COMMITTED, progress, planned) is begun
    mark_stop(*root, 3)  # of an earlier run
    assert may_have_begun(*root, COMMITTED, progress, planned) is begun
    mark_stop(*root, 4)
    assert not may_have_begun(*root, COMMITTED, progress, planned)
    void_stop(*root)
    assert may_have_begun(*root, COMMITTED, progress, planned) is begun


def test_a_damaged_mark_proves_nothing(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    mark_stop(*root, 4)
    for text in ("", "{}", "x" * 40, (tmp_path / NAME).read_text()[:-9]):
        (tmp_path / NAME).write_text(text)
        assert may_have_begun(*root, COMMITTED, BatchProgress(4, 3), PLANNED)


def test_a_mark_is_voided_only_where_there_is_one(tmp_path: Path) -> None:
    void_stop(*open_root(str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
