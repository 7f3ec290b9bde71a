"""Runs that die at every step of a batch, and go on as if nothing had been."""

from __future__ import annotations

import contextlib

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.spark.sinks import Files
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.crashes import POINTS, Once, dying, often_tidying, raise_crash
from tests.spark.runs import World, both_engines, chaos_network

DEATHS = {"in the middle of a sweep": (1, 4), "before a sweep": (1, 2), "between two sinks": (1, 5, 9)}


def run_to_the_end(world: World, sinks: dict[str, list[Files | Once]], most: int) -> int:
    """Start again after every crash and return how many there were."""
    for crashes in range(most + 1):
        handle = world.start(sinks=sinks)
        if crashes % 2:
            handle.move("windows", crashes % handle.plan.nodes)  # a replay must keep to the plan it was begun with
        with contextlib.suppress(DroverError):
            handle.awaitTermination(120)
        error = handle.exception()
        handle.stop()
        if error is None:
            return crashes
        assert "CrashError: here" in str(error)
    raise AssertionError("it never came to its end")


@both_engines
@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_dies_loses_and_doubles_nothing(
    worlds: Worlds, ordered: list[Batch], expected: dict[str, pl.DataFrame], point: str
) -> None:
    world = worlds(chaos_network())
    world.add(ordered)
    kept = {stream: Once() for stream in world.network.outputs}
    sinks: dict[str, list[Files | Once]] = {
        stream: [Files(str(world.folder / "out" / stream)), kept[stream]] for stream in kept
    }
    deaths = DEATHS.get(point, (1, 3, 7))
    if "plan" in point:
        deaths = (1, 2)  # a plan is written only when it changes
    with often_tidying(), dying(POINTS[point], deaths, raise_crash) as calls:
        crashes = run_to_the_end(world, sinks, len(deaths))
    assert crashes == len([call for call in calls if call in deaths]) > 0
    for stream, rows in expected.items():
        assert_same_rows(world.output(stream), rows)
        assert_same_rows(kept[stream].rows(), rows)


@pytest.mark.slow
@both_engines
def test_closing_windows_that_had_begun_comes_before_new_rows(
    spark: SparkSession, worlds: Worlds, ordered: list[Batch]
) -> None:
    world = worlds(chaos_network())
    kept = {stream: Once() for stream in world.network.outputs}
    world.add(ordered[:2])
    with dying(POINTS["after the sinks"], [3], raise_crash):  # the third batch is the one without rows
        handle = world.start(sinks=kept)
        with pytest.raises(DroverError, match="CrashError"):
            handle.awaitTermination(60)
        handle.stop()
    assert world.committed() == 1
    world.add(ordered[2:4])
    world.drain(sinks=kept)
    numbered = {0: ordered[0], 1: ordered[1], 3: ordered[2], 4: ordered[3]}
    for stream, rows in expected_streams(spark, world.network, numbered).items():
        assert_same_rows(kept[stream].rows(), rows)
    assert world.committed() == 5
