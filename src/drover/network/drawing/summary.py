"""One line about each part of a network, for drawings and lists."""

from __future__ import annotations

from drover.errors import one_line
from drover.network.durations import format_duration
from drover.network.operators import OPERATORS, Operator
from drover.network.parts import Source


def summary(operator: Operator) -> str:
    """Return what an operator does, on one line."""
    return one_line(OPERATORS[operator.kind].summary(operator))


def box_lines(operator: Operator) -> tuple[str, ...]:
    """Return the lines below the name in an operator's box: its summary, or what its kind draws instead."""
    lines = OPERATORS[operator.kind].lines
    if lines is not None:
        return tuple(map(one_line, lines(operator)))
    said = summary(operator)
    return (said,) if said else ()


def describe_source(source: Source) -> str:
    """Return columns and lateness of a source on one line."""
    late = f", up to {format_duration(source.lateness)} late" if source.lateness else ""
    return one_line(f"{', '.join(source.schema.names)}{late}")
