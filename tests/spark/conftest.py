"""What the tests of the driver share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from drover.control.engine_choice import DEFAULT_ENGINE
from drover.network.model import Network
from tests.flow.harness import Batch
from tests.flow.oracle import expected_streams
from tests.spark.runs import World, chaos_network, ordered_batches

Worlds = Callable[[Network], World]


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """What computes the batches of a test's worlds; `both_engines` gives it values."""
    return str(getattr(request, "param", DEFAULT_ENGINE))


@pytest.fixture
def worlds(spark: SparkSession, tmp_path: Path, engine: str) -> Iterator[Worlds]:
    """Makes folders with files, outputs and a checkpoint; ends what runs on them."""
    made: list[World] = []

    def make(network: Network) -> World:
        made.append(World(spark, network, tmp_path / str(len(made)), engine))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture(scope="session")
def ordered() -> list[Batch]:
    """Batches for the chaos network, without late rows."""
    return ordered_batches(chaos_network(), 6, 15)


@pytest.fixture(scope="session")
def expected(spark: SparkSession, ordered: list[Batch]) -> dict[str, pl.DataFrame]:
    """What Spark gives for them."""
    return expected_streams(spark, chaos_network(), dict(enumerate(ordered)))
