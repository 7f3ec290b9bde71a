"""Random networks on random plans, batch cuts and moves, against plain Spark on the same rows."""

from __future__ import annotations

import polars as pl
import pytest
from numpy.random import Generator, default_rng
from pyspark.sql import SparkSession

from drover.network.model import Network
from drover.network.operators import OPERATORS, Operator
from drover.network.samples import sample_network
from drover.placement.plan import Plan, units_of
from drover_lab.generate import DagParameters, dags, rows
from tests.flow.harness import Batch, Harness, cut_rows
from tests.flow.oracle import assert_same_rows, expected_streams

NETWORKS = 40


def random_plan(network: Network, number: int, rng: Generator) -> Plan:
    nodes = int(rng.integers(1, 7))
    return Plan(number, nodes, {unit: int(rng.integers(nodes)) for unit in units_of(network)})


def random_batches(network: Network, rng: Generator) -> list[Batch]:
    count = int(rng.integers(1, 6))
    drawn = rows(network, int(rng.integers(1, 120)), rng)
    if rng.random() < 0.5:  # some rows are late
        drawn = {name: delayed(frame, rng) for name, frame in drawn.items()}
    return cut_rows(
        drawn,
        lambda _, height: sorted(int(cut) for cut in rng.integers(0, height + 1, count - 1)),
        count,
    )


def delayed(frame: pl.DataFrame, rng: Generator) -> pl.DataFrame:
    """Return the rows with a fifth of the event times up to 8 s earlier."""
    back = rng.integers(0, 8_000_000, frame.height) * (rng.random(frame.height) < 0.2)
    return frame.with_columns(pl.col("ts") - pl.Series(back).cast(pl.Duration("us")))


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_a_network_gives_what_spark_gives(spark: SparkSession, seed: int) -> None:
    rng = default_rng(seed)
    network = dags(rng, DagParameters(sources=int(rng.integers(1, 4)), operators=int(rng.integers(1, 14))))
    batches = random_batches(network, rng)
    harness = Harness(network)
    for number, batch in enumerate([*batches, {}]):  # the last, without rows, closes what the one before has shown
        harness.run(batch, random_plan(network, number, rng))
    assert harness.failures == []
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(harness.output(stream), expected[stream])


WITHOUT_TABLES = [one for kind in OPERATORS.values() for one in kind.samples if one.table is None]


@pytest.mark.parametrize("operator", WITHOUT_TABLES, ids=lambda operator: f"{operator.kind} {operator.name}")
def test_a_sample_of_each_kind_gives_what_spark_gives(spark: SparkSession, operator: Operator) -> None:
    rng = default_rng(1)
    network = sample_network(operator)
    batches = random_batches(network, rng)
    harness = Harness(network)
    for number, batch in enumerate([*batches, {}]):
        harness.run(batch, random_plan(network, number, rng))
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(harness.output(stream), expected[stream])
