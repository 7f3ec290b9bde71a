"""The parts of a network, before they are checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from drover.errors import Fault
from drover.network.durations import Micros, format_duration
from drover.network.operators import Operator, Table
from drover.network.schema import Column, Schema, known, schema_faults


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that enters the network.

    `time` names the column with the event time (needed before any window); the source's watermark is the latest event
    time seen, less `lateness`.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None = None
    lateness: Micros = 0

    @property
    def schema(self) -> Schema:
        """Schema of its stream."""
        return Schema(self.columns, self.time)


@dataclass(frozen=True, slots=True)
class Parts:
    """The fields of a network, perhaps faulty."""

    name: str
    sources: tuple[Source, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[str, ...]
    tables: tuple[Table, ...] = ()


def source_faults(source: Source) -> Iterator[Fault]:
    """Yield the faults of a source on its own."""
    yield from schema_faults(source.schema)
    if source.lateness < 0:
        way_out = "Write for example 10 s."
        yield Fault(("lateness",), format_duration(source.lateness), "lateness is not negative", way_out)


def table_faults(table: Table) -> Iterator[Fault]:
    """Yield the faults of a table on its own."""
    yield from schema_faults(table.schema)
    if not table.key:
        yield Fault(("key",), "empty", "a table needs a key that identifies its rows", "Name its key columns.")
    for index, name in enumerate(table.key):
        if name not in table.schema.types:
            rule = "there is no such column"
            yield Fault(("key", index), repr(name), rule, f"Known: {known(table.schema.names)}.")
        elif name in table.key[:index]:
            yield Fault(("key", index), repr(name), "a key names each column once", "Leave it out here.")
