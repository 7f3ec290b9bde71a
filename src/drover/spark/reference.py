"""The reference result of a network: plain Spark batch DataFrames, operator by operator.

Rule 1: it uses the network's model and its expressions as Spark SQL, and nothing else of drover. If the engine
disagrees with it, the engine is wrong. Rule 2: it is lazy, like all DataFrames; a job runs only to measure a watermark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.durations import Micros
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.parts import Source
from drover.spark.given import Watermark, check_given, final_watermarks, passed_watermarks
from drover.spark.oracle import ORACLES
from drover.spark.oracle.scope import ARRIVAL, Scope, never_late
from drover.spark.oracle.table_write import upserted


@dataclass(frozen=True, slots=True)
class Reference:
    """The result of a network: every stream, and the final rows of every written table."""

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
    """Return the result of `network` for `inputs`, one DataFrame per source, as Spark's append mode would compute it.

    A window is in the result if the watermark has reached its end. `watermark` is its value after the last row:
    "seen" (per source the latest event time less its lateness, in whole milliseconds, as Spark measures it), "end"
    (past everything: all windows close), an instant for all sources, or one per source.
    `batches` names a column of the inputs (int, from 0) with the micro-batch in which each row arrived. Rows that came
    after their window had closed, or below the watermark of a join, are then dropped as late; without it, no row is
    late.
    `tables` has the initial rows of every table of the network; a table that is only written may be left out, and
    starts empty.
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
    for operator in network.order:
        streams |= ORACLES[operator.kind](operator, scope)
    stored = {
        table.name: upserted(table, given.get(table.name), scope.writes[table.name])
        for table in network.tables
        if table.name in scope.writes
    }
    shown = {name: stream.drop(ARRIVAL) for name, stream in streams.items()}
    return Reference(MappingProxyType(shown), MappingProxyType(given | stored))


def _enter(source: Source, frame: DataFrame, batches: str | None) -> DataFrame:
    """Return the rows of a source that fit its schema (the event time is never NULL) and when they arrived."""
    arrival = never_late() if batches is None else F.col(f"`{batches}`").cast("int").alias(ARRIVAL)
    chosen = frame.select(*(f"`{name}`" for name in source.schema.names), arrival)
    return chosen if source.time is None else chosen.where(F.col(f"`{source.time}`").isNotNull())
