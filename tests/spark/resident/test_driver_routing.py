"""Batches that the driver routes itself: which ones, and that their results are the same."""

from __future__ import annotations

import queue
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.flow.families.assignment import FamilyAssignment
from drover.flow.families.members import MemberTable
from drover.network.model import Network
from drover.spark.batch import BatchResult
from drover.spark.resident.driver_routing import FEW_QUERIES, SMALL_BYTES, SMALL_ROWS, DriverRouter, estimated_bytes
from drover.spark.resident.wire import RunSecret
from drover.spark.tasks import RouterReport
from tests.spark.resident.local_nodes import LocalRows
from tests.spark.resident.test_engine import BATCHES, ResidentRun, assert_exact, turned
from tests.spark.runs import chaos_network


class CountedRows(LocalRows):
    """Counts the batches that no router of Spark reads."""

    here = 0

    def _collect_as_arrow(self) -> Any:  # Any: pyarrow has no types
        CountedRows.here += self.task is None
        return super()._collect_as_arrow()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[CountedRows]:
    monkeypatch.setattr("tests.spark.resident.test_engine.LocalRows", CountedRows)
    CountedRows.here = 0
    return CountedRows


def play(network: Network, root: Path, estimate: Callable[[Any], int]) -> ResidentRun:
    """Run all batches, with every operator on another node from batch to batch."""
    run = ResidentRun(network, root, estimate=estimate)
    for number, batch in enumerate(BATCHES):
        run.process(batch, number)
        run.planner.replan(turned)
    return run


def test_small_batches_are_routed_here_with_the_same_results(tmp_path: Path, counted: type[CountedRows]) -> None:
    run = play(chaos_network(), tmp_path, lambda _: SMALL_BYTES)
    assert_exact(run, BATCHES)
    assert counted.here == len(BATCHES) - 1  # the first batch of a run may be a long backlog
    run.driver.close()


def test_batches_that_spark_does_not_know_to_be_small_are_routed_by_spark(
    tmp_path: Path, counted: type[CountedRows]
) -> None:
    run = play(chaos_network(), tmp_path, lambda _: SMALL_BYTES + 1)
    assert_exact(run, BATCHES)
    assert counted.here == 0
    run.driver.close()


def test_both_ways_may_alternate(tmp_path: Path, counted: type[CountedRows]) -> None:
    sizes = iter([SMALL_BYTES, SMALL_BYTES + 1] * len(BATCHES))
    run = play(chaos_network(), tmp_path, lambda _: next(sizes))
    assert_exact(run, BATCHES)
    assert 0 < counted.here < len(BATCHES) - 1
    run.driver.close()


@pytest.mark.parametrize(
    ("rows", "queries", "suits"),
    [
        pytest.param(None, None, False, id="nothing is known of the first batch"),
        pytest.param(0, None, True, id="an idle source"),
        pytest.param(SMALL_ROWS, None, True, id="few rows"),
        pytest.param(SMALL_ROWS + 1, None, False, id="many rows in the last batch"),
        pytest.param(0, FEW_QUERIES, True, id="few queries"),
        pytest.param(0, FEW_QUERIES + 1, False, id="a router needs the constants of all queries"),
    ],
)
def test_who_routes(rows: int | None, queries: int | None, suits: bool) -> None:
    router = DriverRouter(RunSecret("secret"), lambda: 0.0, lambda _: 0)
    tables = {f"f{k}": MemberTable(f"f{k}", "", (0,), part) for k, part in enumerate(((queries or 0) - 1, 1))}
    families = None if queries is None else FamilyAssignment("", {}, tables, {})
    task: Any = SimpleNamespace(router=SimpleNamespace(assignment=SimpleNamespace(families=families)))
    if rows is not None:
        router.note(BatchResult({}, {}, {}, (), (RouterReport({"a": rows}, (), 0.0),)))
    given: Any = None  # Any: the estimate takes everything
    assert router.suits(given, task) is suits


def test_spark_knows_the_size_of_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"value": 1}\n' * 100)
    rows = spark.read.schema("value long").json(str(tmp_path))
    assert 0 < estimated_bytes(rows) < SMALL_BYTES


def test_spark_does_not_know_the_size_of_what_it_generates(spark: SparkSession) -> None:
    sizes: queue.SimpleQueue[int] = queue.SimpleQueue()
    rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    query = rates.writeStream.foreachBatch(lambda rows, _: sizes.put(estimated_bytes(rows))).start()
    assert sizes.get(timeout=60) > SMALL_BYTES
    query.stop()
