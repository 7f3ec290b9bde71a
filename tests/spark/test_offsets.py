"""Spark's checkpoint against drover's: the next batch follows, or the run is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from drover.errors import StateError
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.flow.state.versions import Version
from drover.spark.commit_notes import NONE
from drover.spark.offsets import BatchProgress, check_follows, location, read_progress, spark_batch

COMMITTED = Checkpoint(Version(7), {"spark_batch": 4})


def spark_files(root: Path, begun: int, done: int, *, metadata: bool = True) -> None:
    for folder, last in (("offsets", begun), ("commits", done)):
        (root / "spark" / folder).mkdir(parents=True)
        for batch in range(max(last - 2, 0), last + 1):  # Spark deletes old ones
            (root / "spark" / folder / str(batch)).touch()
        (root / "spark" / folder / f".{last}.crc").touch()
    if metadata:
        (root / "spark" / "metadata").touch()


def test_a_new_checkpoint_has_nothing_of_spark(tmp_path: Path) -> None:
    assert read_progress(*open_root(tmp_path), Checkpoint()) == BatchProgress(NONE, NONE)
    assert spark_batch(Checkpoint()) == NONE


@pytest.mark.parametrize(
    ("begun", "done"),
    [
        pytest.param(4, 3, id="Spark will repeat the last batch"),
        pytest.param(4, 4, id="Spark has committed it, too"),
        pytest.param(5, 4, id="Spark has begun the next one"),
    ],
)
def test_what_fits_is_accepted(tmp_path: Path, begun: int, done: int) -> None:
    spark_files(tmp_path, begun, done)
    assert read_progress(*open_root(tmp_path), COMMITTED) == BatchProgress(begun, done)


@pytest.mark.parametrize(
    ("begun", "done", "metadata", "says"),
    [
        pytest.param(5, 5, True, "rows after Spark's batch 4 would be lost", id="Spark has done more"),
        pytest.param(3, 3, True, "Spark is at batch 3: its files are older than drover's", id="Spark has done less"),
        pytest.param(4, 4, False, "metadata", id="Spark does not know its query again"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, begun: int, done: int, metadata: bool, says: str) -> None:
    spark_files(tmp_path, begun, done, metadata=metadata)
    with pytest.raises(StateError, match=says):
        read_progress(*open_root(tmp_path), COMMITTED)


@pytest.mark.parametrize(("batch", "says"), [(3, "Spark to go on after its batch 4"), (6, "would be lost")])
def test_a_batch_that_does_not_follow_is_refused(batch: int, says: str) -> None:
    with pytest.raises(StateError, match=says):
        check_follows("root", COMMITTED, batch)


@pytest.mark.parametrize("batch", [4, 5])
def test_the_last_batch_and_the_next_one_follow(batch: int) -> None:
    check_follows("root", COMMITTED, batch)


def test_spark_gets_a_local_path_or_the_uri_as_it_was_given(tmp_path: Path) -> None:
    assert location(str(tmp_path)) == location(tmp_path.as_uri()) == f"{tmp_path}/spark"
