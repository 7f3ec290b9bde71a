"""Texts that grow from operator to operator: each expression may be within its limit, and a chain of them beyond it.

Rule 1: the bound of a stream holds for every text in it. It starts at the sources, whatever the length of texts there.
A submitted query starts with the bounds of the streams that it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from drover.errors import ExpressionError, Fault, shorten
from drover.network.expressions import Expression, parse, parse_pair
from drover.network.expressions.text_size import A_TEXT, MOST_FIXED, MOST_TIMES, WAY_OUT, TextSize, longest
from drover.network.operators import Operator
from drover.network.rewrite import expressions_of
from drover.network.schema import Schema

# Only these make a text longer than those it is made of; most expressions need no second look.
GROWS: Final = re.compile(r"repeat|replace|concat|pad|\|\|", re.IGNORECASE)
SHORT: Final = MOST_FIXED // MOST_TIMES  # characters of a literal that may be repeated as often as any text may


@dataclass(slots=True)
class TextGrowth:
    """The bounds of texts, by stream, and a fault for every expression that makes texts too long."""

    bounds: dict[str, TextSize] = field(default_factory=dict)  # a stream without one has texts as its sources have them
    faults: list[Fault] = field(default_factory=list)


def text_growth(
    order: Sequence[Operator], streams: Mapping[str, Schema | None], given: Mapping[str, TextSize] | None = None
) -> TextGrowth:
    """Return how texts grow along operators in topological order; `given` has bounds of the streams they read."""
    found = TextGrowth(dict(given or {}))
    for operator in order:
        read = longest(found.bounds.get(stream, A_TEXT) for stream in operator.inputs)
        made = read
        for path, text in expressions_of(operator):
            expression = _parsed(operator, text, streams) if may_grow(text) else None
            if expression is None:
                continue
            size = expression.largest_text.of_texts(read)
            if size.is_allowed:
                made = longest((made, size))
            else:
                found.faults.append(Fault(("operators", operator.name, *path), shorten(text), size.rule, WAY_OUT))
        if made != A_TEXT:
            found.bounds |= dict.fromkeys(operator.outputs, made)
    return found


def may_grow(text: str) -> bool:
    """Return whether an expression may make a text that is longer than those of its row, and not short."""
    return GROWS.search(text) is not None or (len(text) > SHORT and ("'" in text or '"' in text))


def _parsed(operator: Operator, text: str, streams: Mapping[str, Schema | None]) -> Expression | None:
    """Return an expression of an operator; None if a fault of its own is reported elsewhere, or it is an aggregate."""
    schemas = [schema for stream in operator.inputs if (schema := streams.get(stream)) is not None]
    if len(schemas) < len(operator.inputs):
        return None
    try:
        if len(schemas) == 2:
            return parse_pair(text, schemas[0].types, schemas[1].types)
        return parse(text, schemas[0].types)
    except ExpressionError:
        return None
