"""Run files on Spark: from what a file says to streaming DataFrames, sinks and a running network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.network.parts import Source
from drover.network.schema import Column
from drover.network.types import spark_type
from drover.runs.model import CONSOLE, FILES, Input, Output, Run
from drover.spark.failures import readable
from drover.spark.handle import Handle
from drover.spark.replay import replay
from drover.spark.run import run
from drover.spark.sinks import Console, Files, Several, Sink


def start(
    spark: SparkSession, given: Run, *, once: bool = False, besides: Mapping[str, Sequence[Sink]] | None = None
) -> Handle:
    """Start what a run file says; `once` ends it when all rows there are now are through, `besides` adds sinks."""
    if given.checkpoint is None:
        raise DroverError(
            "checkpoint is missing, but a run keeps its progress and state there. "
            "Add checkpoint: FOLDER to the file, or give --checkpoint."
        )
    extra = besides or {}
    sinks = {
        stream: [*map(_sink, given.sinks.get(stream, ())), *extra.get(stream, ())] for stream in given.network.outputs
    }
    trigger: dict[str, bool | str] | None = {"availableNow": True} if once else None
    if trigger is None and given.trigger is not None:
        trigger = {"processingTime": f"{given.trigger} microseconds"}
    letters = [_sink(output) for output in given.dead_letters]
    frames = {source.name: _frame(spark, source, given.sources[source.name]) for source in given.network.sources}
    with readable(f"network {given.network.name!r}"):
        return run(
            given.network, frames, sinks, checkpoint=given.checkpoint, nodes=given.nodes, plan=given.plan,
            trigger=trigger, stop_on_failure=given.stop_on_failure,
            dead_letters=Several(tuple(letters)) if letters else None,
        )  # fmt: skip


def _sink(output: Output) -> Sink:
    return Console() if output.write == CONSOLE else Files(output.path or "", output.write)


def _frame(spark: SparkSession, source: Source, given: Input) -> DataFrame:
    with readable(f"source {source.name!r}"):
        if given.replay is None:
            return _shaped(_load(spark.readStream.format(str(given.read)), source, given), source, given)
        rows = _shaped(_load(spark.read.format(given.replay), source, given), source, given)
        again = partial(replay, spark, rows, time=given.time or source.time or "")
        return again(speed=given.speed) if given.speed is not None else again(batches=given.batches)


def _load(reader: Any, source: Source, given: Input) -> DataFrame:  # Any: of streams or of batches, alike in all we use
    ready = reader.options(**{option.name: option.value for option in given.options})
    columns = given.columns or (source.columns if (given.read or given.replay) in FILES else ())
    if columns:
        ready = ready.schema(_ddl(columns))
    frame: DataFrame = ready.load() if given.path is None else ready.load(given.path)
    return frame


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{column.name}` {spark_type(column.type)}" for column in columns)


def _shaped(frame: DataFrame, source: Source, given: Input) -> DataFrame:
    """Return the source's columns of the rows that are wanted."""
    if given.where is not None:
        frame = frame.where(given.where)
    made = {named.name: named.expression for named in given.select}
    return frame.select(*(F.expr(made.get(name, f"`{name}`")).alias(name) for name in source.schema.names))
