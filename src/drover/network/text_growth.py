"""Texts that grow from operator to operator: each expression may be within its limit, and a chain of them beyond it.

Rule 1: the bound of a stream holds for every text in it. It starts at the sources, whatever the length of texts there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from drover.errors import ExpressionError, Fault, shorten
from drover.network.expressions import Expression, parse, parse_pair
from drover.network.expressions.text_size import A_TEXT, WAY_OUT, TextSize, longest
from drover.network.operators import Operator
from drover.network.rewrite import expressions_of
from drover.network.schema import Schema

# Only these make a text longer than those it is made of; most expressions need no second look.
GROWS: Final = re.compile(r"repeat|replace|concat|pad|\|\|", re.IGNORECASE)


def growth_faults(order: Sequence[Operator], streams: Mapping[str, Schema | None]) -> Iterator[Fault]:
    """Yield a fault for every expression that makes texts too long, given the operators before it."""
    bounds: dict[str, TextSize] = {}
    for operator in order:
        read = longest(bounds.get(stream, A_TEXT) for stream in operator.inputs)
        made = read
        for path, text in expressions_of(operator):
            expression = _parsed(operator, text, streams) if GROWS.search(text) else None
            if expression is None:
                continue
            size = expression.largest_text.of_texts(read)
            if size.is_allowed:
                made = longest((made, size))
            else:
                yield Fault(("operators", operator.name, *path), shorten(text), size.rule, WAY_OUT)
        bounds |= dict.fromkeys(operator.outputs, made)


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
