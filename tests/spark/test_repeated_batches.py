"""Batches that an earlier run has begun: what may come before their repetition, and what becomes of delivered rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from drover.flow.worker import Assignment
from drover.spark.batch import BatchResult
from drover.spark.commit_notes import notes_of
from drover.spark.driver import Driver
from drover.spark.sinks import Memory
from tests.spark.test_driver import ROWS, Engine, made, spark_did


@dataclass
class FickleEngine(Engine):
    """Takes the place of Spark; its operator makes no rows if `silent`."""

    silent: bool = False

    def run(self, rows: object, layout: object, assignment: Assignment, meanwhile: Callable[[], None]) -> BatchResult:
        found = super().run(rows, layout, assignment, meanwhile)
        return BatchResult({} if self.silent else found.rows, {}, found.latest, found.reports, found.routed)


@pytest.fixture
def died(tmp_path: Path) -> Iterator[tuple[Driver, FickleEngine]]:
    """A run after one that died in its second batch, when the rows were delivered and not committed."""
    engine = FickleEngine()
    first = made(tmp_path, engine)
    first.open()
    first.process(ROWS, 0)
    engine.broken = "sink"
    with pytest.raises(ValueError, match="no sink"):
        first.process(ROWS, 1)
    first.close()
    engine.broken = ""
    spark_did(tmp_path, begun=1, done=0)
    second = made(tmp_path, engine)
    second.open()
    yield second, engine
    second.close()


def test_a_batch_with_rows_is_repeated_before_windows_close(died: tuple[Driver, FickleEngine]) -> None:
    driver, engine = died
    assert driver.wait_for_windows()  # they could close
    engine.happened.clear()
    driver.close_windows(ROWS.sparkSession)
    assert engine.happened == []
    driver.process(ROWS, 1)
    driver.close_windows(ROWS.sparkSession)
    assert [facts.spark_batch for facts in driver.history] == [1, 1]
    assert notes_of(driver.checkpoint).spark_batch == 1


def test_rows_that_were_delivered_are_taken_back_if_the_repetition_has_none(
    died: tuple[Driver, FickleEngine],
) -> None:
    driver, engine = died
    kept = Memory({1: pl.DataFrame({"k": [1]})})
    late = Memory({1: pl.DataFrame({"k": [1]})})
    driver.sinks = {"f": (kept,)}
    driver.late = late
    engine.silent = True  # a function fails that did not fail before
    driver.process(ROWS, 1)
    assert [kept.batches[1].height, late.batches[1].height] == [0, 0]
    assert kept.batches[1].columns == ["ts", "k"]
    driver.process(ROWS, 2)
    assert list(kept.batches) == [1]  # a new batch without rows is skipped
