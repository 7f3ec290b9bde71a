"""Parameterized queries: constants are parameters and names are numbered, so that equal ones are one shape.

Rule 1: a parameterized query is what is sent to workers and what gives a shape its id. The rest of a shape follows
from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain
from typing import Final

from drover.errors import NetworkError
from drover.network.expressions import AggregateCall, Expression, Literal
from drover.network.model import Network
from drover.network.operators import Operator
from drover.network.queries.kinds import sharing_of
from drover.network.queries.parameterize import Parameterizer
from drover.network.queries.query import Query, derive_query, rename_inputs, source_names
from drover.network.rewrite import with_expressions
from drover.network.schema import Schema
from drover.network.types import DataType

# Checkpoints name state and member tables by the id of a shape. The id is the digest of the text that Python printed
# when classes had these names; with any other text, a run would not find the state of its queries again.
STORED_NAMES: Final[Mapping[str, str]] = {"ParameterizedQuery": "Outline", "StreamRead": "Read", "KeyPair": "Pair"}


@dataclass(frozen=True, slots=True)
class StreamRead:
    """A stream of the running network that a query reads."""

    stream: str
    schema: Schema
    late: bool  # whether its rows may come after the watermark


@dataclass(frozen=True, slots=True)
class ParameterizedQuery:
    """A query without constants. Its operators are named q0, q1, ... in topological order, branches b0, b1, ..."""

    reads: tuple[StreamRead, ...]
    operators: tuple[Operator, ...]
    types: tuple[DataType, ...]  # of the constants
    output: str
    prefix: str  # of added columns; no column of the query starts with it

    @property
    def digest(self) -> str:
        """The id of the shape: different for different queries, and the same in every release."""
        return hashlib.sha256(_stored_text(self).encode()).hexdigest()[:32]

    @property
    def constant(self) -> str:
        """The prefix of the columns of constants."""
        return f"{self.prefix}c"

    @property
    def member(self) -> str:
        """The name of the member column."""
        return f"{self.prefix}member"


def _stored_text(value: object) -> str:
    if is_dataclass(value):
        name = type(value).__name__
        shown = [f"{field.name}={_stored_text(getattr(value, field.name))}" for field in fields(value) if field.repr]
        return f"{STORED_NAMES.get(name, name)}({', '.join(shown)})"
    if isinstance(value, tuple):
        items = [_stored_text(item) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)


def parameterize_query(
    query: Query, network: Network, late: frozenset[str]
) -> tuple[ParameterizedQuery, tuple[Literal, ...]]:
    """Replace the constants of a query by parameters, and return them; NetworkError with all faults it has.

    `late` are the streams of the network whose rows may be late.
    """
    examined = derive_query(query, network)
    if examined.faults:
        raise NetworkError(examined.faults)
    names = source_names(query)
    reads = tuple(StreamRead(stream, network.streams[stream], stream in late) for stream in names)
    streams = {name: schema for name, schema in examined.streams.items() if schema is not None}
    prefix = _prefix(streams)
    parameters = Parameterizer(f"{prefix}c")
    renamed = {name: stream for stream, name in names.items()}
    # Names of operators must not matter, so they become q0, q1, ..., unless the query reads such a stream.
    stem = "q"
    while any(stream.startswith(stem) for stream in query.reads):
        stem += "_"
    operators = []
    for index, operator in enumerate(examined.order):
        schemas = tuple(streams[stream] for stream in operator.inputs)
        changed = _renamed(_parameterized(operator, schemas, parameters), f"{stem}{index}")
        renamed |= zip(operator.outputs, changed.outputs, strict=True)
        operators.append(rename_inputs(changed, renamed))
    constants = tuple(parameters.constants)
    types = tuple(literal.type for literal in constants)
    return ParameterizedQuery(reads, tuple(operators), types, renamed[query.output], prefix), constants


def _prefix(streams: Mapping[str, Schema]) -> str:
    prefix = "drover_"
    names = [name.lower() for name in chain.from_iterable(schema.names for schema in streams.values())]
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _renamed(operator: Operator, name: str) -> Operator:
    """Return the operator under another name, with numbered branches."""
    numbered = sharing_of(operator).with_numbered_branches
    return replace(operator if numbered is None else numbered(operator), name=name, sticky=None, was=None)


def _parameterized(operator: Operator, schemas: tuple[Schema, ...], parameters: Parameterizer) -> Operator:
    """Return the operator with the constants of its expressions replaced by parameters."""
    sharing = sharing_of(operator)

    def read(text: str) -> Expression | AggregateCall:
        constants = {f"{parameters.prefix}{index}": literal.type for index, literal in enumerate(parameters.constants)}
        first, *others = (schema.types for schema in schemas)
        return sharing.form.parse(text, ({**first, **constants}, *others))

    full = operator if sharing.with_defaults is None else sharing.with_defaults(operator, schemas)
    return with_expressions(full, lambda text: parameters.rewrite(text, read, sharing.form.sides[0]))
