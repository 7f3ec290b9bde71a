"""Many random networks of every kind, on random plans, cuts and moves, with state in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from numpy.random import Generator, default_rng
from pyspark.sql import SparkSession

from drover.network.functions import declaration_of, path_of
from drover.network.model import Network
from drover.network.operators import UserDefined
from drover_lab.generate import ChainParameters, DagParameters, TreeParameters, chains, dags, trees
from tests import user_functions
from tests.flow.harness import Harness
from tests.flow.oracle import assert_same_rows, expected_streams, merged, renamed
from tests.flow.stored import StoredHarness
from tests.flow.test_against_oracle import random_batches, random_plan

SOURCES = 3
TOGETHER = 10  # networks that one Spark job checks


def make_dag(rng: Generator) -> Network:
    return dags(rng, DagParameters(sources=SOURCES, operators=int(rng.integers(1, 12))))


def make_windows(rng: Generator) -> Network:
    wanted = DagParameters(sources=SOURCES, operators=int(rng.integers(2, 8)), aggregate=4, join=0.5, timeout=0.5)
    return dags(rng, wanted)


def make_joins(rng: Generator) -> Network:
    return dags(rng, DagParameters(sources=SOURCES, operators=int(rng.integers(2, 8)), join=5, aggregate=1))


def make_chain(rng: Generator) -> Network:
    shape = ChainParameters(chains=SOURCES, length=int(rng.integers(1, 5)), cost=0, selectivity=(0.3, 1.7))
    return chains(rng, shape)


def make_tree(rng: Generator) -> Network:
    return trees(rng, TreeParameters(streams=SOURCES, size=int(rng.integers(1, 6)), unit=0))


def make_user(rng: Generator) -> Network:
    """A graph with functions of users', with and without state, on some of its streams."""
    network = dags(rng, DagParameters(sources=SOURCES, operators=int(rng.integers(1, 6)), join=0.5, timeout=0.4))
    timed = [name for name, schema in network.streams.items() if schema.time is not None]
    added = []
    for number in range(int(rng.integers(1, 3))):
        function = (user_functions.rows_so_far, user_functions.nulls_per_row)[int(rng.integers(2))]
        says = declaration_of(function)
        added.append(
            UserDefined(
                name=f"user{number}",
                input=timed[int(rng.integers(len(timed)))],
                function=path_of(function),
                columns=says.columns,
                time=says.time,
                keeps_state=says.keeps_state,
                cost=says.cost,
                frame=says.frame,
            )
        )
    outputs = (*network.outputs, *(operator.name for operator in added))
    return Network(network.name, network.sources, (*network.operators, *added), outputs)


MAKERS: dict[str, Callable[[Generator], Network]] = {
    "dag": make_dag,
    "windows": make_windows,
    "joins": make_joins,
    "chain": make_chain,
    "tree": make_tree,
    "user": make_user,
}
GROUPS = [(kind, seed) for kind in MAKERS for seed in range(3)]


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        pytest.param(kind, seed, marks=[] if (kind, seed) == ("windows", 0) else pytest.mark.slow)
        for kind, seed in GROUPS
    ],
)
def test_networks_give_what_spark_gives(spark: SparkSession, tmp_path: Path, kind: str, seed: int) -> None:
    rng = default_rng([seed, *kind.encode()])
    networks = [MAKERS[kind](rng) for _ in range(TOGETHER)]
    whole = merged(networks)
    batches = random_batches(whole, rng)
    expected = expected_streams(spark, whole, dict(enumerate(batches)))
    assert sum(rows.height for rows in expected.values()) > 0
    sources = {source.name for source in whole.sources}
    for i, network in enumerate(networks):
        harness = Harness(network) if i % 3 == 0 else StoredHarness(network, tmp_path / str(i), rng)
        for number, batch in enumerate([*batches, {}]):  # the last, without rows, closes what the one before has shown
            harness.run(batch, random_plan(network, number, rng))
        assert harness.failures == []
        for stream in network.outputs:
            assert_same_rows(harness.output(stream), expected[renamed(stream, i, sources)])
