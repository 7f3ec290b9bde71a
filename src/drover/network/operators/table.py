"""Table read and table write: rows enriched from, and kept in, a relational table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from drover.errors import Fault, shorten
from drover.network.operators.base import Derived, Operator, Table, missing_column, need_time
from drover.network.operators.join import Pair
from drover.network.schema import Column, Schema, known


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead(Operator):
    """Adds `columns` of the table's row whose key equals the stream's columns in `on`.

    A row without a match goes on with NULLs, or is dropped with `drop_unmatched`.
    """

    kind: ClassVar[str] = "table_read"

    input: str
    from_table: str
    on: tuple[Pair, ...]  # column of the stream, column of the table
    columns: tuple[str, ...]
    drop_unmatched: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def table(self) -> str | None:
        """The table it reads."""
        return self.from_table

    def own_faults(self) -> Iterator[Fault]:
        """Yield a fault if it adds nothing, or one column twice."""
        if not self.columns:
            yield Fault(("columns",), "empty", "a table read adds at least one column", "Name columns of the table.")
        for index, name in enumerate(self.columns):
            if name in self.columns[:index]:
                yield Fault(("columns", index), repr(name), "a table read adds each column once", "Leave it out here.")

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the input's columns and, behind them, those of the table."""
        (schema,) = inputs
        table = tables[self.from_table]
        faults = [*self._key_faults(schema, table)]
        taken = {other.lower() for other in schema.names}
        for index, name in enumerate(self.columns):
            if name not in table.schema.types:
                faults.append(missing_column(name, table.schema, ("columns", index)))
            elif name.lower() in taken:
                rule = "the stream already has a column of that name"
                faults.append(Fault(("columns", index), repr(name), rule, "Rename the stream's in a map before."))
        added = tuple(Column(name, table.schema.types[name]) for name in self.columns if name in table.schema.types)
        return Derived((None if faults else Schema(schema.columns + added, schema.time),), tuple(faults))

    def _key_faults(self, schema: Schema, table: Table) -> Iterator[Fault]:
        if sorted(pair.right for pair in self.on) != sorted(table.key):
            rule = f"a table is read by its whole key ({known(table.key)}), so that a row meets at most one"
            named = known(pair.right for pair in self.on)
            yield Fault(("on",), named, rule, "Name a stream column for each key column.")
        for index, pair in enumerate(self.on):
            if pair.left not in schema.types:
                yield missing_column(pair.left, schema, ("on", index))
            elif pair.right in table.schema.types and schema.types[pair.left] != table.schema.types[pair.right]:
                found = f"{pair.left} {schema.types[pair.left]} = {pair.right} {table.schema.types[pair.right]}"
                yield Fault(("on", index), found, "keys have the same type on both sides", "Cast in a map before.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWrite(Operator):
    """Keeps in the table, per key, the stream's row with the latest event time (of equal ones the greatest row).

    The stream must have every column of the table; the table must have the stream's event time, because that is what
    makes the outcome the same in whatever order and how often rows arrive.
    """

    kind: ClassVar[str] = "table_write"

    input: str
    into: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """None: the table is where its rows end."""
        return ()

    @property
    def table(self) -> str | None:
        """The table it writes."""
        return self.into

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return nothing but faults."""
        (schema,) = inputs
        table = tables[self.into]
        faults = list(need_time(self.input, schema, ("input",)))
        for name, kind in table.schema.types.items():
            if schema.types.get(name) != kind:
                found = shorten(f"{self.input} ({schema})")
                rule = f"table {self.into!r} has column {name} {kind} and the stream does not"
                faults.append(Fault(("input",), found, rule, "Make the column in a map before."))
        if schema.time is not None and schema.time not in table.schema.types:
            rule = f"the table must keep the stream's event time, column {schema.time!r}, to know the latest row"
            faults.append(Fault(("into",), repr(self.into), rule, "Add the column to the table."))
        return Derived((), tuple(faults))
