"""Which columns and constants an operator of a parameterized query uses.

Rule 1: rows are copied once per member, so columns that no operator uses are removed before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drover.network.expressions import Expression, parse, parse_aggregate, parse_pair
from drover.network.expressions.tree import LEFT, ONLY, RIGHT
from drover.network.operators import Aggregate, Filter, Join, Map, Operator, Switch, Union
from drover.network.queries.parameterized import ParameterizedQuery
from drover.network.schema import Schema
from drover.network.types import DataType


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """The columns of each input that an operator's expressions name, and the constants, by number."""

    columns: tuple[frozenset[str], ...]
    constants: tuple[int, ...]


def columns_used(operator: Operator, schemas: tuple[Schema, ...], query: ParameterizedQuery) -> ColumnUse:
    """Return what the expressions of an operator name."""
    named = frozenset[tuple[str, str]]().union(*(tree.columns for tree in parsed_expressions(operator, schemas, query)))
    sides = (LEFT, RIGHT) if isinstance(operator, Join) else (ONLY,) * len(schemas)
    parameters = {name for _, name in named if name.startswith(query.constant)}
    constants = tuple(sorted(int(name.removeprefix(query.constant)) for name in parameters))
    columns = tuple(frozenset(name for of, name in named if of == side) - parameters for side in sides)
    return ColumnUse(columns, constants)


def parsed_expressions(operator: Operator, schemas: tuple[Schema, ...], query: ParameterizedQuery) -> list[Expression]:
    """Return the expressions of an operator, parsed."""
    first = with_constants(schemas[0], query)
    match operator:
        case Filter():
            return [parse(operator.where, first)]
        case Switch():
            return [parse(named.expression, first) for named in operator.cases]
        case Map():
            return [parse(named.expression, first) for named in operator.select]
        case Aggregate():
            calls = [parse_aggregate(named.expression, first) for named in operator.compute]
            return [call.argument for call in calls if call.argument is not None]
        case Join():
            texts = [*(named.expression for named in operator.select), *([operator.where] if operator.where else [])]
            return [parse_pair(text, first, schemas[1].types) for text in texts]
        case _:
            return []


def with_constants(schema: Schema, query: ParameterizedQuery) -> dict[str, DataType]:
    """Return the types of a stream's columns and of the constants."""
    return {**schema.types, **{f"{query.constant}{index}": kind for index, kind in enumerate(query.types)}}


def input_columns(
    operator: Operator, use: ColumnUse, schemas: tuple[Schema, ...], needed: Mapping[str, frozenset[str]]
) -> tuple[frozenset[str], ...]:
    """Return which columns of each input an operator needs, given the columns of its outputs that are `needed`."""
    wanted = frozenset[str]().union(*(needed[stream] for stream in operator.outputs))
    match operator:
        case Filter() | Switch():
            return (use.columns[0] | wanted,)
        case Map():
            made = {named.name.lower() for named in operator.select}
            kept = {name for name in wanted if name.lower() not in made} if operator.extend else set[str]()
            return (use.columns[0] | kept,)
        case Union():
            return (wanted,) * len(schemas)
        case Aggregate():
            return (use.columns[0] | {*operator.group_by, schemas[0].time or ""},)
        case Join():
            left = use.columns[0] | {pair.left for pair in operator.on} | {schemas[0].time or ""}
            return left, use.columns[1] | {pair.right for pair in operator.on} | {schemas[1].time or ""}
        case _:
            raise AssertionError(f"{operator.kind} is no operator of a query")
