"""Run files on Spark: makes the streaming DataFrames and sinks of a run, and starts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.flow.malformed_rows import EVIDENCE
from drover.network.parts import Source
from drover.network.schema import Column
from drover.network.types import spark_type
from drover.runs.formats import source_format
from drover.runs.model import Input, Output, Run, StartOptions
from drover.spark.csv_header import check_header
from drover.spark.failures import readable
from drover.spark.handle import Handle
from drover.spark.malformed import keeps_evidence, where_or_suspect, with_corrupt_records, with_evidence
from drover.spark.replay import replay
from drover.spark.run import run
from drover.spark.sinks import Several, Sink, sink_of
from drover.spark.sources import Given, streams

NO_OPTIONS: Final = StartOptions()


def start(
    spark: SparkSession,
    given: Run,
    *,
    once: bool = False,
    besides: Mapping[str, Sequence[Sink]] | None = None,
    options: StartOptions = NO_OPTIONS,
) -> Handle:
    """Start a run; with `once` it ends when all rows available now are processed.

    `besides` adds sinks.
    """
    if given.checkpoint is None:
        raise DroverError(
            "checkpoint is missing, but a run keeps its progress and state there. "
            "Add checkpoint: FOLDER to the file, or give --checkpoint."
        )
    extra = besides or {}
    sinks = {
        stream: [*map(sink_of, given.sinks.get(stream, ())), *extra.get(stream, ())] for stream in given.network.outputs
    }
    frames = _frames(spark, given)
    with readable(f"network {given.network.name!r}"):
        return run(
            given.network,
            frames,
            sinks,
            checkpoint=given.checkpoint,
            nodes=given.nodes,
            plan=given.plan,
            trigger=_trigger(given, once),
            on_failure=None if given.stop_on_failure else given.on_failure,
            hold_bytes=given.hold_bytes,
            resume=options.resume,
            without=options.without,
            stop_on_failure=given.stop_on_failure,
            tables={one.table: one.uri for one in given.tables},
            control=given.control,
            dead_letters=_one_sink(given.dead_letters),
            late=_one_sink(given.late),
            queries=[sink_of(output) for output in given.queries] or None,
            limits=given.limits,
            refine=given.refine,
            popularity=given.popularity,
            cluster=given.cluster,
            engine=given.engine,
            allow_changes=options.allow_changes,
            existing=options.existing,
        )


def _trigger(given: Run, once: bool) -> dict[str, bool | str] | None:
    """Return the arguments of Spark's own `trigger`; None for its default."""
    if once:
        return {"availableNow": True}
    return None if given.trigger is None else {"processingTime": f"{given.trigger} microseconds"}


def _one_sink(outputs: Sequence[Output]) -> Sink | None:
    return Several(tuple(map(sink_of, outputs))) if outputs else None


def _frames(spark: SparkSession, run: Run) -> dict[str, Given]:
    frames: dict[str, Given] = {}
    for source in run.network.sources:
        if run.sources[source.name].shares is None:
            frames |= _read(spark, source, run)
    return frames


def _read(spark: SparkSession, source: Source, run: Run) -> Mapping[str, Given]:
    """Return the DataFrame of an entry of `sources`, for its own source and for those that share its rows."""
    given = run.sources[source.name]
    sharing = [other for other in run.network.sources if run.sources[other.name].shares == source.name]
    columns = {column.name: column for one in (source, *sharing) for column in one.columns}
    names = list(columns)
    with readable(f"source {source.name!r}"):
        frame = _frame(spark, source, given, tuple(columns.values()))
        if given.by is None:
            return {source.name: frame}
        by = given.by if _is_column(given.by, names) else f"`{given.by.replace('`', '``')}`"
        return streams(frame, by, {one.name: run.sources[one.name].value for one in (source, *sharing)})


def _frame(spark: SparkSession, source: Source, given: Input, wanted: Sequence[Column]) -> DataFrame:
    if given.replay is None:
        return _shaped(_load(spark, spark.readStream, given, wanted), given, wanted)
    rows = _shaped(_load(spark, spark.read, given, wanted), given, wanted)
    again = partial(replay, spark, rows, time=given.time or source.time or "")
    return again(speed=given.speed) if given.speed is not None else again(batches=given.batches)


# Any: a reader of streams or of batches; both have the methods used here
def _load(spark: SparkSession, reader: Any, given: Input, wanted: Sequence[Column]) -> DataFrame:
    kind = str(given.read or given.replay)
    options = {option.name: option.value for option in given.options}
    ready = reader.format(kind).options(**options)
    # Spark's streams of files need a schema. Kafka and others have columns of their own.
    columns = given.columns or (wanted if source_format(kind).has_path else ())
    checked = bool(columns) and keeps_evidence(spark, kind, columns, options)
    if columns:
        check_header(kind, given.path, options, [column.name for column in columns])
        ready = with_corrupt_records(ready, _ddl(columns)) if checked else ready.schema(_ddl(columns))
    frame: DataFrame = ready.load() if given.path is None else ready.load(given.path)
    return with_evidence(frame, kind, columns, options) if checked else frame


def _ddl(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{column.name}` {spark_type(column.type)}" for column in columns)


def _shaped(frame: DataFrame, given: Input, wanted: Sequence[Column]) -> DataFrame:
    """Return the selected rows and columns, and a column for `by` if none of these has its value."""
    if given.where is not None:
        frame = where_or_suspect(given.where, frame)
    made = {named.name: named.expression for named in given.select}
    names = [column.name for column in wanted]
    columns = [F.expr(made.get(name, f"`{name}`")).alias(name) for name in names]
    if given.by is not None and not _is_column(given.by, names):
        columns.append(F.expr(given.by).alias(given.by))
    if EVIDENCE in frame.columns:
        columns.append(F.col(f"`{EVIDENCE}`"))
    return frame.select(*columns)


def _is_column(by: str, names: Sequence[str]) -> bool:
    """Return whether an expression names one of these columns; for Spark, upper and lower case are the same."""
    return by.lower() in {name.lower() for name in names}
