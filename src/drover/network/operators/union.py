"""Union: several streams of one schema as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.errors import Fault, shorten
from drover.network.files import codecs
from drover.network.files.field import Field
from drover.network.operators.base import Derived, Operator, Table
from drover.network.operators.kind import OperatorKind
from drover.network.operators.sharing import QuerySharing
from drover.network.schema import Schema, known


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Operator):
    """Passes the rows of all inputs; columns are matched by name and ordered as in the first input."""

    kind: ClassVar[str] = "union"

    streams: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The streams it merges."""
        return self.streams

    def own_faults(self) -> Iterator[Fault]:
        """Yield a fault for fewer than two inputs or one named twice (its rows would count double)."""
        if len(self.streams) < 2:
            way_out = "Name a second stream, or leave the union out."
            found = known(self.streams)
            yield Fault(("inputs",), found, "a union merges at least two", way_out)
        for name in sorted(name for name, count in Counter(self.streams).items() if count > 1):
            rule = "a union reads each stream once"
            yield Fault(("inputs",), repr(name), rule, "Name it once, or put a map between to say that you mean it.")

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return those that a reader wants, of every input."""
        return (wanted,) * len(inputs)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the first input's schema; all others must have the same columns, types and event time."""
        first = inputs[0]
        faults = [
            Fault(
                ("inputs", index),
                shorten(f"{self.streams[index]} ({schema})"),
                f"all inputs of a union have the columns of the first, {self.streams[0]} ({first})",
                "Put a map before it that selects the same names and types.",
            )
            for index, schema in enumerate(inputs)
            if dict(schema.types) != dict(first.types) or schema.time != first.time
        ]
        return Derived((first,), tuple(faults))


UNION: Final = OperatorKind(
    model=Union,
    fields=(
        Field("inputs", codecs.STREAMS, "two or more streams with the same columns", None, ("streams",), reads=True),
    ),
    summary=lambda operator: ", ".join(operator.streams),
    samples=(Union(name="both", streams=("events", "more_events")),),
    sharing=QuerySharing(),
)
