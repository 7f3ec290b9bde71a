"""The oracle: any network as plain Spark batch DataFrames, operator by operator.

Rule 1: it uses the network's model and its expressions as Spark SQL, and nothing else of drover, so that whatever it
disagrees with is wrong. Rule 2: it is lazy, as DataFrames are; no job runs here but where `watermark` must be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Operator, Switch, TableWrite
from drover.network.parts import Source
from drover.spark.compile import ARRIVAL, COMPILERS, Scope, compile_switch, never_late, upserted
from drover.spark.given import Watermark, check_given, final_watermarks, passed_watermarks


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
    batches: str | None = None,
) -> Reference:
    """Return what `network` gives for `inputs`, one DataFrame per source, as Spark's append mode would.

    A window is in the result if the watermark has reached its end. `watermark` is where it stands after the last row:
    "seen" (per source the latest event time less its lateness, in whole milliseconds, as Spark measures it), "end"
    (past everything: all windows close), an instant for all sources, or one per source.
    `batches` names a column of the inputs (int, from 0) with the micro-batch in which each row arrived. Rows that came
    after their window had closed, or below the watermark of a join, are then left out as late; without it none is.
    `tables` has the initial rows of every table the network touches; a written table may be left out and starts empty.
    """
    given = dict(tables or {})
    check_given(network, inputs, given, batches)
    streams = {source.name: _enter(source, inputs[source.name], batches) for source in network.sources}
    final = final_watermarks(network, streams, watermark)
    passed = passed_watermarks(network, streams) if batches is not None else {source: [] for source in final}
    roots = network.roots()

    def watermark_of(operator: Operator) -> Micros:
        return min(final[name] for name in roots[operator.outputs[0]])

    def late(operator: Operator) -> list[Micros]:
        return [min(each) for each in zip(*(passed[name] for name in roots[operator.outputs[0]]), strict=True)]

    scope = Scope(network, streams, given, watermark_of, late)
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
    shown = {name: stream.drop(ARRIVAL) for name, stream in streams.items()}
    return Reference(MappingProxyType(shown), MappingProxyType(given | stored))


def _enter(source: Source, frame: DataFrame, batches: str | None) -> DataFrame:
    """Return the rows of a source that fit its schema (the event time is never NULL) and when they arrived."""
    arrival = never_late() if batches is None else F.col(f"`{batches}`").cast("int").alias(ARRIVAL)
    chosen = frame.select(*(f"`{name}`" for name in source.schema.names), arrival)
    return chosen if source.time is None else chosen.where(F.col(f"`{source.time}`").isNotNull())
