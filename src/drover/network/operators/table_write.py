"""Table write: the latest row per key, kept in a relational table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault, shorten
from drover.network.files import codecs
from drover.network.files.field import INPUT, Field
from drover.network.operators.base import Derived, Operator, Table, need_time
from drover.network.operators.kind import OperatorKind
from drover.network.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWrite(Operator):
    """Keeps in the table, per key, the stream's row with the latest event time (of equal ones the greatest row).

    The stream must have every column of the table, and the table must have the stream's event time. With it the
    result does not depend on the order in which rows arrive, nor on how often they are written.
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
        """None: its rows end in the table."""
        return ()

    @property
    def table(self) -> str | None:
        """The table it writes."""
        return self.into

    @property
    def writes_table(self) -> bool:
        """It does."""
        return True

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those that the table has."""
        return (frozenset(tables[self.into].schema.names),)

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


TABLE_WRITE: Final = OperatorKind(
    model=TableWrite,
    fields=(INPUT, Field("into", codecs.TABLE, "the table that keeps the latest row per key", table=True)),
    summary=lambda operator: f"into {operator.into}",
    samples=(TableWrite(name="keep", input="events", into="latest"),),
)
