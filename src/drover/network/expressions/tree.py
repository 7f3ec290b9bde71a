"""Checked expressions: a typed tree that knows nothing of SQL text, Polars or Spark.

Rule 1: a node is frozen, hashable and picklable, and its type is never unknown once `parse` has returned it.
Rule 2: every operation is a Call whose name is a row of the function table, "cast" included; there is no other kind.
Rule 3: a tree is small enough to compile: `depth` and `weight` are bounded when a Call is built, not when it is used.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from drover.network.expressions.text_size import A_TEXT, NO_TEXT, TextSize, longest
from drover.network.types import BINARY, STRING, DataType

Value = bool | int | float | str | dt.date | dt.datetime | None

# The type of a bare NULL until its surroundings give it one; no parsed tree contains it.
UNTYPED: Final = DataType("null")

LEFT: Final = "left"
RIGHT: Final = "right"
ONLY: Final = ""  # the side of a column where there is just one input


@dataclass(frozen=True, slots=True)
class Expression:
    """A value computed from one row (or, in a join, from one pair of rows)."""

    type: DataType

    @property
    def depth(self) -> int:
        """Levels of nesting; 1 for a column or a literal."""
        return 1

    @property
    def weight(self) -> int:
        """Nodes after compiling, where a function that mentions an argument twice counts it twice."""
        return 1

    @property
    def text_size(self) -> TextSize:
        """How long it can be as a text."""
        return A_TEXT if self.type in (STRING, BINARY) else NO_TEXT

    @property
    def largest_text(self) -> TextSize:
        """How long any text can be that is made on the way to it, itself included."""
        return longest(node.text_size for node in _walk(self))

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions this one is computed from."""
        return ()

    @property
    def columns(self) -> frozenset[tuple[str, str]]:
        """The columns used, as (side, name); the side is "" where there is one input only."""
        return frozenset((node.side, node.name) for node in _walk(self) if isinstance(node, ColumnRef))


@dataclass(frozen=True, slots=True)
class ColumnRef(Expression):
    """A column of an input."""

    name: str
    side: str = ONLY


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A constant; timestamps are naive datetimes in UTC."""

    value: Value

    @property
    def text_size(self) -> TextSize:
        """Its length."""
        return TextSize(fixed=len(self.value)) if isinstance(self.value, str) else NO_TEXT


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function of the table applied to arguments whose types the table has approved."""

    function: str
    arguments: tuple[Expression, ...]
    height: int = field(compare=False, repr=False, default=1)
    size: int = field(compare=False, repr=False, default=1)
    text: TextSize = field(compare=False, repr=False, default=NO_TEXT)

    @property
    def text_size(self) -> TextSize:
        """How long it can be as a text."""
        return self.text

    @property
    def depth(self) -> int:
        """Levels of nesting."""
        return self.height

    @property
    def weight(self) -> int:
        """Nodes after compiling."""
        return self.size

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.arguments


def _walk(root: Expression) -> Iterator[Expression]:
    """Yield every node once, even if several parents share it."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting.extend(node.children)
