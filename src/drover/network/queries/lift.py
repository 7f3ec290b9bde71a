"""Constants out of expressions: a literal becomes a column of the same type, so that everything else stays as it was.

Rule 1: only literals that are compared, listed by IN, computed with or given out are lifted; one that decides what an
expression is (a pattern, a position, an interval, NULL, TRUE) belongs to the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from drover.errors import ExpressionError
from drover.network.expressions import Aggregate, Call, Column, Expression, Literal
from drover.network.expressions.tree import ONLY
from drover.network.queries.text import write, write_aggregate
from drover.network.types import BOOLEAN

COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
LIFTED: Final = COMPARISONS | {"+", "-", "*", "/", "div", "%"}
MOST_ITEMS: Final = 16  # of a list after IN that becomes as many comparisons; a longer one belongs to the shape


@dataclass(slots=True)
class Lifter:
    """Collects the constants of the expressions of a query, in order; the one numbered i becomes column `prefix`i."""

    prefix: str
    found: list[Literal] = field(default_factory=list)

    def expression(self, text: str, read: Callable[[str], Expression], side: str = ONLY) -> str:
        """Return `text` with its constants lifted; as it was if there are none. `read` parses, lifted ones included."""
        before = len(self.found)
        tree = read(text)
        lifted = self._constant(tree, side) if _is_constant(tree) else self._lift(tree, side)
        if len(self.found) == before:
            return text
        written = write(lifted)
        return written if self._reads(written, read, lifted, before) else text

    def aggregate(self, text: str, read: Callable[[str], Aggregate]) -> str:
        """Return the text of an aggregate with its constants lifted."""
        before = len(self.found)
        tree = read(text)
        if tree.argument is None:
            return text
        lifted = Aggregate(tree.function, self._lift(tree.argument, ONLY), tree.type)
        if len(self.found) == before:
            return text
        written = write_aggregate(lifted)
        return written if self._reads(written, read, lifted, before) else text

    def _reads(self, text: str, read: Callable[[str], object], wanted: object, before: int) -> bool:
        """Return whether `text` means what is `wanted`; if not, forget the constants since `before`."""
        try:
            if read(text) == wanted:
                return True
        except ExpressionError:
            pass  # too long or too deep: then it is a shape of its own
        del self.found[before:]
        return False

    def _constant(self, literal: Expression, side: str) -> Expression:
        assert isinstance(literal, Literal)
        self.found.append(literal)
        return Column(literal.type, f"{self.prefix}{len(self.found) - 1}", side)

    def _lift(self, tree: Expression, side: str) -> Expression:
        if not isinstance(tree, Call):
            return tree
        if tree.function == "in":
            return self._listed(tree, side)
        may = tree.function in LIFTED
        arguments = tuple(
            self._constant(argument, side) if may and _is_constant(argument) else self._lift(argument, side)
            for argument in tree.arguments
        )
        return Call(tree.type, tree.function, arguments)

    def _listed(self, tree: Call, side: str) -> Expression:
        """Return x IN (a, b) as x = a OR x = b, which is the same for NULL too."""
        items = tree.arguments[1:]
        value = self._lift(tree.arguments[0], side)
        if len(items) > MOST_ITEMS or not all(_is_constant(item) for item in items):
            return Call(tree.type, tree.function, (value, *items))
        equal = tuple(Call(BOOLEAN, "=", (value, self._constant(item, side))) for item in items)
        return equal[0] if len(equal) == 1 else Call(BOOLEAN, "or", equal)


def _is_constant(tree: Expression) -> bool:
    return isinstance(tree, Literal) and tree.value is not None and not isinstance(tree.value, bool)
