"""What every operator is: a frozen description that knows its inputs, outputs, state and table.

Rule 1: an operator names streams, it never holds them. Rule 2: nothing here runs; `derive` only works out schemas.
Rule 3: faults have paths relative to the operator, named after its fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from drover.errors import ExpressionError, Fault, nearest, shorten
from drover.network.durations import Micros, format_duration
from drover.network.expressions import Expression, parse
from drover.network.schema import COLUMN_NAME, COLUMN_RULE, Column, Schema, known
from drover.network.types import BOOLEAN, DataType


@dataclass(frozen=True, slots=True)
class Named:
    """An output column and the SQL expression that computes it."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Table:
    """A relational table that operators read or write; `key` identifies a row."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        """The table's columns as a schema without event time."""
        return Schema(self.columns)


@dataclass(frozen=True, slots=True)
class Derived:
    """What an operator makes of its inputs: one schema per output (None where a fault hides it), and the faults."""

    schemas: tuple[Schema | None, ...]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(ABC):
    """A named operator; `sticky` overrides the default of `is_sticky`."""

    kind: ClassVar[str]

    name: str
    sticky: bool | None = None

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Names of the streams it reads, in the order `derive` takes their schemas."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the streams it writes: its own name, unless it is a switch or an end."""
        return (self.name,)

    @property
    def holds_state(self) -> bool:
        """Whether what it does with a row depends on earlier rows."""
        return False

    @property
    def table(self) -> str | None:
        """Name of the table it touches, if any."""
        return None

    @property
    def is_sticky(self) -> bool:
        """Whether it is expensive to move: a table hangs on it, or its state is expected to be large."""
        return self.sticky if self.sticky is not None else self.table is not None

    def own_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with its parameters, whatever its inputs are."""
        return iter(())

    @abstractmethod
    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the output schemas for input schemas, one per name in `inputs`, and the faults found."""


def expression_fault(field: tuple[str | int, ...], error: ExpressionError) -> Fault:
    """Return the fault that `error` is when its text stands in `field`."""
    return Fault(field, shorten(error.found), error.rule, error.way_out)


def parsed(
    text: str, types: Mapping[str, DataType], field: tuple[str | int, ...], faults: list[Fault]
) -> Expression | None:
    """Return the scalar expression in `text`, or None with the reason added to `faults`."""
    try:
        return parse(text, types)
    except ExpressionError as error:
        faults.append(expression_fault(field, error))
        return None


def demand_boolean(expression: Expression | None, text: str, field: tuple[str | int, ...], faults: list[Fault]) -> None:
    """Add a fault unless `expression` (None if it could not be parsed) is a predicate."""
    if expression is not None and expression.type != BOOLEAN:
        rule = f"a predicate must be boolean and this is {expression.type}"
        faults.append(Fault(field, shorten(text), rule, "Compare it with something, for example x > 0."))


def missing_column(name: str, schema: Schema, field: tuple[str | int, ...]) -> Fault:
    """Return the fault of naming a column that `schema` does not have."""
    hint = nearest(name, schema.names)
    return Fault(field, repr(name), "there is no such column", f"{hint}Known: {known(schema.names)}.")


def need_time(stream: str, schema: Schema, field: tuple[str | int, ...]) -> Iterator[Fault]:
    """Yield a fault if rows of the stream carry no event time."""
    if schema.time is None:
        rule = "windows need a stream with event time, and this one has none"
        yield Fault(field, repr(stream), rule, "Set `time` at its source, and keep that column in every map before.")


def name_faults(names: Iterable[str], field: str, taken: Iterable[str] = ()) -> Iterator[Fault]:
    """Yield a fault for each output column name that is malformed, repeated or `taken`; case does not count."""
    seen = {name.lower() for name in taken}
    for name in names:
        if not COLUMN_NAME.fullmatch(name):
            yield Fault((field, name), repr(name), COLUMN_RULE, "Rename the column.")
        if name.lower() in seen:
            rule = "the output already has a column of that name"
            yield Fault((field, name), repr(name), rule, "Rename one of the two; upper and lower case do not count.")
        seen.add(name.lower())


def span_fault(field: str, value: Micros, rule: str, way_out: str) -> Fault:
    """Return the fault of a length of time that breaks `rule`."""
    return Fault((field,), format_duration(value), rule, way_out)
