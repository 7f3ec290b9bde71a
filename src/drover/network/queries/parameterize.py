"""Parameters for the constants of expressions: a literal becomes a column of the same type.

Rule 1: a literal becomes a parameter only where it is compared, listed by IN, computed with or returned. A literal that
decides what an expression means (a pattern, a position, an interval, NULL, TRUE) is part of the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from drover.errors import ExpressionError
from drover.network.expressions import AggregateCall, Call, ColumnRef, Expression, Literal
from drover.network.expressions.tree import ONLY
from drover.network.queries.sql_text import aggregate_to_sql, to_sql
from drover.network.types import BOOLEAN

COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
PARAMETERIZED: Final = COMPARISONS | {"+", "-", "*", "/", "div", "%"}
MOST_ITEMS: Final = 16  # of a list after IN that becomes as many comparisons; a longer list is part of the shape


@dataclass(slots=True)
class Parameterizer:
    """Collects the constants of a query's expressions in order; constant i becomes the column `prefix`i."""

    prefix: str
    constants: list[Literal] = field(default_factory=list)

    def rewrite(self, text: str, read: Callable[[str], Expression | AggregateCall], side: str = ONLY) -> str:
        """Return `text` with its constants as columns of `side`. `read` parses text, including these columns."""
        before = len(self.constants)
        changed = self._changed(read(text), side)
        if len(self.constants) == before:
            return text
        written = aggregate_to_sql(changed) if isinstance(changed, AggregateCall) else to_sql(changed)
        return written if self._means(written, read, changed, before) else text

    def _changed(self, tree: Expression | AggregateCall, side: str) -> Expression | AggregateCall:
        if isinstance(tree, AggregateCall):
            # The argument of sum(1) is not computed with, so by rule 1 it is part of the shape.
            argument = None if tree.argument is None else self._replace(tree.argument, side)
            return AggregateCall(tree.function, argument, tree.type)
        return self._column(tree, side) if _is_constant(tree) else self._replace(tree, side)

    def _means(self, text: str, read: Callable[[str], object], tree: object, before: int) -> bool:
        """Return whether `text` parses to `tree`; if not, forget the constants since `before`."""
        try:
            if read(text) == tree:
                return True
        except ExpressionError:
            pass  # too long or too deep with parameters, so the constants stay part of the shape
        del self.constants[before:]
        return False

    def _column(self, literal: Expression, side: str) -> Expression:
        assert isinstance(literal, Literal)
        self.constants.append(literal)
        return ColumnRef(literal.type, f"{self.prefix}{len(self.constants) - 1}", side)

    def _replace(self, tree: Expression, side: str) -> Expression:
        if not isinstance(tree, Call):
            return tree
        if tree.function == "in":
            return self._replace_in(tree, side)
        replaces = tree.function in PARAMETERIZED
        arguments = tuple(
            self._column(argument, side) if replaces and _is_constant(argument) else self._replace(argument, side)
            for argument in tree.arguments
        )
        return Call(tree.type, tree.function, arguments)

    def _replace_in(self, tree: Call, side: str) -> Expression:
        """Return x IN (a, b) as x = a OR x = b, which gives the same for NULL, too."""
        items = tree.arguments[1:]
        value = self._replace(tree.arguments[0], side)
        if len(items) > MOST_ITEMS or not all(_is_constant(item) for item in items):
            return Call(tree.type, tree.function, (value, *items))
        equal = tuple(Call(BOOLEAN, "=", (value, self._column(item, side))) for item in items)
        return equal[0] if len(equal) == 1 else Call(BOOLEAN, "or", equal)


def _is_constant(tree: Expression) -> bool:
    return isinstance(tree, Literal) and tree.value is not None and not isinstance(tree.value, bool)
