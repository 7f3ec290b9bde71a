"""Queries that move of themselves on a real run, and what is kept of them for a report."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.control import allowance
from drover.spark.handle import Handle
from drover.spark.queries.refining import EVERY
from drover.spark.sinks import Memory
from drover.web.report import as_data, read, story_of
from tests.flow.harness import Batch
from tests.spark.conftest import Worlds
from tests.spark.queries import SITES, assert_answers, expected, files_by_batch, meters, query, readings
from tests.spark.runs import World

MANY = 60
SAMPLED = 12  # of those that moved, and of the others


def nodes(handle: Handle) -> dict[str, int]:
    return dict(handle.queries().select("query", "node").iter_rows())


def replication(handle: Handle) -> float:
    found: dict[str, Any] = handle.recentProgress[-1]["queries"]
    return float(found["replication"])


def feed(world: World, handle: Handle, files: list[Batch]) -> None:
    world.add(files)
    handle.processAllAvailable()


@pytest.mark.slow
def test_refinement_moves_queries_with_their_state(
    spark: SparkSession, worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "HOUR", 1.0)  # so that every query may move once a second
    world, files = worlds(meters()), [readings(number) for number in range(4 + 2 * EVERY)]
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
    last = handle.recentProgress[-1]
    handle.stop()
    told = as_data(story_of(read(world.checkpoint)))["queries"]
    assert (told["live"], told["measured"]["batch"]) == (MANY, last["batch"])
    assert told["measured"]["replication"] == pytest.approx(last["queries"]["replication"], abs=1e-4)
    assert told["measured"]["bytes_per_second"]["readings"] > 0
    assert len(told["measured"]["busy"]) == 2
