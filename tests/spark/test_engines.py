"""The choice of an engine, and whole runs on resident nodes of real Spark."""

from __future__ import annotations

import os
import signal
from typing import Any

import polars as pl
import pyarrow.flight as fl
import pytest
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.batch import ShuffleEngine
from drover.spark.engines import EngineChoice, engine_choice, engine_of
from drover.spark.resident.engine import ResidentEngine
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.resident.node_server import PING
from drover.spark.resident.wire import call_options
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.conftest import Worlds
from tests.spark.runs import chaos_network

RESIDENT: dict[str, Any] = {"nodes": 1, "engine": "resident"}  # Any: options of `run`. The tests have two slots


def test_an_unknown_engine_is_refused_with_those_that_exist() -> None:
    with pytest.raises(DroverError, match="engine is 'warp', but must be one of auto, resident, shuffle"):
        engine_choice("warp")


def test_auto_takes_resident_nodes_where_they_and_a_reader_fit(spark: SparkSession) -> None:
    slots = spark.sparkContext.defaultParallelism
    fits = engine_of(EngineChoice.AUTO, spark, slots - 1)
    assert isinstance(fits, ResidentEngine)
    fits.close()
    assert isinstance(engine_of(EngineChoice.AUTO, spark, slots), ShuffleEngine)


def test_a_run_on_resident_nodes_gives_what_spark_gives(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]
) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:3])
    world.drain(**RESIDENT)
    world.add(ordered[3:])
    world.drain(**RESIDENT)
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


@pytest.mark.slow
def test_a_run_may_change_its_engine(worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]) -> None:
    world = worlds(chaos_network())
    for number, batch in enumerate(ordered):
        world.add([batch])
        world.drain(nodes=1, engine="resident" if number % 2 else "shuffle")
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


def test_a_node_that_is_killed_comes_back_at_another_place(spark: SparkSession) -> None:
    nodes = ResidentNodes(spark, "test")
    try:
        (before,) = nodes.ensure(1)
        os.kill(process_of(before.location, nodes.secret), signal.SIGKILL)
        nodes.wait_until_gone(before)
        (after,) = nodes.ensure(1)
        assert after != before
    finally:
        nodes.close()


def process_of(location: str, secret: str) -> int:
    """Return the process of a node; it answers a ping with its number."""
    with fl.connect(location) as client:
        (answer,) = client.do_action(fl.Action(PING, b""), call_options(secret))
    return int(answer.body.to_pybytes())
