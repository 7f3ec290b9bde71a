"""Spread joins on the real driver: instances with state of their own, a move of one, a restart; against the oracle."""

from __future__ import annotations

from pyspark.sql import SparkSession

import drover
from drover.network.model import Network
from tests.flow.harness import Batch
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.runs import COLUMNS, ordered_batches


def two_joins() -> Network:
    """One join by key on a grid, one that Spark refuses, because it has no equality, on three instances."""
    net = drover.Builder("spread")
    a, b = (net.source(source, COLUMNS, time="ts", lateness="1 s") for source in ("a", "b"))
    names = {"x": "left.amount", "y": "right.amount"}
    pairs = a.join("pairs", b, within="2 s", on="key", select=names, spread=(2, 2))
    pairs.filter("larger", "x > y").output()
    near = "abs(left.amount - right.amount) <= 40"
    a.join("near", b, within="1 s", where=near, select=names, spread=3).output()
    return net.build()


def test_spread_joins_give_what_plain_spark_gives(spark: SparkSession, worlds: Worlds) -> None:
    network = two_joins()
    world, numbered = worlds(network), dict[int, Batch]()
    batches = ordered_batches(network, 6, 40)
    world.add(batches[:3])
    numbered |= dict(enumerate(batches[:3]))
    first = world.drain(nodes=3, control={"mode": "auto", "period": 0, "warm_up": 2, "window": 2, "trial": 0})
    assert first.control.status.failure is None
    instances = {(each["operator"], each["instance"]) for each in first.recentProgress[0]["samples"]}
    assert {("pairs", k) for k in range(4)} | {("near", k) for k in range(3)} <= instances
    begun = world.committed() + 1
    world.add(batches[3:])
    numbered |= {begun + k: batch for k, batch in enumerate(batches[3:])}
    again = world.start(nodes=3)
    again.move("pairs", (again.plan.node_of["pairs"] + 1) % 3)
    assert again.awaitTermination(120)
    expected = expected_streams(spark, network, numbered)
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
        assert expected[stream].height > 0
