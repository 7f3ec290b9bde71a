"""The choice of an engine, and whole runs on resident nodes of real Spark."""

from __future__ import annotations

import os
import signal
from typing import Any

import polars as pl
import pyarrow.flight as fl
import pytest
from pyspark.sql import SparkSession

from drover.control.engine_choice import EngineChoice
from drover.spark.batch import ShuffleEngine
from drover.spark.caller import ask
from drover.spark.engines import ENCRYPTION, choose_for, encrypted_by, engine_of
from drover.spark.resident.engine import ResidentEngine
from drover.spark.resident.node_jobs import ResidentNodes
from drover.spark.resident.node_server import PING
from drover.spark.resident.wire import call_options
from tests.conftest import SLOTS
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows
from tests.spark.conftest import Worlds
from tests.spark.runs import chaos_network

RESIDENT: dict[str, Any] = {"nodes": SLOTS - 1, "engine": "resident"}  # Any: options of `run`


def test_auto_takes_resident_nodes_where_they_and_a_reader_fit(spark: SparkSession) -> None:
    found = choose_for(spark, EngineChoice.AUTO, SLOTS - 1)
    fits = engine_of(found, spark)
    assert isinstance(fits, ResidentEngine)
    fits.close()
    found = choose_for(spark, EngineChoice.AUTO, SLOTS)
    assert isinstance(engine_of(found, spark), ShuffleEngine)
    assert f"do not fit into {SLOTS} slots" in found.why


@pytest.mark.parametrize("setting", ENCRYPTION)
def test_where_spark_encrypts_resident_nodes_are_refused(setting: str) -> None:
    assert encrypted_by({setting: " True"}) == setting
    assert encrypted_by({setting: "false"}) is None


def test_a_run_says_which_engine_it_took(worlds: Worlds, ordered: list[Batch]) -> None:
    world = worlds(chaos_network())
    world.add(ordered[:1])
    handle = world.start(nodes=1, engine="auto", trigger={"processingTime": "0 seconds"})
    handle.processAllAvailable()
    assert str(handle.engine) == f"engine resident, because 1 node and a reader fit into {SLOTS} slots of Spark"
    assert handle.batches[0]["engine"] == "resident"
    assert ask(str(world.checkpoint), "status")["engine"]["name"] == "resident"
    assert str(handle.engine) in handle.explain("pairs").text
    handle.stop()
    assert ask(str(world.checkpoint), "status")["engine"] is None


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


def test_a_run_may_change_its_engine(worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame]) -> None:
    world = worlds(chaos_network())
    for number, batch in enumerate(ordered):
        world.add([batch])
        world.drain(nodes=2, engine="resident" if number % 2 else "shuffle")
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)


def test_a_node_that_is_killed_comes_back_at_another_place(spark: SparkSession) -> None:
    nodes = ResidentNodes(spark, "test")
    try:
        (before,) = nodes.ensure(1)
        os.kill(process_of(before.location, nodes.secret), signal.SIGKILL)
        nodes.replace(before, 60.0)
        (after,) = nodes.ensure(1)
        assert after != before
    finally:
        nodes.close()


def process_of(location: str, secret: str) -> int:
    """Return the process of a node; it answers a ping with its number."""
    with fl.connect(location) as client:
        (answer,) = client.do_action(fl.Action(PING, b""), call_options(secret))
    return int(answer.body.to_pybytes())
