"""Outlines: a query with its constants lifted and its names made plain; equal outlines are one shape.

Rule 1: an outline is what travels and what is digested; all else about a shape follows from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

from drover.errors import NetworkError
from drover.network.check import examine
from drover.network.expressions import Aggregate as Call
from drover.network.expressions import Expression, Literal, parse, parse_aggregate, parse_pair
from drover.network.expressions.tree import LEFT
from drover.network.model import Network
from drover.network.operators import Aggregate, Join, Named, Operator, Switch
from drover.network.parts import Parts, Source
from drover.network.queries.lift import Lifter
from drover.network.queries.query import Query, examine_query, reading, rewritten, stand_ins
from drover.network.schema import Schema
from drover.network.types import DataType


@dataclass(frozen=True, slots=True)
class Read:
    """A stream of the running network that a query reads."""

    stream: str
    schema: Schema
    late: bool  # whether its rows may come after the watermark


@dataclass(frozen=True, slots=True)
class Outline:
    """A query without constants: its operators are called q0, q1, ... in topological order, branches b0, b1, ..."""

    reads: tuple[Read, ...]
    operators: tuple[Operator, ...]
    types: tuple[DataType, ...]  # of the constants
    output: str
    prefix: str  # of the names of columns that no column of the query begins with

    @property
    def digest(self) -> str:
        """A word that no other outline has."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:32]

    @property
    def constant(self) -> str:
        """What the names of the columns of constants begin with."""
        return f"{self.prefix}c"

    @property
    def member(self) -> str:
        """The name of the column of members."""
        return f"{self.prefix}member"


def outline_of(query: Query, network: Network, late: frozenset[str]) -> tuple[Outline, tuple[Literal, ...]]:
    """Return the outline of a query and its constants; NetworkError with all faults if it is not sound.

    `late` are the streams of the network whose rows may be late.
    """
    if faults := examine_query(query, network):
        raise NetworkError(faults)
    names = stand_ins(query)
    reads = tuple(Read(stream, network.streams[stream], stream in late) for stream in names)
    sources = tuple(Source(names[read.stream], read.schema.columns, read.schema.time) for read in reads)
    given = tuple(reading(operator, names) for operator in query.operators)
    examined = examine(Parts("query", sources, given, (query.output,)))
    streams = {name: schema for name, schema in examined.streams.items() if schema is not None}
    prefix = _prefix(streams)
    lifter = Lifter(f"{prefix}c")
    renamed = {name: stream for stream, name in names.items()}
    stem = "q"
    while any(stream.startswith(stem) for stream in query.reads):
        stem += "_"
    operators = []
    for index, operator in enumerate(examined.order):
        schemas = tuple(streams[stream] for stream in operator.inputs)
        lifted = _named(_lifted(operator, schemas, lifter), f"{stem}{index}")
        renamed |= zip(operator.outputs, lifted.outputs, strict=True)
        operators.append(reading(lifted, renamed))
    types = tuple(literal.type for literal in lifter.found)
    return Outline(reads, tuple(operators), types, renamed[query.output], prefix), tuple(lifter.found)


def _prefix(streams: Mapping[str, Schema]) -> str:
    prefix = "drover_"
    names = [name.lower() for name in chain.from_iterable(schema.names for schema in streams.values())]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _named(operator: Operator, name: str) -> Operator:
    """Return the operator under a name that says nothing, and so its branches."""
    if isinstance(operator, Switch):
        cases = tuple(Named(f"b{index}", case.expression) for index, case in enumerate(operator.cases))
        rest = None if operator.rest is None else f"b{len(cases)}"
        return replace(operator, name=name, sticky=None, cases=cases, rest=rest)
    return replace(operator, name=name, sticky=None)


def _lifted(operator: Operator, schemas: tuple[Schema, ...], lifter: Lifter) -> Operator:
    """Return the operator with the constants of its expressions lifted."""

    def with_constants(schema: Schema) -> dict[str, DataType]:
        lifted = {f"{lifter.prefix}{index}": literal.type for index, literal in enumerate(lifter.found)}
        return {**schema.types, **lifted}

    def row(text: str) -> Expression:
        return parse(text, with_constants(schemas[0]))

    def pair(text: str) -> Expression:
        return parse_pair(text, with_constants(schemas[0]), schemas[1].types)

    def call(text: str) -> Call:
        return parse_aggregate(text, with_constants(schemas[0]))

    if isinstance(operator, Aggregate):
        return rewritten(operator, lambda text: lifter.aggregate(text, call))
    if isinstance(operator, Join):
        full = replace(operator, select=operator.full_select(*schemas))
        return rewritten(full, lambda text: lifter.expression(text, pair, LEFT))
    return rewritten(operator, lambda text: lifter.expression(text, row))
