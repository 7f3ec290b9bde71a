"""Templates: the shape of all queries with one normalized text, and where their literals go.

Rule 1: which literal becomes which constant is found by trial. Each literal is replaced by samples. If only constants
change, the literal fills these constants. If anything else changes, the literal is fixed: part of the template's key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from drover.network.expressions.tree import Literal, Value
from drover.network.operators import OPERATORS, Operator
from drover.network.queries.kinds import KINDS
from drover.network.queries.normalize import PLACEHOLDER, SAMPLES, LiteralText, normalize
from drover.network.queries.parameterized import ParameterizedQuery
from drover.network.queries.query import LONGEST_EXPRESSION, MOST_OPERATORS, Query
from drover.network.queries.shape import Shape
from drover.network.rewrite import expressions_of, with_expressions
from drover.network.text_growth import GROWS, SHORT

Numbers = NDArray[Any]  # Any: int64 or float64
Conversion = Callable[[Any], Value]  # Any: of a value that the type of the literal allows
Parameterized = tuple[ParameterizedQuery, tuple[Literal, ...]]

CONVERSIONS: Final[tuple[Conversion, ...]] = (
    lambda value: value,
    lambda value: -value,
    float,
    lambda value: float(-value),  # not -float(value), which is -0.0 for 0
)
COLUMN_CONVERSIONS: Final[tuple[Callable[[Numbers], Numbers], ...]] = (  # the same for arrays
    lambda values: values,
    lambda values: -values,
    lambda values: values.astype(np.float64),
    lambda values: (-values).astype(np.float64),
)


@dataclass(frozen=True, slots=True)
class Template:
    """A shape, and how to fill its constants: each is a literal with a conversion, or always the same value."""

    shape: Shape
    constants: tuple[tuple[int, Conversion] | Literal, ...]
    fixed: tuple[int, ...]  # literals that are part of the template's key

    def fill(self, literals: list[LiteralText]) -> tuple[Value, ...]:
        """Return the constants of a query with these literals."""
        return tuple([one.value if isinstance(one, Literal) else one[1](literals[one[0]][1]) for one in self.constants])


def normalize_query(query: Query) -> tuple[Hashable, list[LiteralText]] | None:
    """Return a query without its names and literals, and the literals; None if it must be parsed."""
    if len(query.operators) > MOST_OPERATORS or any(operator.kind not in KINDS for operator in query.operators):
        return None
    # Names are replaced by positions, so that queries that differ only in names share a template.
    names: dict[str, str] = {}
    for index, operator in enumerate(query.operators):
        for place, stream in enumerate(operator.outputs):
            names[stream] = f"{PLACEHOLDER}{index}.{place}"
    literals: list[LiteralText] = []
    normalized: list[Hashable] = [names.get(query.output, query.output)]
    for operator in query.operators:
        normalized.append(operator.kind)
        normalized.append(tuple([names.get(stream, stream) for stream in operator.inputs]))
        normalized.append(_settings(operator))
        for _, text in expressions_of(operator):
            found = normalize(text) if len(text) <= LONGEST_EXPRESSION else None
            if found is None:
                return None
            normalized.append(found[0])
            literals += found[1]
    # A template does not know how long a literal is. Where texts grow, that decides whether the query is refused.
    if any(isinstance(value, str) and len(value) > SHORT for _, value in literals) and makes_long_texts(query):
        return None
    return tuple(normalized), literals


def makes_long_texts(query: Query) -> bool:
    """Return whether an expression of a query repeats texts."""
    return any(GROWS.search(text) for operator in query.operators for _, text in expressions_of(operator))


def _settings(operator: Operator) -> Hashable:
    """Return every setting of an operator but its inputs and the text of its expressions."""
    plain, with_sql = _setting_names(operator.kind)
    settings: list[Hashable] = [getattr(operator, name) for name in plain]
    for name in with_sql:
        found = getattr(operator, name)
        settings.append(tuple([named.name for named in found]) if isinstance(found, tuple) else found is None)
    return tuple(settings)


@cache
def _setting_names(kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the attributes of a kind without SQL, and those with SQL."""
    record = OPERATORS[kind]
    names = [name for field in record.fields if not field.reads for name in field.targets]
    return tuple(name for name in names if name not in record.expressions), record.expressions


def learn_template(
    query: Query,
    parameterized: ParameterizedQuery,
    constants: tuple[Literal, ...],
    shape: Shape,
    attempt: Callable[[Query], Parameterized | None],
) -> Template:
    """Return the template of a query; `attempt` parses a query and returns None if it has faults."""
    filled: list[tuple[int, Conversion] | Literal] = list(constants)
    fixed: list[int] = []
    for index, samples in enumerate(_literals(query)):
        trials = [(value, attempt(_with_literal(query, index, text))) for text, value in samples]
        found = _constants_of(parameterized, constants, trials)
        if found is None:
            fixed.append(index)
        for constant, conversion in (found or {}).items():
            filled[constant] = (index, conversion)
    return Template(shape, tuple(filled), tuple(fixed))


def _constants_of(
    parameterized: ParameterizedQuery, constants: tuple[Literal, ...], trials: list[tuple[Value, Parameterized | None]]
) -> dict[int, Conversion] | None:
    """Return the constants that a literal fills, with the conversion; None if it changes anything else."""
    found: list[dict[int, set[int]]] = []
    for sample, tried in trials:
        if tried is None or tried[0] != parameterized:
            return None
        changed: dict[int, set[int]] = {}
        for constant, (before, after) in enumerate(zip(constants, tried[1], strict=True)):
            if before != after:
                changed[constant] = {which for which in range(len(CONVERSIONS)) if _gives(which, sample, after.value)}
        found.append(changed)
    # Two samples must agree: one alone could equal the old constant, or fit a conversion by chance.
    first, second = found
    if first.keys() != second.keys() or not first:
        return None
    both = {constant: first[constant] & second[constant] for constant in first}
    return None if not all(both.values()) else {constant: CONVERSIONS[min(fits)] for constant, fits in both.items()}


def _gives(which: int, sample: Value, wanted: Value) -> bool:
    try:
        value = CONVERSIONS[which](sample)
    except (TypeError, ValueError):
        return False
    return type(value) is type(wanted) and value == wanted


def _literals(query: Query) -> Iterator[tuple[LiteralText, ...]]:
    """Yield the samples for each literal of a query."""
    for operator in query.operators:
        for _, text in expressions_of(operator):
            found = normalize(text)
            assert found is not None
            placeholders = found[0].split(PLACEHOLDER)[1:]
            yield from (SAMPLES[placeholder[0]] for placeholder in placeholders)


def _with_literal(query: Query, index: int, sample: str) -> Query:
    """Return the query with another literal in place of the one numbered `index`."""
    seen = 0

    def replace_literal(text: str) -> str:
        nonlocal seen
        found = normalize(text)
        assert found is not None
        normalized, literals = found
        first, *others = normalized.split(PLACEHOLDER)
        written = [first]
        # Each piece after a placeholder begins with the letter of its type, which is not part of the text.
        for (literal, _), after in zip(literals, others, strict=True):
            written += (sample if seen == index else literal, after[1:])
            seen += 1
        return "".join(written)

    return replace(query, operators=tuple(with_expressions(operator, replace_literal) for operator in query.operators))
