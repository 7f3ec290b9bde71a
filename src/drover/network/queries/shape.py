"""Shapes: what queries that differ only in their constants have in common.

Rule 1: a shape says everything about its queries except their constants, the names of operators, and the tenant.
Rule 2: a shape has ordinary operators, each in a network of its own, so that they are checked and run like all others.
Their rows have two more kinds of columns: the member (which query), and the constants that the operator uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from drover.network.expressions import Call, ColumnRef, Expression, parse
from drover.network.model import Network
from drover.network.operators import OPERATORS, Operator
from drover.network.parts import Source
from drover.network.queries.column_use import ColumnUse, columns_used, input_columns, with_constants
from drover.network.queries.kinds import sharing_of
from drover.network.queries.parameterized import ParameterizedQuery
from drover.network.queries.sql_text import to_sql
from drover.network.rewrite import with_inputs
from drover.network.schema import Column as Field
from drover.network.schema import Schema
from drover.network.types import BIGINT, BOOLEAN, DATE, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType

# Types whose values are equal only if they are identical. Doubles are not: -0.0 equals 0.0.
IDENTICAL: Final = frozenset({*INTEGERS, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ})


@dataclass(frozen=True, slots=True)
class LookupKey:
    """A condition `expression = constant` of a filter on a type in IDENTICAL, so that rows can be looked up by it."""

    column: str  # the expression as SQL; usually a column
    expression: Expression
    constant: int  # its number among the constants of the shape


@dataclass(frozen=True, slots=True)
class ShapeStep:
    """One operator of a shape.

    `network` has only this operator, with its inputs as sources in0, in1. `inputs` are the streams behind these
    sources: one of the shape's `reads`, or the output of an earlier step. `constants` are the numbers of the constants
    that it uses.

    A step that `is_common` is the same for all members: it runs once, on rows without a member column. Where another
    step reads such rows, they fan out: each row is repeated for every member that needs it. The condition of a filter
    that fans out is split in three: what is the same for all members (`common`), what rows can be looked up by
    (`keys`), and what remains (its own `where`).
    """

    operator: Operator
    network: Network
    inputs: tuple[str, ...]
    constants: tuple[int, ...]
    is_common: bool
    fans_out: tuple[bool, ...]  # by input: whether its rows are common and those of the step are not
    late: frozenset[str]  # sources of `network` whose rows may be late
    common: Expression | None = None
    keys: tuple[LookupKey, ...] = ()
    rest: bool = True  # whether any part of the condition remains


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A query without its constants; two shapes are equal if and only if their ids are."""

    id: str  # digest of `query`
    query: ParameterizedQuery
    steps: tuple[ShapeStep, ...]  # in topological order
    schema: Schema  # of the output, without the member
    columns: Mapping[str, frozenset[str]]  # that it uses of each stream of the running network

    def __reduce__(self) -> tuple[object, tuple[ParameterizedQuery]]:
        """Pickle only the parameterized query; everything else is derived from it again."""
        return (make_shape, (self.query,))

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams of the running network that it reads."""
        return tuple(read.stream for read in self.query.reads)

    @property
    def types(self) -> tuple[DataType, ...]:
        """Types of the constants."""
        return self.query.types

    @property
    def member(self) -> str:
        """Name of the member column; no column of the query has it."""
        return self.query.member

    @property
    def output(self) -> str:
        """The stream of results."""
        return self.query.output

    @property
    def table(self) -> str:
        """A digest of the columns and types of the results: queries with the same digest write to one table."""
        return hashlib.sha256(repr(self.schema).encode()).hexdigest()[:16]

    def key_of(self, stream: str) -> LookupKey | None:
        """Return the key by which members select rows of a stream; None if some member reads every row."""
        readers = [step for step in self.steps if stream in step.inputs]
        found = {step.keys[0] if step.keys else None for step in readers}
        return found.pop() if len(found) == 1 else None


def make_shape(query: ParameterizedQuery) -> Shape:
    """Return the shape of a parameterized query."""
    streams = _streams(query)
    uses = [
        columns_used(operator, tuple(streams[stream] for stream in operator.inputs), query)
        for operator in query.operators
    ]
    needed = _needed(query, streams, uses)
    common = _common_streams(query, uses)
    late = {read.stream for read in query.reads if read.late}
    steps = []
    for operator in query.operators:
        steps.append(_step(operator, streams, needed, query, common, late))
        # Operators are in topological order, so lateness is known for all inputs of the next one.
        if operator.passes_late_rows and any(stream in late for stream in operator.inputs):
            late.update(operator.outputs)
    used = {read.stream: needed[read.stream] for read in query.reads}
    return Shape(query.digest, query, tuple(steps), streams[query.output], used)


def _streams(query: ParameterizedQuery) -> dict[str, Schema]:
    """Return the schema of every stream, without member and constants."""
    constants = tuple(Field(f"{query.constant}{index}", kind) for index, kind in enumerate(query.types))
    streams = {read.stream: read.schema for read in query.reads}
    for operator in query.operators:
        first, *others = (streams[stream] for stream in operator.inputs)
        # Without expressions, an operator uses no constants; a union would even refuse inputs that differ by them.
        if OPERATORS[operator.kind].expressions:
            first = Schema((*first.columns, *constants), first.time)
        derived = operator.derive((first, *others), {})
        assert not derived.faults, derived.faults
        for stream, schema in zip(operator.outputs, derived.schemas, strict=True):
            assert schema is not None
            own = tuple(column for column in schema.columns if column not in constants)
            streams[stream] = Schema(own, schema.time)
    return streams


def _needed(
    query: ParameterizedQuery, streams: Mapping[str, Schema], uses: list[ColumnUse]
) -> dict[str, frozenset[str]]:
    """Return the columns of each stream that any operator or the output needs."""
    needed = dict.fromkeys(streams, frozenset[str]())
    needed[query.output] = frozenset(streams[query.output].names)
    for operator, use in zip(reversed(query.operators), reversed(uses), strict=True):
        schemas = tuple(streams[stream] for stream in operator.inputs)
        for stream, wanted in zip(operator.inputs, input_columns(operator, use, schemas, needed), strict=True):
            # An operator may count rows without reading a column. A table without columns has no rows, so keep one.
            needed[stream] |= wanted or {streams[stream].names[0]}
    return needed


def _common_streams(query: ParameterizedQuery, uses: list[ColumnUse]) -> set[str]:
    """Return the streams that are the same for all members."""
    common = {read.stream for read in query.reads}
    for operator, use in zip(query.operators, uses, strict=True):
        # State is kept by member. The output needs the member column, so that results can be told apart.
        differs = operator.holds_state or use.constants or query.output in operator.outputs
        if not differs and all(stream in common for stream in operator.inputs):
            common.update(operator.outputs)
    return common


def _step(
    operator: Operator,
    streams: Mapping[str, Schema],
    needed: Mapping[str, frozenset[str]],
    query: ParameterizedQuery,
    common_streams: set[str],
    late: set[str],
) -> ShapeStep:
    is_common = all(stream in common_streams for stream in operator.outputs)
    fans_out = tuple(stream in common_streams and not is_common for stream in operator.inputs)
    schemas = tuple(streams[stream] for stream in operator.inputs)
    names = [f"in{index}" for index in range(len(schemas))]
    alone = with_inputs(operator, names)
    common: Expression | None = None
    keys: tuple[LookupKey, ...] = ()
    rest = True
    sharing = sharing_of(operator)
    if sharing.condition is not None and fans_out[0]:
        alone, common, keys, rest = _split(alone, sharing.condition, schemas[0], query)
    # After the split, the operator may use fewer constants and columns than its query does.
    use = columns_used(alone, schemas, query)
    given = tuple(needed[stream] for stream in operator.inputs)
    inputs = tuple(map(_pruned, schemas, input_columns(alone, use, schemas, needed), given))
    if not is_common:
        alone = alone if sharing.with_member is None else sharing.with_member(alone, query.member)
        member = Field(query.member, BIGINT)
        constants = tuple(Field(f"{query.constant}{index}", query.types[index]) for index in use.constants)
        # Expressions find constants on the first side, see `ExpressionForm`; so the other inputs need the member alone.
        extra = [(member, *constants), *((member,) for _ in inputs[1:])]
        inputs = tuple(Schema((*one.columns, *more), one.time) for one, more in zip(inputs, extra, strict=True))
    sources = tuple(Source(name, one.columns, one.time) for name, one in zip(names, inputs, strict=True))
    network = Network("step", sources, (alone,), alone.outputs)
    may_be_late = frozenset(name for name, stream in zip(names, operator.inputs, strict=True) if stream in late)
    return ShapeStep(
        alone, network, operator.inputs, use.constants, is_common, fans_out, may_be_late, common, keys, rest
    )


def _pruned(schema: Schema, needed: frozenset[str], present: frozenset[str]) -> Schema:
    """Return the needed columns, or one that is present if none is; event time stays if its column does."""
    columns = tuple(one for one in schema.columns if one.name in needed)
    columns = columns or next((one,) for one in schema.columns if one.name in present)
    return Schema(columns, schema.time if any(one.name == schema.time for one in columns) else None)


def _split(
    operator: Operator, condition: str, schema: Schema, query: ParameterizedQuery
) -> tuple[Operator, Expression | None, tuple[LookupKey, ...], bool]:
    """Split the condition of an operator in three (see `ShapeStep`): return it with the rest, and the others."""
    common = list[Expression]()
    keys = list[LookupKey]()
    rest = list[Expression]()
    for part in _conjuncts(parse(getattr(operator, condition), with_constants(schema, query))):
        key = _key(part, query)
        if key is not None:
            keys.append(key)
        elif _uses_constants(part, query):
            rest.append(part)
        else:
            common.append(part)
    same = None if not common else common[0] if len(common) == 1 else Call(BOOLEAN, "and", tuple(common))
    remaining: dict[str, Any] = {condition: " AND ".join(to_sql(part) for part in rest) or "TRUE"}  # Any: an attribute
    return replace(operator, **remaining), same, tuple(keys), bool(rest)


def _conjuncts(tree: Expression) -> list[Expression]:
    """Return the conditions that AND combines."""
    if isinstance(tree, Call) and tree.function == "and":
        return [part for argument in tree.arguments for part in _conjuncts(argument)]
    return [tree]


def _uses_constants(tree: Expression, query: ParameterizedQuery) -> bool:
    return any(name.startswith(query.constant) for _, name in tree.columns)


def _key(part: Expression, query: ParameterizedQuery) -> LookupKey | None:
    """Return a condition as a key, or None if it is not `expression = constant`."""
    if not (isinstance(part, Call) and part.function == "=" and part.arguments[0].type in IDENTICAL):
        return None
    for constant, other in (part.arguments, part.arguments[::-1]):
        is_constant = isinstance(constant, ColumnRef) and constant.name.startswith(query.constant)
        if is_constant and other.columns and not _uses_constants(other, query):
            assert isinstance(constant, ColumnRef)
            return LookupKey(to_sql(other), other, int(constant.name.removeprefix(query.constant)))
    return None
