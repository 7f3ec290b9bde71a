"""What every operator is: a frozen description that knows its inputs, outputs, state and table.

Rule 1: an operator names streams; it never holds them. Rule 2: nothing here runs; `derive` only computes schemas.
Rule 3: the path of a fault is relative to the operator and uses the names of its fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from drover.errors import ExpressionError, Fault, nearest, shorten
from drover.network.columns import KeyPair
from drover.network.durations import Micros, format_duration
from drover.network.expressions import Expression, parse
from drover.network.schema import COLUMN_NAME, COLUMN_RULE, Column, Schema, known
from drover.network.types import BOOLEAN, DataType


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
    """The output schemas of an operator (None where a fault hides one), and the faults found."""

    schemas: tuple[Schema | None, ...]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator(ABC):
    """A named operator; `sticky` overrides the default of `is_sticky`.

    `was` is its name in an earlier form of the network: a checkpoint of that form has its state under that name.
    """

    kind: ClassVar[str]

    name: str
    sticky: bool | None = None
    # Not in `repr`, because the families of submitted queries are known by a digest of it.
    was: str | None = field(default=None, repr=False)

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Names of the streams it reads, in the order in which `derive` takes their schemas."""

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of its outputs, for a kind that has several: branch `b` of operator `o` is stream `o.b`."""
        return ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the streams it writes: one per branch, or the one of its own name."""
        return tuple(f"{self.name}.{branch}" for branch in self.branches) or (self.name,)

    def output_field(self, stream: str) -> tuple[str, ...]:
        """Return the path, within the operator, of the field that creates an output; empty: the operator as a whole."""
        return ()

    @property
    def holds_state(self) -> bool:
        """Whether its result for a row depends on earlier rows."""
        return False

    @property
    def passes_late_rows(self) -> bool:
        """Whether a late input row can make a late output row.

        A kind with state drops late rows, so that each of its results is above the watermark of the batch before.
        """
        return not self.holds_state

    @property
    def pair_windows(self) -> tuple[Micros, Micros] | None:
        """How long left and right rows wait for each other, for a kind that pairs the rows of two inputs.

        The load of such a kind grows with the product of its input rates. None: the load grows with their sum.
        """
        return None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The input columns by which it groups rows or finds them."""
        return ()

    @property
    def table(self) -> str | None:
        """Name of the table it reads or writes, if any."""
        return None

    @property
    def writes_table(self) -> bool:
        """Whether it writes its table; else it only reads it."""
        return False

    @property
    def calls_user_code(self) -> bool:
        """Whether it calls a function of the user, which may raise any exception."""
        return False

    @property
    def is_sticky(self) -> bool:
        """Whether it is expensive to move: it uses a table, or its state is expected to be large."""
        return self.sticky if self.sticky is not None else self.table is not None

    def without_tuning(self) -> Operator:
        """Return the operator without names of its own and without what changes neither results nor state."""
        return replace(self, name="", was=None, sticky=None)

    def columns_in_state(self, inputs: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return, for each input, the columns on which the saved state depends; by default all of them."""
        return inputs

    def columns_read(
        self, inputs: tuple[Schema, ...], wanted: frozenset[str], tables: Mapping[str, Table]
    ) -> tuple[frozenset[str], ...]:
        """Return the columns of each input from which it makes the `wanted` columns of its outputs; by default all.

        What a kind with state reads does not depend on `wanted`. Readers come and go, but its state keeps its columns.
        """
        return tuple(frozenset(schema.names) for schema in self.columns_in_state(inputs))

    def own_faults(self) -> Iterator[Fault]:
        """Yield what is wrong with its parameters, whatever its inputs are."""
        return iter(())

    @abstractmethod
    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the output schemas for input schemas, one per name in `inputs`, and the faults found."""


def columns_of(texts: Iterable[str], schema: Schema) -> frozenset[str]:
    """Return the columns of a stream that these expressions use."""
    return frozenset(name for text in texts for _, name in parse(text, schema.types).columns)


def expression_fault(field: tuple[str | int, ...], error: ExpressionError) -> Fault:
    """Return the fault for an expression in `field` that cannot be parsed."""
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


def key_type_faults(on: Iterable[KeyPair], left: Schema, right: Schema) -> Iterator[Fault]:
    """Yield a fault for each pair of key columns whose types differ; columns that do not exist are skipped."""
    for index, pair in enumerate(on):
        types = (left.types.get(pair.left), right.types.get(pair.right))
        if None not in types and types[0] != types[1]:
            found = f"{pair.left} {types[0]} = {pair.right} {types[1]}"
            way_out = "Cast one of them in a map before."
            yield Fault(("on", index), found, "keys have the same type on both sides", way_out)


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
