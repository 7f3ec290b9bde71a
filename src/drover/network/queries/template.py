"""Templates: what queries of one skeleton mean, and where their literals go.

Rule 1: which literal of a text becomes which constant is found by trying: a literal is exchanged for samples, and where
constants change and nothing else does, these are its places. One that changes anything else is part of the skeleton.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from drover.network.expressions.tree import Literal, Value
from drover.network.operators import Aggregate, Filter, Join, Map, Operator, Switch, Union
from drover.network.queries.outline import Outline
from drover.network.queries.query import LONGEST_EXPRESSION, MOST_OPERATORS, Query, rewritten, texts
from drover.network.queries.shape import Shape
from drover.network.queries.skeleton import MARK, SAMPLES, Piece, skeleton_of

Conversion = Callable[[Any], Value]  # Any: of a value that the type of the literal allows
Tried = tuple[Outline, tuple[Literal, ...]]

CONVERSIONS: Final[tuple[Conversion, ...]] = (
    lambda value: value,
    lambda value: -value,
    float,
    lambda value: float(-value),  # not -float(value): of 0, that is -0.0, and no whole number is
)


@dataclass(frozen=True, slots=True)
class Template:
    """How to fill in the constants of a skeleton: for each, which literal and which conversion, or what it is."""

    shape: Shape
    places: tuple[tuple[int, Conversion] | Literal, ...]
    fixed: tuple[int, ...]  # literals that belong to the skeleton

    def fill(self, pieces: list[Piece]) -> tuple[Value, ...]:
        """Return the constants of a query with these literals."""
        return tuple(
            [place.value if isinstance(place, Literal) else place[1](pieces[place[0]][1]) for place in self.places]
        )


def bones_of(query: Query) -> tuple[Hashable, list[Piece]] | None:
    """Return all that a query says but names and literals, and its literals; None if it must be parsed."""
    if len(query.operators) > MOST_OPERATORS:
        return None
    names: dict[str, str] = {}
    for index, operator in enumerate(query.operators):
        for place, stream in enumerate(operator.outputs):
            names[stream] = f"{MARK}{index}.{place}"
    pieces: list[Piece] = []
    said: list[Hashable] = [names.get(query.output, query.output)]
    for operator in query.operators:
        said.append(operator.kind)
        said.append(tuple([names.get(stream, stream) for stream in operator.inputs]))
        said.append(_settings(operator))
        for _, text in texts(operator):
            found = skeleton_of(text) if len(text) <= LONGEST_EXPRESSION else None
            if found is None:
                return None
            said.append(found[0])
            pieces += found[1]
    return tuple(said), pieces


def _settings(operator: Operator) -> Hashable:
    """Return what an operator says besides its inputs and expressions."""
    match operator:
        case Filter() | Union():
            return ()
        case Switch():
            return (operator.rest, *(case.name for case in operator.cases))
        case Map():
            return (operator.extend, *(named.name for named in operator.select))
        case Aggregate():
            names = tuple([named.name for named in operator.compute])
            return (operator.size, operator.advance, operator.timeout, operator.group_by, names)
        case Join():
            names = tuple([named.name for named in operator.select])
            windows = (operator.left_window, operator.right_window)
            return (windows, operator.on, operator.where is None, names)
        case _:
            return (operator,)  # refused when it is parsed


def learn(
    query: Query,
    outline: Outline,
    constants: tuple[Literal, ...],
    shape: Shape,
    attempt: Callable[[Query], Tried | None],
) -> Template:
    """Return the template of a query's skeleton; `attempt` parses a query, and gives None for one that is faulty."""
    places: list[tuple[int, Conversion] | Literal] = list(constants)
    fixed: list[int] = []
    for index, samples in enumerate(_literals(query)):
        trials = [(value, attempt(_exchanged(query, index, text))) for text, value in samples]
        found = _places(outline, constants, trials)
        if found is None:
            fixed.append(index)
        for place, conversion in (found or {}).items():
            places[place] = (index, conversion)
    return Template(shape, tuple(places), tuple(fixed))


def _places(
    outline: Outline, constants: tuple[Literal, ...], trials: list[tuple[Value, Tried | None]]
) -> dict[int, Conversion] | None:
    """Return the constants that follow a literal, with the conversion; None if anything else does."""
    found: list[dict[int, set[int]]] = []
    for sample, tried in trials:
        if tried is None or tried[0] != outline:
            return None
        changed: dict[int, set[int]] = {}
        for place, (before, after) in enumerate(zip(constants, tried[1], strict=True)):
            if before != after:
                changed[place] = {which for which in range(len(CONVERSIONS)) if _gives(which, sample, after.value)}
        found.append(changed)
    first, second = found
    if first.keys() != second.keys() or not first:
        return None
    both = {place: first[place] & second[place] for place in first}
    return None if not all(both.values()) else {place: CONVERSIONS[min(fits)] for place, fits in both.items()}


def _gives(which: int, sample: Value, wanted: Value) -> bool:
    try:
        value = CONVERSIONS[which](sample)
    except (TypeError, ValueError):
        return False
    return type(value) is type(wanted) and value == wanted


def _literals(query: Query) -> Iterator[tuple[Piece, ...]]:
    """Yield the samples for each literal of a query."""
    for operator in query.operators:
        for _, text in texts(operator):
            found = skeleton_of(text)
            assert found is not None
            marks = found[0].split(MARK)[1:]
            yield from (SAMPLES[mark[0]] for mark in marks)


def _exchanged(query: Query, index: int, sample: str) -> Query:
    """Return the query with another literal in place of the one numbered `index`."""
    seen = 0

    def exchange(text: str) -> str:
        nonlocal seen
        found = skeleton_of(text)
        assert found is not None
        bones, pieces = found
        first, *others = bones.split(MARK)
        written = [first]
        for (literal, _), after in zip(pieces, others, strict=True):
            written += (sample if seen == index else literal, after[1:])
            seen += 1
        return "".join(written)

    return replace(query, operators=tuple(rewritten(operator, exchange) for operator in query.operators))
