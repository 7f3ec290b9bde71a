"""What an operator of an outline looks at: columns of its inputs, and constants.

Rule 1: rows are copied once per member, so that a column nobody looks at is left behind before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drover.network.expressions import Expression, parse, parse_aggregate, parse_pair
from drover.network.expressions.tree import LEFT, ONLY, RIGHT
from drover.network.operators import Aggregate, Filter, Join, Map, Operator, Switch, Union
from drover.network.queries.outline import Outline
from drover.network.schema import Schema
from drover.network.types import DataType


@dataclass(frozen=True, slots=True)
class Looks:
    """The columns of each input that an operator's own texts name, and the constants, by number."""

    columns: tuple[frozenset[str], ...]
    constants: tuple[int, ...]


def looks_at(operator: Operator, schemas: tuple[Schema, ...], outline: Outline) -> Looks:
    """Return what the texts of an operator name."""
    named = frozenset[tuple[str, str]]().union(*(tree.columns for tree in trees(operator, schemas, outline)))
    sides = (LEFT, RIGHT) if isinstance(operator, Join) else (ONLY,) * len(schemas)
    lifted = {name for _, name in named if name.startswith(outline.constant)}
    constants = tuple(sorted(int(name.removeprefix(outline.constant)) for name in lifted))
    columns = tuple(frozenset(name for of, name in named if of == side) - lifted for side in sides)
    return Looks(columns, constants)


def trees(operator: Operator, schemas: tuple[Schema, ...], outline: Outline) -> list[Expression]:
    """Return the expressions of an operator."""
    first = with_constants(schemas[0], outline)
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


def with_constants(schema: Schema, outline: Outline) -> dict[str, DataType]:
    """Return the columns of a stream and the constants beside them."""
    return {**schema.types, **{f"{outline.constant}{index}": kind for index, kind in enumerate(outline.types)}}


def taken_in(
    operator: Operator, looks: Looks, schemas: tuple[Schema, ...], needed: Mapping[str, frozenset[str]]
) -> tuple[frozenset[str], ...]:
    """Return which columns of each input the operator needs, given which of its outputs' columns are `needed`."""
    wanted = frozenset[str]().union(*(needed[stream] for stream in operator.outputs))
    match operator:
        case Filter() | Switch():
            return (looks.columns[0] | wanted,)
        case Map():
            made = {named.name.lower() for named in operator.select}
            kept = {name for name in wanted if name.lower() not in made} if operator.extend else set[str]()
            return (looks.columns[0] | kept,)
        case Union():
            return (wanted,) * len(schemas)
        case Aggregate():
            return (looks.columns[0] | {*operator.group_by, schemas[0].time or ""},)
        case Join():
            left = looks.columns[0] | {pair.left for pair in operator.on} | {schemas[0].time or ""}
            return left, looks.columns[1] | {pair.right for pair in operator.on} | {schemas[1].time or ""}
        case _:
            raise AssertionError(f"{operator.kind} is no operator of a query")
