"""Text templates: the shape of all query texts with one skeleton, and which hole fills which constant.

Rule 1: a text template is learned from one text, which the parser reads. Which literal a hole holds is found by trial:
the hole is filled with a sample, and the literal that changes is the one.
Rule 2: a hole that holds no literal of an expression, or a literal that its template fixes, is part of the key.
Rule 3: whatever the parser would refuse, or read in another way, is not learned. The parser then reads it alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from drover.errors import NetworkError
from drover.network.expressions.tree import Literal
from drover.network.queries.normalize import SAMPLES, LiteralText
from drover.network.queries.notation import entries_of
from drover.network.queries.query import LONGEST_EXPRESSION, Query
from drover.network.queries.read import read_entry
from drover.network.queries.shape import Shape
from drover.network.queries.shapes import Shapes
from drover.network.queries.skeletons import LETTERS, NAME_MARK, TENANT_MARK, marks_of
from drover.network.queries.template import Conversion, makes_long_texts, normalize_query
from drover.network.rewrite import expressions_of
from drover.network.text_growth import SHORT

NO_LITERAL: Final = -1


@dataclass(frozen=True, slots=True)
class SkeletonHoles:
    """What the holes of a skeleton hold, each by its number."""

    marks: str
    name: int
    tenant: int | None
    literal: tuple[int, ...]  # by hole: the number of the query's literal, or NO_LITERAL
    key: tuple[int, ...]  # holes that are part of a text template's key
    example: tuple[str, ...]  # the holes of a text that is accepted


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """A shape, and how to fill its constants: each is a hole with a conversion, or always the same value."""

    shape: Shape
    constants: tuple[tuple[int, Conversion] | Literal, ...]
    room: int  # characters that the holes may have together; with more, an expression or a text may be too long


@dataclass(frozen=True, slots=True)
class _ReadText:
    """A text as the parser reads it."""

    query: Query
    normalized: Hashable
    literals: list[LiteralText]


def find_holes(skeleton: str, holes: Sequence[str], shapes: Shapes) -> SkeletonHoles | None:
    """Return what the holes of a skeleton hold, by the example of one text; None if it cannot be a template."""
    marks = marks_of(skeleton)
    if marks.count(NAME_MARK) != 1 or marks.count(TENANT_MARK) > 1:
        return None
    found = _read(_filled(skeleton, holes))
    fixed = None if found is None else _fixed(found, shapes)
    if found is None or fixed is None:
        return None
    literal = [NO_LITERAL] * len(marks)
    for number, mark in enumerate(marks):
        if mark in LETTERS:
            literal[number] = _literal_of(skeleton, holes, number, mark, found)
    # A literal that no hole holds would be the same in every text; no text has such, so something is misread.
    if {*range(len(found.literals))} != {*literal} - {NO_LITERAL}:
        return None
    name = marks.index(NAME_MARK)
    tenant = marks.index(TENANT_MARK) if TENANT_MARK in marks else None
    key = (
        n for n in range(len(marks)) if n not in (name, tenant) and (literal[n] == NO_LITERAL or literal[n] in fixed)
    )
    return SkeletonHoles(marks, name, tenant, tuple(literal), tuple(key), tuple(holes))


def learn_text_template(skeleton: str, key: Sequence[str], found: SkeletonHoles, shapes: Shapes) -> TextTemplate | None:
    """Return the template of all texts that have this skeleton and these holes of the key; None if there is none."""
    # All other holes are those of one example, so that the parser knows most of the expressions already.
    holes = list(found.example)
    for hole, value in zip(found.key, key, strict=True):
        holes[hole] = value
    text = _read(_filled(skeleton, holes))
    fixed = None if text is None else _fixed(text, shapes)
    if text is None or fixed is None:
        return None
    hole_of = {literal: hole for hole, literal in enumerate(found.literal) if literal != NO_LITERAL}
    same = len(text.literals) == len(hole_of) and all(text.literals[n][0] == holes[hole_of[n]] for n in hole_of)
    if not same or not {hole_of[n] for n in fixed} <= {*found.key}:
        return None
    template = shapes.template_of(text.normalized, text.literals)
    if template is None:
        return None
    constants = [one if isinstance(one, Literal) else (hole_of[one[0]], one[1]) for one in template.constants]
    longest = max(len(sql) for operator in text.query.operators for _, sql in expressions_of(operator))
    room = LONGEST_EXPRESSION - longest
    return TextTemplate(template.shape, tuple(constants), min(room, SHORT) if makes_long_texts(text.query) else room)


def _read(text: str) -> _ReadText | None:
    (entry,) = entries_of(text, ".jsonl")
    query = read_entry(entry).query
    found = None if query is None else normalize_query(query)
    return None if query is None or found is None else _ReadText(query, *found)


def _fixed(text: _ReadText, shapes: Shapes) -> tuple[int, ...] | None:
    """Return the literals that the template of a query fixes; None if the query is refused or has no template."""
    try:
        shapes.shape_of(text.query)
    except NetworkError:
        return None
    template = shapes.template_of(text.normalized, text.literals)
    return None if template is None else template.fixed


def _literal_of(skeleton: str, holes: Sequence[str], number: int, mark: str, found: _ReadText) -> int:
    """Return the number of the literal that changes with a hole; NO_LITERAL if anything else changes."""
    sample = next(text for text, _ in SAMPLES[LETTERS[mark]] if text != holes[number])
    changed = _read(_filled(skeleton, [*holes[:number], sample, *holes[number + 1 :]]))
    if changed is None or changed.normalized != found.normalized or len(changed.literals) != len(found.literals):
        return NO_LITERAL
    pairs = enumerate(zip(found.literals, changed.literals, strict=True))
    other = [n for n, (before, after) in pairs if before != after]
    return other[0] if len(other) == 1 and changed.literals[other[0]][0] == sample else NO_LITERAL


def _filled(skeleton: str, holes: Sequence[str]) -> str:
    """Return the text with this skeleton and these holes."""
    marks = {*LETTERS, NAME_MARK, TENANT_MARK}
    left = iter(holes)
    return "".join([next(left) if character in marks else character for character in skeleton])
