"""Networks on the real driver: files in, rows out, restarts in between."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from numpy.random import default_rng
from pyspark.sql import DataFrame, SparkSession

import drover
from drover.control.engine_choice import DEFAULT_ENGINE, EngineChoice
from drover.flow.state.commits import latest
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.network.types import polars_type, spark_type
from drover.spark.handle import Handle
from drover.spark.run import run
from drover.spark.sinks import Files
from drover_lab.generate import rows
from tests import user_functions
from tests.flow.harness import Batch

# A test with this mark and the fixture `worlds` runs once on each engine. Nodes that stay have to start first.
both_engines = pytest.mark.parametrize(
    "engine", [EngineChoice.SHUFFLE, pytest.param(EngineChoice.RESIDENT, marks=pytest.mark.slow)], indirect=True
)
COLUMNS = {"ts": "timestamp", "key": "int", "tag": "string", "amount": "bigint", "price": "double"}


def chaos_network(name: str = "chaos") -> Network:
    """A union, overlapping windows, a join and a function with state on two sources."""
    net = drover.Builder(name)
    a, b = (net.source(source, COLUMNS, time="ts", lateness="1 s") for source in ("a", "b"))
    both = a.union("both", b)
    compute = {"n": "count(*)", "total": "sum(amount)", "high": "max(price)"}
    both.filter("some", "key <> 3").aggregate("windows", compute, size="5 s", advance="2 s", group_by="key").output()
    a.join("pairs", b, within=("2 s", "1 s"), on="key", select={"x": "left.amount", "y": "right.amount"}).output()
    both.apply("seen", user_functions.rows_so_far).output()
    return net.build()


def ordered_batches(network: Network, count: int, length: int, seed: int = 0) -> list[Batch]:
    """Return rows of which none is late, however they are cut."""
    drawn = rows(network, count * length, default_rng(seed))
    return [{name: frame.slice(i * length, length) for name, frame in drawn.items()} for i in range(count)]


@dataclass(slots=True)
class World:
    """A folder with the files of each source, the outputs and the checkpoint."""

    spark: SparkSession
    network: Network
    folder: Path
    engine: str = str(DEFAULT_ENGINE)
    files: int = 0
    handles: list[Handle] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def add(self, batches: Iterable[Batch]) -> None:
        """Put a file per batch and source where the sources look."""
        for batch in batches:
            write_files(self.folder, batch, self.files)
            self.files += 1

    def start(self, network: Network | None = None, **options: Any) -> Handle:  # Any: the options of `run`
        chosen = network or self.network
        usual = {
            "trigger": {"availableNow": True},
            "nodes": 2,
            "checkpoint": str(self.checkpoint),
            "engine": self.engine,
        }
        options = {**usual, **options}
        sinks: dict[str, Any] = options.pop("sinks", None) or {
            stream: Files(str(self.folder / "out" / stream)) for stream in chosen.outputs
        }
        handle = run(chosen, sources_of(self.spark, chosen, self.folder), sinks, **options)
        self.handles.append(handle)
        return handle

    def drain(self, network: Network | None = None, **options: Any) -> Handle:
        """Run until all files are read."""
        handle = self.start(network, **options)
        assert handle.awaitTermination(120)
        return handle

    def committed(self) -> int:
        """The last batch of the checkpoint."""
        fs, path = open_root(str(self.checkpoint))
        return latest(fs, path).batch

    def output(self, stream: str, network: Network | None = None) -> pl.DataFrame:
        return read_output(self.folder, network or self.network, stream)

    def close(self) -> None:
        for handle in self.handles:
            handle.stop()


def write_files(folder: Path, batch: Batch, number: int) -> None:
    for source, frame in batch.items():
        (folder / "in" / source).mkdir(parents=True, exist_ok=True)
        path = folder / "in" / source / f"{number:05}.parquet"
        aside = path.with_name(f"_{path.name}")  # Spark does not read names that begin so
        frame.write_parquet(aside)
        os.utime(aside, (number, number))  # Spark reads files in order of their age, in whole seconds
        aside.replace(path)


def sources_of(spark: SparkSession, network: Network, folder: Path) -> Mapping[str, DataFrame]:
    found = {}
    for source in network.sources:
        where = folder / "in" / source.name
        where.mkdir(parents=True, exist_ok=True)
        schema = ", ".join(f"`{name}` {spark_type(kind)}" for name, kind in source.schema.types.items())
        found[source.name] = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(where))
    return found


def read_output(folder: Path, network: Network, stream: str) -> pl.DataFrame:
    schema = {name: polars_type(kind) for name, kind in network.streams[stream].types.items()}
    parts = [pl.read_parquet(path) for path in sorted((folder / "out" / stream).glob("*.parquet"))]
    return pl.concat([pl.DataFrame(schema=schema), *parts])
