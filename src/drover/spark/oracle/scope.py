"""What the oracle of every kind works with: streams as DataFrames, watermarks, and when a row arrived.

Rule 1: an oracle says what its kind means in Spark's own terms, independently of the data plane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.network.durations import Micros
from drover.network.expressions import parse, to_spark
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.schema import Schema

# In which micro-batch a row arrived. No column has a space in its name, and a dot would break applyInArrow.
ARRIVAL: Final = "drover batch"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an oracle may look at: the network, its streams so far, the given tables, and each operator's watermarks.

    Every stream has the column ARRIVAL beside its own. It is NULL for rows that cannot be late: results of windows and
    joins.
    """

    network: Network
    streams: Mapping[str, DataFrame]
    tables: Mapping[str, DataFrame]
    watermark: Callable[[Operator], Micros]  # after the last row, in microseconds since 1970
    late: Callable[[Operator], Sequence[Micros]]  # per batch: the watermark at which its rows are late
    writes: dict[str, list[tuple[str, DataFrame]]] = field(default_factory=dict)  # by table: event-time column, rows

    def schema(self, stream: str) -> Schema:
        """Return the schema of a stream."""
        return self.network.streams[stream]

    def closed(self, operator: Operator) -> Column:
        """Return the watermark at which a row of its batch is late, in microseconds; NULL for rows that cannot be."""
        batches = F.array(*(F.lit(micros).cast("bigint") for micros in self.late(operator)))
        return F.try_element_at(batches, F.col(f"`{ARRIVAL}`") + 1)


def on_time(rows: DataFrame, micros: Column, closed: Column) -> DataFrame:
    """Return the rows whose `micros` is above the watermark `closed` that held when they arrived."""
    return rows.where(F.coalesce(micros > closed, F.lit(True)))


def never_late() -> Column:
    """Return the ARRIVAL of rows that cannot be late."""
    return F.lit(None).cast("int").alias(ARRIVAL)


def scalar(text: str, schema: Schema) -> Column:
    """Return a SQL expression over the columns of `schema` as a Spark column."""
    return F.expr(to_spark(parse(text, schema.types)))
