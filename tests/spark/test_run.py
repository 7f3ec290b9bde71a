"""Random networks through the real driver, restarted and moved about, against the oracle."""

from __future__ import annotations

import time
from typing import Any

import pytest
from numpy.random import Generator, default_rng
from pyspark.sql import SparkSession

import drover
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from drover.spark.handle import Handle
from drover_lab.generate import DagParameters, dags
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams, merged
from tests.flow.test_against_oracle import random_batches
from tests.flow.test_many_networks import MAKERS
from tests.spark.conftest import Worlds
from tests.spark.runs import World, both_engines, ordered_batches

TOGETHER = 3  # networks in one run: what a batch costs, it costs once
RUNS = [(kind, seed) for kind in ("dag", "windows", "joins", "user") for seed in range(2)] + [("tree", 0), ("chain", 0)]


def stir(handle: Handle, network: Network, rng: Generator) -> None:
    """Move a unit or change the number of nodes."""
    if rng.random() < 0.3:
        handle.scale(int(rng.integers(1, 4)))
    units = units_of(network)
    handle.move(units[int(rng.integers(len(units)))], int(rng.integers(handle.plan.nodes)))


def drain_stirred(world: World, rng: Generator) -> None:
    handle = world.start(nodes=int(rng.integers(1, 4)))
    stir(handle, world.network, rng)
    while handle.isActive:
        stir(handle, world.network, rng)
        time.sleep(0.1)
    assert handle.awaitTermination(120)
    assert handle.exception() is None


def run_in_parts(world: World, batches: list[Batch], rng: Generator) -> dict[int, Batch]:
    """Run the batches in several runs on one checkpoint and return them with the numbers drover gave them."""
    numbered: dict[int, Batch] = {}
    while batches:
        count = int(rng.integers(1, 3))
        now = batches[:count]
        batches = batches[count:]
        # A run ends with a batch that closes windows, so the numbers of the next one begin after it.
        first = world.committed() + 1
        numbered |= {first + i: batch for i, batch in enumerate(now)}
        world.add(now)
        drain_stirred(world, rng)
    return numbered


@both_engines
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), RUNS)
def test_runs_give_what_spark_gives(spark: SparkSession, worlds: Worlds, kind: str, seed: int) -> None:
    rng = default_rng([seed, 7, *kind.encode()])
    network = merged([MAKERS[kind](rng) for _ in range(TOGETHER)])
    world = worlds(network)
    numbered = run_in_parts(world, random_batches(network, rng), rng)
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
    assert len(world.handles) < 2 or world.handles[-1].plan.number > 2


@both_engines
def test_a_small_network_gives_what_spark_gives(spark: SparkSession, worlds: Worlds) -> None:
    rng = default_rng(3)
    network = dags(rng, DagParameters(sources=2, operators=5))
    world = worlds(network)
    numbered = run_in_parts(world, random_batches(network, rng), rng)
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])


def test_a_run_starts_beside_an_offset_that_spark_has_not_finished(spark: SparkSession, worlds: Worlds) -> None:
    rng = default_rng(4)
    network = dags(rng, DagParameters(sources=1, operators=3))
    world = worlds(network)
    batches = random_batches(network, rng)
    world.start().stop()
    left = world.checkpoint / "spark" / "offsets" / ".0.0e98e7d0-0c3a-4a7e-b4f5-2f4b8a8f0c11.tmp"
    left.parent.mkdir(exist_ok=True)
    left.write_text("v1\n")  # as Spark leaves it if it is stopped at this moment
    world.add(batches)
    world.drain()
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])


@both_engines
def test_large_results_come_through_files_that_do_not_stay(spark: SparkSession, worlds: Worlds) -> None:
    net = drover.Builder("large")
    source = net.source("numbers", {"ts": "timestamp", "n": "bigint", "s": "string"}, time="ts")
    source.output()  # from the router
    source.filter("odd", "n % 2 = 1").output()  # from a node, in the first hop
    network = net.build()
    world = worlds(network)
    batches = ordered_batches(network, 3, 30_000)
    world.add(batches)
    world.drain(plan=Plan(1, 2, {"odd": 1}))
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert world.output(stream).height > 1000
        assert_same_rows(world.output(stream), expected[stream])
    assert sorted((world.checkpoint / "state").glob("*")) == []


def test_batches_are_told_apart_in_sparks_pages_and_other_jobs_are_left_alone(
    spark: SparkSession, worlds: Worlds
) -> None:
    net = drover.Builder("told")
    net.source("a", {"ts": "timestamp", "n": "bigint"}, time="ts").filter("odd", "n % 2 = 1").output()
    world = worlds(net.build())
    world.add(ordered_batches(world.network, 1, 5))
    world.start(trigger={"processingTime": "0 seconds"}).processAllAvailable()
    store = spark.sparkContext._jsc.sc().statusStore()  # Spark offers no other way to ask
    shown = [job.description().get() for job in _list(spark, store.jobsList(None)) if job.description().isDefined()]
    assert "drover batch 0: 1 sources, 2 nodes, 1 hops, 1 operators" in shown
    assert spark.sparkContext.getLocalProperty("spark.job.description") is None
    assert spark.sparkContext.getLocalProperty("callSite.short") is None


def _list(spark: SparkSession, found: Any) -> list[Any]:  # Any: objects of Java's
    jvm: Any = spark.sparkContext._jvm
    return list(jvm.scala.jdk.javaapi.CollectionConverters.asJava(found))
