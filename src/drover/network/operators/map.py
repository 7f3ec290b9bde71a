"""Map: new columns from old ones, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network import expressions
from drover.network.columns import Named
from drover.network.files import codecs
from drover.network.files.field import FALSE, INPUT, Field
from drover.network.operators.base import Derived, Operator, Table, columns_of, name_faults, parsed
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import OutputNeeds, QuerySharing
from drover.network.operators.words import computed
from drover.network.schema import Column, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Operator):
    """Computes `select` from each row; with `extend` the other input columns are kept in front.

    The output has event time if the input's time column is selected unchanged, under any name.
    """

    kind: ClassVar[str] = "map"

    input: str
    select: tuple[Named, ...]
    extend: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    def own_faults(self) -> Iterator[Fault]:
        """Yield faults of the column names it makes."""
        if not self.select:
            yield Fault(("select",), "empty", "a map makes at least one column", "Add a column: a name and SQL.")
        yield from name_faults((named.name for named in self.select), "select")

    def full_select(self, schema: Schema) -> tuple[Named, ...]:
        """Return every output column with its expression, including the columns that are kept."""
        return (*(Named(column.name, f"`{column.name}`") for column in self._kept(schema)), *self.select)

    def _kept(self, schema: Schema) -> tuple[Column, ...]:
        """Return the input columns that are kept unchanged."""
        made = {named.name.lower() for named in self.select}
        return tuple(column for column in schema.columns if self.extend and column.name.lower() not in made)

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those from which it makes columns that a reader wants."""
        (schema,) = inputs
        made = (named.expression for named in self.full_select(schema) if named.name in wanted)
        return (columns_of(made, schema),)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the selected columns with the types of their expressions."""
        (schema,) = inputs
        faults: list[Fault] = []
        columns = [*self._kept(schema)]
        time = next((column.name for column in columns if column.name == schema.time), None)
        for named in self.select:
            expression = parsed(named.expression, schema.types, ("select", named.name), faults)
            if expression is None:
                continue
            columns.append(Column(named.name, expression.type))
            # Compare the parsed tree, not the text: with a column named `true`, the text true still is the literal.
            if isinstance(expression, expressions.ColumnRef) and expression.name == schema.time:
                time = named.name if time is None or named.name == schema.time else time
        return Derived((None if faults else Schema(tuple(columns), time),), tuple(faults))


def _input_columns(operator: Map, needs: OutputNeeds) -> tuple[frozenset[str], ...]:
    made = {named.name.lower() for named in operator.select}
    return (frozenset(name for name in needs.columns if operator.extend and name.lower() not in made),)


def _with_member(operator: Map, member: str) -> Map:
    if operator.extend:
        return operator  # keeps the member as it keeps every other column
    return replace(operator, select=(*operator.select, Named(member, f"`{member}`")))


MAP: Final = OperatorKind(
    model=Map,
    fields=(
        INPUT,
        Field("select", codecs.SELECT, "the columns to make"),
        Field("extend", codecs.TRUTH, "whether to keep the other columns too", FALSE),
    ),
    summary=lambda operator: ("*, " if operator.extend else "") + computed(operator.select),
    samples=(
        Map(name="doubled", input="events", select=(Named("ts", "ts"), Named("twice", "amount * 2"))),
        Map(name="extended", input="events", select=(Named("twice", "amount * 2"),), extend=True),
    ),
    expressions=("select",),
    row_wise=True,
    sharing=QuerySharing(columns=_input_columns, with_member=_with_member),
)
