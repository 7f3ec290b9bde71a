"""One line about each part of a network, for drawings and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from drover.errors import visible
from drover.network.durations import format_duration
from drover.network.operators import Aggregate, Join, Named, Operator, TableRead
from drover.network.parts import Source


def count(number: int, noun: str) -> str:
    """Return e.g. `1 fault` or `2 faults`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def clean(text: str) -> str:
    """Return text on one line, without anything that could steer a terminal."""
    return visible(" ".join(text.split()))


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


def _describe_read(operator: TableRead) -> str:
    return f"{', '.join(operator.columns)} from {operator.from_table} by {', '.join(map(str, operator.on))}"


def _describe_join(operator: Join) -> str:
    keys = [str(pair) for pair in operator.on] + ([operator.where] if operator.where is not None else [])
    spans = dict.fromkeys(format_duration(span) for span in (operator.left_window, operator.right_window))
    spread = "" if operator.spread is None else f", spread {operator.spread}"
    return f"{' and '.join(keys)} within {' and '.join(spans)}{spread}".strip()


# Any: each function takes the operator of its kind.
DESCRIPTIONS: Final[Mapping[str, Callable[[Any], str]]] = {
    "filter": lambda operator: operator.where,
    "switch": lambda operator: "; ".join(f"{case.name}: {case.expression}" for case in operator.cases),
    "map": lambda operator: ("*, " if operator.extend else "") + _computed(operator.select),
    "union": lambda operator: ", ".join(operator.streams),
    "aggregate": _describe_aggregate,
    "join": _describe_join,
    "table_read": _describe_read,
    "table_write": lambda operator: f"into {operator.into}",
    "user": lambda operator: operator.function,
    "synthetic": lambda operator: f"{operator.cost:g} s per row, {operator.selectivity:g} rows for each",
}


def summary(operator: Operator) -> str:
    """Return what an operator does, on one line."""
    return clean(DESCRIPTIONS[operator.kind](operator))


def describe_source(source: Source) -> str:
    """Return columns and lateness of a source on one line."""
    late = f", up to {format_duration(source.lateness)} late" if source.lateness else ""
    return clean(f"{', '.join(source.schema.names)}{late}")
