"""A network may call its sources, operators and outputs as it likes: drover reads no meaning out of a name."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import drover
from drover.network.model import Network
from drover.placement.plan import round_robin
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.conftest import Worlds
from tests.spark.runs import COLUMNS, ordered_batches

ENGINE_WORDS = (
    "latest",
    "dead",
    "routed",
    "queries",
    "file",
    "report",
    "letters",
    "samples",
    "node",
    "payload",
    "drover",
)


def engine_words() -> Network:
    """A network whose streams are called like ports, columns and keys that the engine uses, or used, itself."""
    net = drover.Builder("drover")
    latest = net.source("latest", COLUMNS, time="ts", lateness="1 s")
    dead = net.source("dead", COLUMNS, time="ts", lateness="1 s")
    latest.output()
    report = latest.union("report", dead)
    report.output()
    routed = report.filter("routed", "key <> 3")
    routed.output()
    routed.aggregate("queries", {"n": "count(*)"}, size="5 s", group_by="key").output()
    names = {"x": "left.amount", "y": "right.amount"}
    file = routed.join("file", dead, within="2 s", on="key", select=names, spread=2)
    file.filter("letters", "x > y").output()
    branches = dead.switch("samples", {"node": "key > 2"}, rest="port")
    branches["node"].filter("node", "amount > 0").output()
    branches["port"].filter("payload", "amount > 0").output()
    latest.filter("drover", "key = 1").output()
    return net.build()


@pytest.mark.parametrize("nodes", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_words_of_the_engine_are_names_like_any_other(spark: SparkSession, worlds: Worlds, nodes: int) -> None:
    network = engine_words()
    assert {source.name for source in network.sources} | {one.name for one in network.operators} == set(ENGINE_WORDS)
    world = worlds(network)
    batches = ordered_batches(network, 3, 40)
    world.add(batches)
    handle = world.drain(plan=round_robin(network, nodes))
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(world.output(stream), expected[stream])
    assert handle.batches[0]["rows"]["latest"] == 40
    assert handle.batches[0]["rowsIn"] == {"latest": 40, "dead": 40}
