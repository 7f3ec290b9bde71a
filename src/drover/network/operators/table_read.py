"""Table read: rows extended by columns of a relational table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.columns import KeyPair
from drover.network.files import codecs
from drover.network.files.field import FALSE, INPUT, Field
from drover.network.operators.base import Derived, Operator, Table, key_type_faults, missing_column
from drover.network.operators.kind import OperatorKind
from drover.network.schema import Column, Schema, known


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead(Operator):
    """Adds `columns` of the table's row whose key equals the stream's columns in `on`.

    A row without a match goes on with NULLs, or is dropped with `drop_unmatched`.
    """

    kind: ClassVar[str] = "table_read"

    input: str
    from_table: str
    on: tuple[KeyPair, ...]  # column of the stream, column of the table
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

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the stream and of the table that must be equal."""
        return tuple(side for pair in self.on for side in (pair.left, pair.right))

    def own_faults(self) -> Iterator[Fault]:
        """Yield a fault if it adds nothing, or one column twice."""
        if not self.columns:
            yield Fault(("columns",), "empty", "a table read adds at least one column", "Name columns of the table.")
        for index, name in enumerate(self.columns):
            if name in self.columns[:index]:
                yield Fault(("columns", index), repr(name), "a table read adds each column once", "Leave it out here.")

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those by which it finds rows of the table, and those of the stream that a reader wants."""
        keys = frozenset(pair.left for pair in self.on)
        return (keys | (wanted & frozenset(inputs[0].names)),)

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
        yield from key_type_faults(self.on, schema, table.schema)


TABLE_READ: Final = OperatorKind(
    model=TableRead,
    fields=(
        INPUT,
        Field("from", codecs.TABLE, "the table", None, ("from_table",), table=True),
        Field("on", codecs.KEYS, "columns of the stream (= those of the table) that make the table's whole key"),
        Field("columns", codecs.COLUMN_NAMES, "columns of the table to add"),
        Field("drop_unmatched", codecs.TRUTH, "whether rows without a match are dropped", FALSE, hides=False),
    ),
    summary=lambda operator: (
        f"{', '.join(operator.columns)} from {operator.from_table} by {', '.join(map(str, operator.on))}"
    ),
    samples=(
        TableRead(name="with_name", input="events", from_table="names", on=(KeyPair("key", "id"),), columns=("name",)),
        TableRead(
            name="with_known_name",
            input="events",
            from_table="names",
            on=(KeyPair("key", "id"),),
            columns=("name",),
            drop_unmatched=True,
        ),
    ),
)
