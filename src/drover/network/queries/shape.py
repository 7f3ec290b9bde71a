"""Shapes: what queries that differ in their constants alone have in common.

Rule 1: a shape says everything about its queries but their constants, the names of their operators, and who asked.
Rule 2: a shape is made of ordinary operators, each a network of its own, so that they are checked and run as all others
are. They read rows that carry besides their own columns that of the member (which query) and the constants they need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from drover.network.expressions import Call, Column, Expression, parse
from drover.network.expressions.tree import Value
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Join, Map, Named, Operator, Pair, Switch, Union
from drover.network.parts import Source
from drover.network.queries.needs import Looks, looks_at, taken_in, with_constants
from drover.network.queries.outline import Outline
from drover.network.queries.text import write
from drover.network.schema import Column as Field
from drover.network.schema import Schema
from drover.network.types import BIGINT, BOOLEAN, DATE, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType

# Types whose values are equal if and only if they are identical: of doubles, -0.0 equals 0.0 and NaN itself.
IDENTICAL: Final = frozenset({*INTEGERS, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ})


@dataclass(frozen=True, slots=True)
class Key:
    """A condition `expression = constant` of a filter, where equal means identical: rows can be looked up by it."""

    column: str  # the expression over the rows of the stream, as SQL; mostly a column
    expression: Expression
    constant: int  # its number among the constants of the shape


@dataclass(frozen=True, slots=True)
class Topic:
    """Rows of a stream with a value in a column; without a column, all of them. To herding, this is a source."""

    stream: str
    column: str | None = None
    value: Value = None


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a shape.

    `network` has the operator alone, with its inputs as sources in0, in1. `inputs` are, for each of these, the stream
    it stands for: one of the shape's `reads`, or what an earlier step makes. `constants` are the numbers of those it
    uses. A `plain` step is the same for all members and done once, on rows without member; where a step that is not
    plain reads plain rows, they are widened: once for each member. A filter that does has its condition in three: what
    is the same for all members (`common`), what rows can be looked up by (`keys`), and what remains (its own text).
    """

    operator: Operator
    network: Network
    inputs: tuple[str, ...]
    constants: tuple[int, ...]
    plain: bool
    widens: tuple[bool, ...]  # whether the rows of each input are plain and those of the step are not
    late: frozenset[str]  # sources of `network` with rows that may be late
    common: Expression | None = None
    keys: tuple[Key, ...] = ()
    rest: bool = True  # whether anything of the condition remains


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A query without its constants; two shapes are the same if and only if their `id` is."""

    id: str  # digest of the outline
    outline: Outline
    steps: tuple[Step, ...]  # in topological order
    schema: Schema  # of the output, without the member

    def __reduce__(self) -> tuple[object, tuple[Outline]]:
        """Pickle the outline; what follows from it is worked out again."""
        return (make_shape, (self.outline,))

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams of the running network that it reads."""
        return tuple(read.stream for read in self.outline.reads)

    @property
    def types(self) -> tuple[DataType, ...]:
        """Types of the constants."""
        return self.outline.types

    @property
    def member(self) -> str:
        """Name of the column of members, which no column of the query has."""
        return self.outline.member

    @property
    def output(self) -> str:
        """The stream that is given out."""
        return self.outline.output

    @property
    def table(self) -> str:
        """A word for the columns and types of the results: queries that agree in it give rows of one table."""
        return hashlib.sha256(repr(self.schema).encode()).hexdigest()[:16]

    def key_of(self, stream: str) -> Key | None:
        """Return by what to tell that a row of a read stream is of no use to a member; None if every row is of use."""
        readers = [step for step in self.steps if stream in step.inputs]
        found = {step.keys[0] if step.keys else None for step in readers}
        return found.pop() if len(found) == 1 else None

    def topics(self, constants: Sequence[Value]) -> tuple[Topic, ...]:
        """Return what a query with these constants has to receive, one topic per stream that it reads."""
        found = []
        for stream in self.reads:
            key = self.key_of(stream)
            found.append(Topic(stream) if key is None else Topic(stream, key.column, constants[key.constant]))
        return tuple(found)


def make_shape(outline: Outline) -> Shape:
    """Return the shape of an outline."""
    streams = _streams(outline)
    looks = [
        looks_at(operator, tuple(streams[stream] for stream in operator.inputs), outline)
        for operator in outline.operators
    ]
    needed = _needed(outline, streams, looks)
    plain = _plain(outline, looks)
    late = {read.stream for read in outline.reads if read.late}
    steps = []
    for operator in outline.operators:
        steps.append(_step(operator, streams, needed, outline, plain, late))
        if not operator.holds_state and any(stream in late for stream in operator.inputs):
            late.update(operator.outputs)
    return Shape(outline.digest, outline, tuple(steps), streams[outline.output])


def _streams(outline: Outline) -> dict[str, Schema]:
    """Return the schema of every stream, without member and constants."""
    constants = tuple(Field(f"{outline.constant}{index}", kind) for index, kind in enumerate(outline.types))
    streams = {read.stream: read.schema for read in outline.reads}
    for operator in outline.operators:
        first, *others = (streams[stream] for stream in operator.inputs)
        if not isinstance(operator, Union):
            first = Schema((*first.columns, *constants), first.time)
        derived = operator.derive((first, *others), {})
        assert not derived.faults, derived.faults
        for stream, schema in zip(operator.outputs, derived.schemas, strict=True):
            assert schema is not None
            own = tuple(column for column in schema.columns if column not in constants)
            streams[stream] = Schema(own, schema.time)
    return streams


