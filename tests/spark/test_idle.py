"""Windows close when rows stop coming, without anybody asking."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from unittest.mock import MagicMock, PropertyMock

import pytest
from pyspark.sql import DataFrame, SparkSession

import drover
from drover.errors import DroverError
from drover.network.model import Network
from drover.spark.idle import SWITCH, close_when_idle, waits
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.runs import ordered_batches

PATIENCE = 120.0  # seconds


def windows() -> Network:
    net = drover.Builder("windows")
    source = net.source("a", {"ts": "timestamp", "key": "int"}, time="ts")
    source.aggregate("counts", {"n": "count(*)"}, size="2 s", group_by="key").output()
    return net.build()


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


@pytest.fixture
def switched_off(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(SWITCH, "false")
    yield
    spark.conf.unset(SWITCH)


def numbered(batches: list[Batch]) -> dict[int, Batch]:
    """Every batch is followed by one that closes windows."""
    return {2 * number: batch for number, batch in enumerate(batches)}


def test_nobody_waits_for_rows_after_java_has_ended() -> None:
    spark = MagicMock()
    query = MagicMock()
    driver = MagicMock()
    spark.conf.get.return_value = "true"
    type(query).status = PropertyMock(side_effect=ConnectionRefusedError("nobody there"))
    close_when_idle(spark, query, driver)
    for thread in threading.enumerate():
        if thread.name == "drover idle":
            thread.join(10)
    query.stop.assert_not_called()


def test_windows_close_when_no_rows_follow(spark: SparkSession, worlds: Worlds) -> None:
    network = windows()
    world = worlds(network)
    batches = ordered_batches(network, 2, 40)
    handle = world.start(trigger={"processingTime": "0 seconds"})
    for number in range(2):
        world.add(batches[number : number + 1])
        wait_until(lambda number=number: world.committed() == 2 * number + 1)  # type: ignore[misc]  # a default
    handle.stop()
    assert_same_rows(world.output("counts"), expected_streams(spark, network, numbered(batches))["counts"])
    assert [entry["sparkBatch"] for entry in handle.batches] == [0, 0, 1, 1]


@pytest.mark.usefixtures("switched_off")
def test_sparks_own_switch_holds(worlds: Worlds) -> None:
    world = worlds(windows())
    world.add(ordered_batches(world.network, 1, 40))
    handle = world.start(trigger={"processingTime": "0 seconds"})
    wait_until(lambda: world.committed() == 0)
    time.sleep(1.0)
    assert world.committed() == 0
    handle.processAllAvailable()
    assert world.committed() == 1


def test_a_failure_while_windows_close_ends_the_run(worlds: Worlds) -> None:
    def refuse(rows: DataFrame, batch: int) -> None:
        del rows
        raise OSError(f"no room for batch {batch}")

    world = worlds(windows())
    world.add(ordered_batches(world.network, 1, 40))  # a batch closes windows only by the rows of those before it
    handle = world.start(sinks={"counts": refuse}, trigger={"processingTime": "0 seconds"})
    with pytest.raises(DroverError, match="no room for batch"):
        handle.awaitTermination(int(PATIENCE))


@pytest.mark.parametrize(
    ("message", "data", "active", "expected"),
    [
        pytest.param("Waiting for data to arrive", False, False, True, id="it found none"),
        pytest.param("Waiting for next trigger", True, False, False, id="the last look found some"),
        pytest.param("Processing new data", True, True, False, id="it is running"),
        pytest.param("Getting offsets from FileStreamSource", False, True, False, id="it is looking"),
        pytest.param("Initializing sources", False, False, False, id="it has not looked yet"),
    ],
)
def test_a_query_waits_when_it_has_looked_in_vain(message: str, data: bool, active: bool, expected: bool) -> None:
    assert waits({"message": message, "isDataAvailable": data, "isTriggerActive": active}) is expected
