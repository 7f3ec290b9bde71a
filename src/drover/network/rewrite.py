"""Operators with other inputs or other expressions; which fields hold these is part of the kind's record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from drover.network.columns import Named
from drover.network.operators import OPERATORS, Operator


def expressions_of(operator: Operator) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every SQL text of an operator with the path of its field."""
    for attribute in OPERATORS[operator.kind].expressions:
        found = getattr(operator, attribute)
        if isinstance(found, str):
            yield (attribute,), found
        elif found is not None:
            yield from (((attribute, named.name), named.expression) for named in found)


def with_expressions(operator: Operator, change: Callable[[str], str]) -> Operator:
    """Return the operator with every SQL text changed, in the order of `expressions_of`."""
    changed: dict[str, Any] = {}  # Any: attributes of every kind of operator
    for attribute in OPERATORS[operator.kind].expressions:
        found = getattr(operator, attribute)
        if isinstance(found, str):
            changed[attribute] = change(found)
        elif found is not None:
            changed[attribute] = tuple(Named(named.name, change(named.expression)) for named in found)
    return replace(operator, **changed)


def with_inputs(operator: Operator, names: Sequence[str]) -> Operator:
    """Return the operator reading the streams `names`, one for each of its inputs."""
    left = list(names)
    changed: dict[str, Any] = {}  # Any: attributes of every kind of operator
    for field in OPERATORS[operator.kind].fields:
        if field.reads:
            (attribute,) = field.targets
            several = isinstance(getattr(operator, attribute), tuple)
            changed[attribute] = tuple(left) if several else left.pop(0)
    return replace(operator, **changed)


def input_field(operator: Operator, index: int) -> tuple[str | int, ...]:
    """Return the path, within the operator, of the field that names input `index`."""
    names = [field for field in OPERATORS[operator.kind].fields if field.reads]
    if isinstance(getattr(operator, names[0].targets[0]), tuple):
        return (names[0].name, index)
    return (names[index].name,)


def table_field(operator: Operator) -> str:
    """Return the field that names the operator's table."""
    return next(field.name for field in OPERATORS[operator.kind].fields if field.table)