def _needed(outline: Outline, streams: Mapping[str, Schema], looks: list[Looks]) -> dict[str, frozenset[str]]:
    """Return which columns of each stream anybody needs."""
    needed = dict.fromkeys(streams, frozenset[str]())
    needed[outline.output] = frozenset(streams[outline.output].names)
    for operator, look in zip(reversed(outline.operators), reversed(looks), strict=True):
        schemas = tuple(streams[stream] for stream in operator.inputs)
        for stream, wanted in zip(operator.inputs, taken_in(operator, look, schemas, needed), strict=True):
            # Rows are counted even where nobody looks into them: without a column there would be none.
            needed[stream] |= wanted or {streams[stream].names[0]}
    return needed


def _plain(outline: Outline, looks: list[Looks]) -> set[str]:
    """Return the streams that are the same for all members."""
    plain = {read.stream for read in outline.reads}
    for operator, look in zip(outline.operators, looks, strict=True):
        differs = operator.holds_state or look.constants or outline.output in operator.outputs
        if not differs and all(stream in plain for stream in operator.inputs):
            plain.update(operator.outputs)
    return plain


def _step(
    operator: Operator,
    streams: Mapping[str, Schema],
    needed: Mapping[str, frozenset[str]],
    outline: Outline,
    plain: set[str],
    late: set[str],
) -> Step:
    is_plain = all(stream in plain for stream in operator.outputs)
    widens = tuple(stream in plain and not is_plain for stream in operator.inputs)
    schemas = tuple(streams[stream] for stream in operator.inputs)
    names = [f"in{index}" for index in range(len(schemas))]
    here = _reading_in_order(operator, names)
    common: Expression | None = None
    keys: tuple[Key, ...] = ()
    rest = True
    if isinstance(here, Filter) and widens[0]:
        here, common, keys, rest = _split(here, schemas[0], outline)
    look = looks_at(here, schemas, outline)
    given = tuple(needed[stream] for stream in operator.inputs)
    inputs = tuple(map(_pruned, schemas, taken_in(here, look, schemas, needed), given))
    if not is_plain:
        here = _with_member(here, outline.member)
        member = Field(outline.member, BIGINT)
        lifted = tuple(Field(f"{outline.constant}{index}", outline.types[index]) for index in look.constants)
        extra = [(member, *lifted), *((member,) for _ in inputs[1:])]
        inputs = tuple(Schema((*one.columns, *more), one.time) for one, more in zip(inputs, extra, strict=True))
    sources = tuple(Source(name, one.columns, one.time) for name, one in zip(names, inputs, strict=True))
    network = Network("step", sources, (here,), here.outputs)
    may_be_late = frozenset(name for name, stream in zip(names, operator.inputs, strict=True) if stream in late)
    return Step(here, network, operator.inputs, look.constants, is_plain, widens, may_be_late, common, keys, rest)


def _pruned(schema: Schema, wanted: frozenset[str], given: frozenset[str]) -> Schema:
    """Return the columns that are wanted, at least one of those given; event time goes on if its column does."""
    columns = tuple(one for one in schema.columns if one.name in wanted)
    columns = columns or next((one,) for one in schema.columns if one.name in given)
    return Schema(columns, schema.time if any(one.name == schema.time for one in columns) else None)


def _reading_in_order(operator: Operator, names: list[str]) -> Operator:
    """Return the operator with its inputs under other names, one each, also where it reads a stream twice."""
    if isinstance(operator, Join):
        return replace(operator, left=names[0], right=names[1])
    if isinstance(operator, Union):
        return replace(operator, streams=tuple(names))
    assert isinstance(operator, Filter | Switch | Map | Aggregate)
    return replace(operator, input=names[0])


def _with_member(operator: Operator, member: str) -> Operator:
    """Return the operator such that rows of different members never meet, and every row of its output has its own."""
    match operator:
        case Map(extend=False):
            return replace(operator, select=(*operator.select, Named(member, f"`{member}`")))
        case Aggregate():
            return replace(operator, group_by=(*operator.group_by, member))
        case Join():
            select = (*operator.select, Named(member, f"left.`{member}`"))
            return replace(operator, on=(*operator.on, Pair(member, member)), select=select)
        case _:
            return operator


def _split(
    operator: Filter, schema: Schema, outline: Outline
) -> tuple[Filter, Expression | None, tuple[Key, ...], bool]:
    """Return a filter with what remains of its condition, and the other two thirds of it (see `Step`)."""
    common, keys, rest = list[Expression](), list[Key](), list[Expression]()
    for part in _conjuncts(parse(operator.where, with_constants(schema, outline))):
        key = _key(part, outline)
        if key is not None:
            keys.append(key)
        elif _uses_constants(part, outline):
            rest.append(part)
        else:
            common.append(part)
    same = None if not common else common[0] if len(common) == 1 else Call(BOOLEAN, "and", tuple(common))
    where = " AND ".join(write(part) for part in rest) or "TRUE"
    return replace(operator, where=where), same, tuple(keys), bool(rest)


def _conjuncts(tree: Expression) -> list[Expression]:
    """Return the conditions that must all be true."""
    if isinstance(tree, Call) and tree.function == "and":
        return [part for argument in tree.arguments for part in _conjuncts(argument)]
    return [tree]


def _uses_constants(tree: Expression, outline: Outline) -> bool:
    return any(name.startswith(outline.constant) for _, name in tree.columns)


def _key(part: Expression, outline: Outline) -> Key | None:
    """Return the key that a condition is, if it is one."""
    if not (isinstance(part, Call) and part.function == "=" and part.arguments[0].type in IDENTICAL):
        return None
    for constant, other in (part.arguments, part.arguments[::-1]):
        is_constant = isinstance(constant, Column) and constant.name.startswith(outline.constant)
        if is_constant and other.columns and not _uses_constants(other, outline):
            assert isinstance(constant, Column)
            return Key(write(other), other, int(constant.name.removeprefix(outline.constant)))
    return None
