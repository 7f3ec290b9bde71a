"""Which columns and constants an operator of a parameterized query uses.

Rule 1: rows are copied once per member, so columns that no operator uses are removed before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drover.network.operators import Operator
from drover.network.operators.sharing import OutputNeeds
from drover.network.queries.kinds import sharing_of
from drover.network.queries.parameterized import ParameterizedQuery
from drover.network.rewrite import expressions_of
from drover.network.schema import Schema
from drover.network.types import DataType


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """The columns of each input that an operator's expressions name, and the constants, by number."""

    columns: tuple[frozenset[str], ...]
    constants: tuple[int, ...]


def columns_used(operator: Operator, schemas: tuple[Schema, ...], query: ParameterizedQuery) -> ColumnUse:
    """Return what the expressions of an operator name."""
    form = sharing_of(operator).form
    types = (with_constants(schemas[0], query), *(schema.types for schema in schemas[1:]))
    trees = [form.parse(text, types) for _, text in expressions_of(operator)]
    named = frozenset[tuple[str, str]]().union(*(tree.columns for tree in trees))
    parameters = {name for _, name in named if name.startswith(query.constant)}
    constants = tuple(sorted(int(name.removeprefix(query.constant)) for name in parameters))
    columns = tuple(
        frozenset(name for of, name in named if of == side) - parameters for side in form.sides_of(len(schemas))
    )
    return ColumnUse(columns, constants)


def with_constants(schema: Schema, query: ParameterizedQuery) -> dict[str, DataType]:
    """Return the types of a stream's columns and of the constants."""
    return {**schema.types, **{f"{query.constant}{index}": kind for index, kind in enumerate(query.types)}}


def input_columns(
    operator: Operator, use: ColumnUse, schemas: tuple[Schema, ...], needed: Mapping[str, frozenset[str]]
) -> tuple[frozenset[str], ...]:
    """Return which columns of each input an operator needs, given the columns of its outputs that are `needed`."""
    wanted = frozenset[str]().union(*(needed[stream] for stream in operator.outputs))
    sharing = sharing_of(operator)
    if sharing.columns is None:
        passed = (wanted,) * len(schemas)
    else:
        passed = sharing.columns(operator, OutputNeeds(wanted, schemas))
    return tuple(used | more for used, more in zip(use.columns, passed, strict=True))
