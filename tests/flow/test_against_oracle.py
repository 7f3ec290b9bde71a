"""Random networks on random plans, batch cuts and moves, against plain Spark on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import polars as pl
import pytest
from numpy.random import Generator, default_rng
from polars.testing import assert_frame_equal
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from drover.network.generate import DagParameters, dags, rows
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from tests.flow.harness import Batch, Harness, cut_rows

NETWORKS = 40


def random_plan(network: Network, number: int, rng: Generator) -> Plan:
    nodes = int(rng.integers(1, 7))
    return Plan(number, nodes, {unit: int(rng.integers(nodes)) for unit in units_of(network)})


def random_batches(network: Network, rng: Generator) -> list[Batch]:
    count = int(rng.integers(1, 6))
    drawn = rows(network, int(rng.integers(1, 120)), rng)
    if rng.random() < 0.5:  # some rows are late
        drawn = {name: _delayed(frame, rng) for name, frame in drawn.items()}
    return cut_rows(
        drawn,
        lambda _, height: sorted(int(cut) for cut in rng.integers(0, height + 1, count - 1)),
        count,
    )


def _delayed(frame: pl.DataFrame, rng: Generator) -> pl.DataFrame:
    """Return the rows with a fifth of the event times up to 8 s earlier."""
    back = rng.integers(0, 8_000_000, frame.height) * (rng.random(frame.height) < 0.2)
    return frame.with_columns(pl.col("ts") - pl.Series(back).cast(pl.Duration("us")))


def expected_streams(spark: SparkSession, network: Network, batches: list[Batch]) -> dict[str, pl.DataFrame]:
    """Return what plain Spark gives for the same rows in the same batches."""
    inputs = {}
    for source in network.sources:
        parts = [batch[source.name].with_columns(pl.lit(i, pl.Int32).alias("batch")) for i, batch in enumerate(batches)]
        inputs[source.name] = spark.createDataFrame(pl.concat(parts).to_arrow())
    return collect(drover.reference(network, inputs, batches="batch").streams, network.outputs)


def collect(streams: Mapping[str, DataFrame], names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return several streams with one Spark job: side by side, each in columns of its own."""
    parts = [
        streams[name].select(
            F.lit(i).alias("stream"), *(F.col(f"`{column}`").alias(f"{i} {column}") for column in streams[name].columns)
        )
        for i, name in enumerate(names)
    ]
    whole = pl.DataFrame(reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), parts).toArrow())
    return {
        name: whole.filter(pl.col("stream") == i).select(
            pl.col(f"{i} {column}").alias(column) for column in streams[name].columns
        )
        for i, name in enumerate(names)
    }


def assert_same_rows(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.schema == expected.schema
    assert_frame_equal(found, expected, check_row_order=False, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_a_network_gives_what_spark_gives(spark: SparkSession, seed: int) -> None:
    rng = default_rng(seed)
    network = dags(rng, DagParameters(sources=int(rng.integers(1, 4)), operators=int(rng.integers(1, 14))))
    batches = random_batches(network, rng)
    harness = Harness(network)
    for number, batch in enumerate([*batches, {}]):  # the last, without rows, closes what the one before has shown
        harness.run(batch, random_plan(network, number, rng))
    assert harness.failures == []
    expected = expected_streams(spark, network, batches)
    for stream in network.outputs:
        assert_same_rows(harness.output(stream), expected[stream])
