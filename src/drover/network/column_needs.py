"""Which columns of each stream are needed, and by which operators.

Rule 1: a stream has at least one needed column: rows without columns could not be counted.
Rule 2: what is needed follows from the network, from the queries that read its streams, and from operators that must
get whole rows. It never depends on where operators run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from drover.network.model import Network
from drover.network.schema import Schema

Columns = frozenset[str]
NO_QUERIES: Final[Mapping[str, Columns]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ColumnNeeds:
    """The columns that anybody needs of each stream, and that each operator needs of each of its inputs."""

    streams: Mapping[str, Columns]
    inputs: Mapping[str, tuple[Columns, ...]]  # by operator

    def read_by(self, operator: str, inputs: tuple[str, ...], stream: str) -> Columns:
        """Return the columns of a stream that an operator needs; `inputs` names the streams that it reads."""
        both = zip(inputs, self.inputs[operator], strict=True)
        return frozenset[str]().union(*(columns for name, columns in both if name == stream))


def needed_columns(
    network: Network, queries: Mapping[str, Columns] = NO_QUERIES, whole: Collection[str] = ()
) -> ColumnNeeds:
    """Return the columns that are needed.

    `queries` has the columns of streams that submitted queries need. The operators in `whole` get whole rows.
    """
    tables = {table.name: table for table in network.tables}
    streams = {name: queries.get(name, frozenset()) for name in network.streams}
    streams |= {name: frozenset(network.streams[name].names) for name in network.outputs}
    inputs: dict[str, tuple[Columns, ...]] = {}
    for operator in reversed(network.order):
        schemas = tuple(network.streams[stream] for stream in operator.inputs)
        if operator.name in whole:
            read = tuple(frozenset(schema.names) for schema in schemas)
        else:
            wanted = (at_least_one(streams[stream], network.streams[stream]) for stream in operator.outputs)
            read = operator.columns_read(schemas, frozenset[str]().union(*wanted), tables)
        inputs[operator.name] = tuple(map(at_least_one, read, schemas))
        for stream, columns in zip(operator.inputs, inputs[operator.name], strict=True):
            streams[stream] |= columns
    return ColumnNeeds({name: at_least_one(found, network.streams[name]) for name, found in streams.items()}, inputs)


def at_least_one(columns: Columns, schema: Schema) -> Columns:
    """Return these columns; if there are none, the event time or else the first column."""
    return columns or frozenset((schema.time or schema.names[0],))
