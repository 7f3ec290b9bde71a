"""What plain Spark gives for rows in batches; several networks at once, because a job costs more than its rows.

Rule 1: the oracle is `drover.reference` and nothing else; here it is only asked for many streams with one job.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import polars as pl
from polars.testing import assert_frame_equal
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

import drover
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.types import polars_type
from tests.flow.harness import Batch

# For a few hundred rows, compiling and planning a job takes longer than anything else.
SMALL_JOBS: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
STREAM: Final = "stream"
BATCH: Final = "drover batch"  # no column of a source has a space


def expected_streams(spark: SparkSession, network: Network, batches: Mapping[int, Batch]) -> dict[str, pl.DataFrame]:
    """Return what plain Spark gives for the rows of numbered batches; a number that is missing has no rows."""
    inputs = {}
    for source in network.sources:
        parts = [
            batch[source.name].with_columns(pl.lit(number, pl.Int32).alias(BATCH))
            for number, batch in batches.items()
            if source.name in batch
        ]
        schema = {name: polars_type(kind) for name, kind in source.schema.types.items()} | {BATCH: pl.Int32()}
        inputs[source.name] = spark.createDataFrame(pl.concat([pl.DataFrame(schema=schema), *parts]).to_arrow())
    with small_jobs(spark):
        return collect(drover.reference(network, inputs, batches=BATCH).streams, network.outputs)


@contextmanager
def small_jobs(spark: SparkSession) -> Iterator[None]:
    """Let Spark plan for few rows, for a while."""
    before = {key: spark.conf.get(key, None) for key in SMALL_JOBS}
    for key, value in SMALL_JOBS.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, was)


def collect(streams: Mapping[str, DataFrame], names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return several streams with one Spark job: columns of one type share a place, whatever their names."""
    places: dict[str, list[str]] = {}  # of each stream
    kinds: dict[str, str] = {}  # of each place
    for name in names:
        places[name] = []
        counts: dict[str, int] = {}
        for field in streams[name].schema.fields:
            kind = field.dataType.simpleString()
            counts[kind] = counts.get(kind, 0) + 1
            places[name].append(f"{kind} {counts[kind]}")
            kinds[places[name][-1]] = kind
    parts = []
    for i, name in enumerate(names):
        own = dict(zip(places[name], streams[name].columns, strict=True))
        chosen = [
            (F.col(f"`{own[place]}`") if place in own else F.lit(None).cast(kind)).alias(place)
            for place, kind in kinds.items()
        ]
        parts.append(streams[name].select(F.lit(i).alias(STREAM), *chosen))
    whole = pl.DataFrame(reduce(DataFrame.union, parts).toArrow())
    return {
        name: whole.filter(pl.col(STREAM) == i).select(
            pl.col(place).alias(column) for place, column in zip(places[name], streams[name].columns, strict=True)
        )
        for i, name in enumerate(names)
    }


def merged(networks: Sequence[Network]) -> Network:
    """Return networks that read the same sources as one; operators of network i are called `q<i>_<name>`."""
    sources = {source.name: source for network in networks for source in network.sources}
    assert all(sources[source.name] == source for network in networks for source in network.sources)
    operators = [_renamed(one, i, sources) for i, network in enumerate(networks) for one in network.operators]
    outputs = [renamed(stream, i, sources) for i, network in enumerate(networks) for stream in network.outputs]
    return Network("merged", tuple(sources.values()), tuple(operators), tuple(dict.fromkeys(outputs)))


def renamed(stream: str, i: int, sources: Collection[str]) -> str:
    """Return what a stream of network i is called in the merged one."""
    return stream if stream in sources else f"q{i}_{stream}"


def _renamed(operator: Operator, i: int, sources: Collection[str]) -> Operator:
    changed: dict[str, Any] = {"name": f"q{i}_{operator.name}"}  # Any: fields of every kind of operator
    for field in ("input", "left", "right"):
        if hasattr(operator, field):
            changed[field] = renamed(getattr(operator, field), i, sources)
    if hasattr(operator, "streams"):
        changed["streams"] = tuple(renamed(stream, i, sources) for stream in operator.streams)
    return replace(operator, **changed)


def assert_same_rows(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.schema == expected.schema
    assert_frame_equal(found, expected, check_row_order=False, rel_tol=1e-9, abs_tol=1e-12)
