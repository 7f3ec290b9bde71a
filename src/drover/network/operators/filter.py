"""Filter: the rows for which a predicate is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault
from drover.network.files import codecs
from drover.network.files.field import INPUT, Field
from drover.network.operators.base import Derived, Operator, Table, columns_of, demand_boolean, parsed
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import QuerySharing
from drover.network.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(Operator):
    """Passes the rows for which the predicate `where` is true."""

    kind: ClassVar[str] = "filter"

    input: str
    where: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one stream it reads."""
        return (self.input,)

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those that its predicate uses or a reader wants."""
        return (wanted | columns_of([self.where], inputs[0]),)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the input's schema."""
        faults: list[Fault] = []
        demand_boolean(parsed(self.where, inputs[0].types, ("where",), faults), self.where, ("where",), faults)
        return Derived(inputs, tuple(faults))


FILTER: Final = OperatorKind(
    model=Filter,
    fields=(INPUT, Field("where", codecs.PREDICATE, "rows for which this is true pass", hides=False)),
    summary=lambda operator: operator.where,
    samples=(Filter(name="large", input="events", where="amount > 10"),),
    expressions=("where",),
    row_wise=True,
    sharing=QuerySharing(condition="where"),
)
