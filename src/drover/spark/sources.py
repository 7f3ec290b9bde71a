"""Sources: any streaming DataFrames, read once per micro-batch by one streaming query.

Rule 1: drover never wraps connectors; whatever `spark.readStream` gives is a source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from drover.errors import DroverError
from drover.network.model import Network
from drover.network.types import spark_type
from drover.spark.given import check_columns
from drover.spark.tasks import SOURCE, Shape


@dataclass(frozen=True, slots=True)
class Reading:
    """All sources as one DataFrame: `shapes` says in which of its columns each source has its own."""

    frame: DataFrame
    shapes: Mapping[str, Shape]


def read_sources(network: Network, frames: Mapping[str, DataFrame]) -> Reading:
    """Return the union of the sources' rows. Sources with the same columns share them, so that few are empty."""
    names = {source.name for source in network.sources}
    if set(frames) != names:
        raise DroverError(
            f"sources are {sorted(frames)}, but the network {network.name!r} has {sorted(names)}. "
            "Give one streaming DataFrame for each."
        )
    columns: dict[str, str] = {}  # of the union, with their types
    shapes: dict[str, Shape] = {}
    for source in network.sources:
        check_columns(f"source {source.name!r}", source.schema.types, frames[source.name])
        number = _number(source.schema.columns, network)
        shapes[source.name] = {name: f"{number} {name}" for name in source.schema.names}
        columns |= {f"{number} {name}": spark_type(kind) for name, kind in source.schema.types.items()}
    parts = []
    for number, source in enumerate(network.sources):
        own = {column: name for name, column in shapes[source.name].items()}
        chosen = [
            (F.col(f"`{own[column]}`") if column in own else F.lit(None).cast(kind)).alias(column)
            for column, kind in columns.items()
        ]
        parts.append(frames[source.name].select(F.lit(number).alias(SOURCE), *chosen))
    return Reading(reduce(DataFrame.unionByName, parts), shapes)


def _number(columns: object, network: Network) -> int:
    """Return the number of the first source with these columns."""
    return next(i for i, source in enumerate(network.sources) if source.schema.columns == columns)
