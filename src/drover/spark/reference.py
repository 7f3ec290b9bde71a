"""The oracle: any network as plain Spark batch DataFrames, operator by operator.

Rule 1: it uses the network's model and its expressions as Spark SQL, and nothing else of drover, so that whatever it
disagrees with is wrong. Rule 2: it is lazy, as DataFrames are; no job runs here but where `watermark` must be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Switch, TableRead, TableWrite
from drover.network.parts import Source
from drover.spark.compile import COMPILERS, Scope, compile_switch, upserted

Watermark: TypeAlias = datetime | Mapping[str, datetime] | Literal["seen", "end"]

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
START: Final[Micros] = -(2**62)  # before and past every event time
END: Final[Micros] = 2**62
UTC_NAMES: Final = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a network gives: every stream, and every written table with its final rows."""

    streams: Mapping[str, DataFrame]
    tables: Mapping[str, DataFrame]


def reference(
    network: Network,
    inputs: Mapping[str, DataFrame],
    *,
    tables: Mapping[str, DataFrame] | None = None,
    watermark: Watermark = "seen",
) -> Reference:
    """Return what `network` gives for `inputs`, one DataFrame per source, as Spark's append mode would.

    A window is in the result if the watermark has reached its end. `watermark` is where it stands after the last row:
    "seen" (per source the latest event time less its lateness, in whole milliseconds, as Spark measures it), "end"
    (past everything: all windows close), an instant for all sources, or one per source. No row counts as late.
    `tables` has the initial rows of every table the network touches; a written table may be left out and starts empty.
    """
    given = dict(tables or {})
    _check_given(network, inputs, given)
    streams = {source.name: _enter(source, inputs[source.name]) for source in network.sources}
    reached = _watermarks(network, streams, watermark)
    roots = network.roots()
    scope = Scope(network, streams, given, lambda operator: min(reached[name] for name in roots[operator.outputs[0]]))
    writes: dict[str, list[tuple[str, DataFrame]]] = {}
    for operator in network.order:
        if isinstance(operator, Switch):
            streams |= compile_switch(operator, scope)
        elif isinstance(operator, TableWrite):
            time = network.streams[operator.input].time or ""
            writes.setdefault(operator.into, []).append((time, streams[operator.input]))
        else:
            streams[operator.name] = COMPILERS[operator.kind](operator, scope)
    stored = {
        table.name: upserted(table, given.get(table.name), writes[table.name])
        for table in network.tables
        if table.name in writes
    }
    return Reference(MappingProxyType(streams), MappingProxyType(given | stored))


def _enter(source: Source, frame: DataFrame) -> DataFrame:
    """Return the rows of a source that fit its schema: the event time is never NULL."""
    chosen = frame.select(*(f"`{name}`" for name in source.schema.names))
    return chosen if source.time is None else chosen.where(F.col(source.time).isNotNull())


def _watermarks(network: Network, streams: Mapping[str, DataFrame], watermark: Watermark) -> dict[str, Micros]:
    """Return the final watermark of each source, in microseconds since 1970."""
    names = [source.name for source in network.sources]
    if isinstance(watermark, datetime):
        return dict.fromkeys(names, _micros(watermark))
    if watermark == "end":
        return dict.fromkeys(names, END)
    if watermark == "seen":
        return {source.name: _seen(source, streams[source.name]) for source in network.sources}
    given: object = watermark  # whatever a caller without a type checker passes
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
    """Return the latest event time less the lateness; a source without rows holds everything back."""
    if source.time is None:
        return END
    latest = frame.agg(F.max(F.unix_micros(source.time))).collect()[0][0]
    return START if latest is None else (latest // 1000 - source.lateness // 1000) * 1000


def _check_given(network: Network, inputs: Mapping[str, DataFrame], tables: Mapping[str, DataFrame]) -> None:
    """Refuse inputs that are not the network's, or a network whose outcome no batch job can tell."""
    names = {source.name for source in network.sources}
    if set(inputs) != names:
        raise DroverError(
            f"inputs are {sorted(inputs)}, but the network {network.name!r} has the sources {sorted(names)}. "
            "Give one DataFrame for each."
        )
    written = {operator.into for operator in network.operators if isinstance(operator, TableWrite)}
    read = {operator.from_table for operator in network.operators if isinstance(operator, TableRead)}
    if both := sorted(written & read):
        raise DroverError(
            f"table {both[0]!r} is read and written by one network, so what is read depends on when rows arrive, "
            "which a batch job cannot tell. Check the two parts as networks of their own."
        )
    if missing := sorted(read - set(tables)):
        raise DroverError(f"table {missing[0]!r} has no rows given. Pass tables={{{missing[0]!r}: a DataFrame}}.")
    for source in network.sources:
        _check_columns(f"source {source.name!r}", source.schema.types, inputs[source.name])
    for table in network.tables:
        if table.name in tables:
            _check_columns(f"table {table.name!r}", table.schema.types, tables[table.name])


def _check_columns(what: str, types: Mapping[str, object], frame: DataFrame) -> None:
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone not in UTC_NAMES:
        raise DroverError(
            f"spark.sql.session.timeZone is {zone!r}, but drover reads timestamps in UTC. "
            "Set it: spark.conf.set('spark.sql.session.timeZone', 'UTC')."
        )
    found = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for name, kind in types.items():
        if found.get(name) != str(kind):
            raise DroverError(
                f"{what} has column {name} {kind}, but its DataFrame has {found.get(name, 'no such column')}. "
                "Cast or add the column before passing it."
            )
