"""Refinement: it moves no more queries than allowed, and on a real run results stay right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.control import allowance
from drover.spark.handle import Handle
from drover.spark.queries.refining import EVERY, Refiner
from drover.spark.sinks import Memory
from drover.web.report import build_report, read_run, summary_data
from tests.flow.harness import Batch
from tests.spark.conftest import Worlds
from tests.spark.meters import SITES, assert_answers, expected, files_by_batch, meters, query, readings
from tests.spark.queries.catalogs import begin, nodes_of, opened, queries
from tests.spark.runs import World, both_engines

MANY = 60
SAMPLED = 12  # of those that moved, and of the others


def nodes(handle: Handle) -> dict[str, int]:
    return dict(handle.queries().select("query", "node").iter_rows())


def replication(handle: Handle) -> float:
    found: dict[str, Any] = handle.batches[-1]["queries"]
    return float(found["replication"])


def feed(world: World, handle: Handle, files: list[Batch]) -> None:
    world.add(files)
    handle.processAllAvailable()


def test_refinement_moves_as_many_queries_as_it_may_with_the_next_batch(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*(4 * n + 2 for n in range(100))))  # five sites, twenty of each
    first = nodes_of(begin(catalog, 0).families)
    for n in range(0, 100, 7):
        catalog.move(f"q{4 * n + 2}", 1 - first[f"q{4 * n + 2}"])
    worse = nodes_of(begin(catalog, 1).families)
    before = catalog.update_rates({})
    refiner = Refiner(catalog, 0.05)
    refiner.after_batch(EVERY, 1.0)  # nothing is earned yet
    refiner.after_batch(EVERY + 1, 3600.0)  # it is not time yet
    refiner.join()
    assert nodes_of(begin(catalog, 2).families) == worse
    refiner.after_batch(2 * EVERY, 1.0)
    refiner.join()
    after = nodes_of(begin(catalog, 3).families)
    moved = [name for name in worse if after[name] != worse[name]]
    assert 1 <= len(moved) <= 5
    assert catalog.update_rates({}) < before
    assert (tmp_path / "queries" / "turn-000000000003.arrow").exists()
    assert nodes_of(opened(tmp_path, 3, {"turn": 3, "failed": {}}).families) == after
    refiner.after_batch(3 * EVERY, 1.0)  # its allowance is used up
    refiner.join()
    assert len([name for name, node in nodes_of(begin(catalog, 4).families).items() if node != worse[name]]) <= 5


def test_without_an_allowance_nothing_is_searched(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(*range(8)))
    refiner = Refiner(catalog)
    refiner.after_batch(0, 10.0**6)
    assert refiner._thread is None


@both_engines
@pytest.mark.slow
def test_refinement_moves_queries_with_their_state(
    spark: SparkSession, worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "HOUR", 1.0)  # so that every query may move once a second
    world = worlds(meters())
    files = [readings(number) for number in range(4 + 2 * EVERY)]
    given = {f"q{number}": query(f"q{number}", number) for number in range(MANY)}
    handle = world.start(trigger={"processingTime": "0 seconds"}, queries=Memory(), refine=1.0)
    assert len(handle.submit(given.values()).accepted) == MANY
    feed(world, handle, files[:2])
    scattered = {name: number // SITES % 2 for number, name in enumerate(given)}  # every site on both nodes
    for name, node in scattered.items():
        handle.move(name, node)
    feed(world, handle, files[2:3])
    assert nodes(handle) == scattered
    before = replication(handle)
    feed(world, handle, files[3:])
    after = nodes(handle)
    moved = [name for name, node in scattered.items() if after[name] != node]
    assert len(moved) > MANY / 10
    assert 1 <= replication(handle) < before
    (since,) = handle.queries()["since"].unique().to_list()
    seen = {number: rows for number, rows in files_by_batch(handle, files).items() if number >= since}
    stayed = [name for name in given if name not in moved]
    chosen = {name: given[name] for name in (*moved[:SAMPLED], *stayed[:SAMPLED])}
    assert assert_answers(handle, expected(spark, world.network, chosen, seen)) > MANY
    last = handle.batches[-1]
    handle.stop()
    report = summary_data(build_report(read_run(world.checkpoint)))["queries"]
    assert (report["live"], report["measured"]["batch"]) == (MANY, last["batch"])
    assert report["measured"]["replication"] == pytest.approx(last["queries"]["replication"], abs=1e-4)
    assert report["measured"]["bytes_per_second"]["readings"] > 0
    assert len(report["measured"]["busy"]) == 2
