"""Families against plain Spark: queries of several shapes, from the first batch on, moving between nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from numpy.random import default_rng
from pyspark.sql import SparkSession

from drover.network.queries import examine_query, query_network
from drover.placement.plan import Plan
from tests.flow.families.family_harness import FamilyHarness
from tests.flow.families.queries import random_batches, random_network, random_query, varied
from tests.flow.oracle import assert_same_rows, expected_streams, merged, renamed

NODES = 3


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 4))])
def test_families_give_what_spark_gives(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = default_rng([seed, 99])
    network = random_network(rng)
    batches = random_batches(network, rng)
    harness = FamilyHarness(network, tmp_path, rng)
    for _ in range(4):
        query = random_query(rng, network, f"q{len(harness.members)}")
        harness.submit(query, 0)
        for _ in range(3):
            other = varied(rng, query, f"q{len(harness.members)}")
            if not examine_query(other, network):
                harness.submit(other, int(rng.integers(NODES)))
    plan = Plan(1, NODES, {operator.name: int(rng.integers(NODES)) for operator in network.operators})
    for batch in batches:
        for member in harness.members:
            member.node = int(rng.integers(NODES)) if rng.random() < 0.3 else member.node
        harness.run(batch, plan)
    whole = merged([query_network(member.query, network) for member in harness.members])
    sources = {source.name for source in whole.sources}
    expected = expected_streams(spark, whole, dict(enumerate(batches)))
    gave = 0
    for number, member in enumerate(harness.members):
        found = harness.gave(member)
        assert_same_rows(found, expected[renamed(member.query.output, number, sources)])
        gave += found.height
    assert gave > 0
