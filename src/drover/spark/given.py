"""Inputs of the reference: checks them against the network, and computes their watermarks.

Rule 1: input that does not fit is refused by name before any job runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError, nearest
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.parts import Source
from drover.spark.oracle.scope import ARRIVAL

Watermark: TypeAlias = datetime | Mapping[str, datetime] | Literal["seen", "end"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
START: Final[Micros] = -(2**62)  # before and past every event time
END: Final[Micros] = 2**62
UTC_NAMES: Final = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


def final_watermarks(network: Network, streams: Mapping[str, DataFrame], watermark: Watermark) -> dict[str, Micros]:
    """Return the final watermark of each source, in microseconds since 1970."""
    names = [source.name for source in network.sources]
    if isinstance(watermark, datetime):
        return dict.fromkeys(names, _micros(watermark))
    if watermark == "end":
        return dict.fromkeys(names, END)
    if watermark == "seen":
        return {source.name: _seen(source, streams[source.name]) for source in network.sources}
    given: object = watermark  # a caller without a type checker may pass anything
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise DroverError(
            f"watermark is {watermark!r}, but must be 'seen', 'end', a datetime, or one datetime for each of the "
            f"sources {', '.join(names)}. Give one of these."
        )
    return {name: _micros(watermark[name]) for name in names}


def _micros(instant: datetime) -> Micros:
    if instant.tzinfo is None:
        raise DroverError(
            f"watermark is {instant.isoformat()}, but must have a time zone. Add tzinfo=UTC if it means that."
        )
    return (instant - EPOCH) // timedelta(microseconds=1)


def _seen(source: Source, frame: DataFrame) -> Micros:
    """Return the latest event time less the lateness; a source without rows holds all windows open."""
    if source.time is None:
        return END
    latest = frame.agg(F.max(F.unix_micros(f"`{source.time}`"))).collect()[0][0]
    return START if latest is None else _watermark(source, latest)


def _watermark(source: Source, latest: Micros) -> Micros:
    """Return the watermark for a latest event time; Spark counts whole milliseconds."""
    return (latest // 1000 - source.lateness // 1000) * 1000


def passed_watermarks(network: Network, streams: Mapping[str, DataFrame]) -> dict[str, list[Micros]]:
    """Return, per source and batch, the watermark at which rows of that batch are late.

    As in Spark, a batch closes windows by the event times of earlier batches, and its rows are late by the watermark of
    the batch before. A number that no row has is a batch without rows.
    """
    shown: dict[str, dict[int, Micros]] = {}
    for source in network.sources:
        latest = F.max(F.unix_micros(f"`{source.time}`")) if source.time is not None else F.lit(END)
        rows = streams[source.name].groupBy(f"`{ARRIVAL}`").agg(latest.alias("latest")).collect()
        shown[source.name] = {row[0]: _watermark(source, row[1]) for row in rows}
    count = 1 + max((batch for batches in shown.values() for batch in batches), default=0)
    return {
        source.name: [START, START, *accumulate((shown[source.name].get(b, START) for b in range(count)), max)][:count]
        if source.time is not None
        else [END] * count
        for source in network.sources
    }


def check_given(
    network: Network, inputs: Mapping[str, DataFrame], tables: Mapping[str, DataFrame], batches: str | None
) -> None:
    """Refuse inputs that do not fit the network, and a network whose result a batch job cannot compute."""
    names = {source.name for source in network.sources}
    if set(inputs) != names:
        raise DroverError(
            f"inputs are {sorted(inputs)}, but the network {network.name!r} has the sources {sorted(names)}. "
            "Give one DataFrame for each."
        )
    users = [(operator.table, operator.writes_table) for operator in network.operators]
    written = {table for table, writes in users if table is not None and writes}
    read = {table for table, writes in users if table is not None and not writes}
    if both := sorted(written & read):
        raise DroverError(
            f"table {both[0]!r} is read and written by one network, so what is read depends on when rows arrive, "
            "which a batch job does not know. Check reading and writing in two networks."
        )
    if missing := sorted(read - set(tables)):
        raise DroverError(f"table {missing[0]!r} has no rows given. Pass tables={{{missing[0]!r}: a DataFrame}}.")
    for source in network.sources:
        arrival = {} if batches is None else {batches: "int"}
        check_columns(f"source {source.name!r}", {**source.schema.types, **arrival}, inputs[source.name])
    for table in network.tables:
        if table.name in tables:
            check_columns(f"table {table.name!r}", table.schema.types, tables[table.name])


def check_columns(what: str, types: Mapping[str, object], frame: DataFrame) -> None:
    """Refuse a DataFrame that lacks a column, has it with another type, or reads timestamps in another zone."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone not in UTC_NAMES:
        raise DroverError(
            f"spark.sql.session.timeZone is {zone!r}, but drover reads timestamps in UTC. "
            "Set it: spark.conf.set('spark.sql.session.timeZone', 'UTC')."
        )
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for name, kind in types.items():
        if name not in found:
            raise DroverError(
                f"{what} has column {name} {kind}, but its DataFrame has no such column. {nearest(name, found)}"
                f"It has {', '.join(found) or 'none'}. Rename or add one with withColumnRenamed or withColumn."
            )
        if found[name] != str(kind):
            raise DroverError(
                f"{what} has column {name} {kind}, but its DataFrame has {found[name]}. Cast it: "
                f"frame.withColumn({name!r}, frame[{name!r}].cast({str(kind)!r})). Or declare it as {found[name]} in "
                "the network."
            )
