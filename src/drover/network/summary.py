"""One line about each part of a network, for drawings and lists."""

from __future__ import annotations

from collections.abc import Iterable

from drover.errors import visible
from drover.network.durations import format_duration
from drover.network.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Named,
    Operator,
    Switch,
    Synthetic,
    TableRead,
    TableWrite,
    Union,
    UserDefined,
)
from drover.network.parts import Source


def count(number: int, noun: str) -> str:
    """Return e.g. `1 fault` or `2 faults`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def clean(text: str) -> str:
    """Return text on one line, without anything that could steer a terminal."""
    return visible(" ".join(text.split()))


def summary(operator: Operator) -> str:
    """Return what an operator does, on one line; empty if its kind says it all."""
    return clean(_describe(operator))


def _describe(operator: Operator) -> str:
    match operator:
        case Filter():
            return operator.where
        case Switch():
            return "; ".join(f"{case.name}: {case.expression}" for case in operator.cases)
        case Map():
            return ("*, " if operator.extend else "") + _computed(operator.select)
        case Aggregate():
            return _describe_aggregate(operator)
        case Join():
            return _describe_join(operator)
        case TableRead():
            return f"{', '.join(operator.columns)} from {operator.from_table} by {', '.join(map(str, operator.on))}"
        case TableWrite():
            return f"into {operator.into}"
        case UserDefined():
            return operator.function
        case Synthetic():
            return f"{operator.cost:g} s per row, {operator.selectivity:g} rows for each"
        case Union():
            return ", ".join(operator.streams)
        case _:
            return ""


def _computed(columns: Iterable[Named]) -> str:
    return ", ".join(
        named.name if named.expression.strip().strip("`") == named.name else f"{named.name} = {named.expression}"
        for named in columns
    )


def _describe_aggregate(operator: Aggregate) -> str:
    words = [_computed(operator.compute)]
    if operator.group_by:
        words.append(f"by {', '.join(operator.group_by)}")
    words.append(f"in {format_duration(operator.size)}")
    if operator.advance != operator.size:
        words.append(f"every {format_duration(operator.advance)}")
    if operator.timeout is not None:
        words.append(f"or {format_duration(operator.timeout)} after the first row")
    return " ".join(words)


def _describe_join(operator: Join) -> str:
    keys = [str(pair) for pair in operator.on] + ([operator.where] if operator.where is not None else [])
    spans = dict.fromkeys(format_duration(span) for span in (operator.left_window, operator.right_window))
    return f"{' and '.join(keys)} within {' and '.join(spans)}".strip()


def describe_source(source: Source) -> str:
    """Return columns and lateness of a source on one line."""
    late = f", up to {format_duration(source.lateness)} late" if source.lateness else ""
    return clean(f"{', '.join(source.schema.names)}{late}")
