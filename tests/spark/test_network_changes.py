"""A checkpoint on Spark that continues with another form of its network."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

import drover
from drover.errors import DroverError
from drover.network.model import Network
from drover.spark.handle import Handle
from drover.spark.sinks import Files, Sink
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark.runs import World, ordered_batches

COLUMNS = {"ts": "timestamp", "key": "int", "amount": "bigint"}


def network(where: str = "key > 1", size: str = "4 s", pairs: str = "pairs", was: str | None = None) -> Network:
    net = drover.Builder("changing")
    a, b = (net.source(source, COLUMNS, time="ts") for source in "ab")
    a.filter("some", where).output()
    a.aggregate("sums", {"n": "count(*)"}, size=size, group_by="key").output()
    a.aggregate("steady", {"n": "count(*)", "total": "sum(amount)"}, size="6 s", advance="2 s").output()
    select = {"x": "left.amount", "y": "right.amount"}
    a.join(pairs, b, within="2 s", on="key", select=select, spread="2", was=was).output()
    return net.build()


BEFORE = network()
AFTER = network(where="key > 2", size="8 s", pairs="couples", was="pairs")
BATCHES = ordered_batches(BEFORE, 6, 25, seed=3)


class Broken:
    """A sink that takes no rows."""

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        raise ValueError(f"no room for {rows.height} rows of batch {batch} in {spark.version}")


def sinks_of(world: World, given: Network) -> dict[str, Sink]:
    return {stream: Files(str(world.folder / "out" / stream)) for stream in given.outputs}


@pytest.mark.slow
def test_unchanged_operators_go_on_and_changed_ones_begin(spark: SparkSession, tmp_path: Path) -> None:
    world = World(spark, BEFORE, tmp_path)
    world.add(BATCHES[:2])
    world.drain()
    world.add(BATCHES[2:3])
    # A batch that fails after another sink has its rows: only the network that began it may finish it.
    with pytest.raises(DroverError, match="no room"):
        world.drain(sinks={**sinks_of(world, BEFORE), "sums": Broken(), "steady": Broken()})
    with pytest.raises(DroverError, match=r"Batch \d+ was begun by the network as it was"):
        world.drain(AFTER, allow_changes=True)
    world.drain()
    changed = world.committed()
    world.add(BATCHES[3:5])
    with pytest.raises(DroverError, match=r"operators.sums: starts anew(.|\n)*allow_changes=\['sums'\]"):
        world.drain(AFTER)
    assert world.committed() == changed
    moved = moved_to(world.drain(AFTER, allow_changes="sums"))
    world.add(BATCHES[5:])
    assert moved_to(world.drain(AFTER)) == moved  # nothing changes any more, and the plan has the new names
    check_results(world, changed)


def moved_to(handle: Handle) -> dict[str, int]:
    return {unit: node for unit, node in handle.plan.places.items() if unit.startswith("couples")}


def check_results(world: World, changed: int) -> None:
    whole = expected_streams(world.spark, BEFORE, dict(enumerate(BATCHES)))
    since = expected_streams(world.spark, AFTER, dict(enumerate(BATCHES[3:])))
    assert_same_rows(world.output("steady"), whole["steady"])
    pairs = pl.concat([world.output("pairs"), world.output("couples", AFTER)])
    assert_same_rows(pairs, whole["pairs"])
    assert_same_rows(written_after(world, "sums", changed), since["sums"])
    assert_same_rows(written_after(world, "some", changed), since["some"])


def written_after(world: World, stream: str, batch: int) -> pl.DataFrame:
    files = sorted((world.folder / "out" / stream).glob("*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files if int(file.stem) > batch])
