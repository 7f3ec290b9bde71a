"""Random networks whose joins are spread, under changes of shape and moves, against plain Spark on the same rows."""

from __future__ import annotations

import pytest
from numpy.random import default_rng
from pyspark.sql import SparkSession

from drover_lab.generate import DagParameters, dags
from tests.flow.harness import Harness
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.flow.spreading import chaos, joins_of, spread_all
from tests.flow.test_against_oracle import random_batches


@pytest.mark.parametrize("seed", range(6))
def test_a_network_of_spread_joins_gives_what_spark_gives(spark: SparkSession, seed: int) -> None:
    rng = default_rng([seed, 9])
    parameters = DagParameters(sources=2, operators=7, join=6.0)
    network = next(one for one in iter(lambda: spread_all(dags(rng, parameters), rng), None) if joins_of(one))
    batches = random_batches(network, rng)
    harness = Harness(network)
    run = chaos(network, rng)
    for batch in [*batches, {}]:  # the last, without rows, closes what the one before has shown
        seen = len(harness.facts)
        harness.run(batch, run.step())
        run.retire_epochs(harness.facts[seen:])
    assert harness.failures == []
    expected = expected_streams(spark, network, dict(enumerate(batches)))
    for stream in network.outputs:
        assert_same_rows(harness.output(stream), expected[stream])
