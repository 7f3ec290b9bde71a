"""Bounds: conditions of a filter that compare an expression over rows with one over constants.

Rule 1: all comparisons are made between whole numbers, its order keys. As in Spark, NaN is larger than any number and
equal to itself, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.flow.operators.partials import ORDERED
from drover.network.expressions import Call, Expression, parse
from drover.network.operators import Filter
from drover.network.queries.shape import Shape, ShapeStep

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
LARGEST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Bound:
    """A condition `value sign limit`, where sign is <, <=, > or >=; the limit depends on constants alone."""

    value: Expression
    sign: str
    limit: Expression

    @property
    def descends(self) -> bool:
        """Whether large values pass."""
        return self.sign in (">", ">=")

    @property
    def is_strict(self) -> bool:
        """Whether a value that equals the limit does not pass."""
        return self.sign in ("<", ">")


def find_bounds(step: ShapeStep, shape: Shape) -> tuple[Bound, ...] | None:
    """Return what remains of a filter's condition as bounds; None if it is something else."""
    if not isinstance(step.operator, Filter):
        return None
    if not step.rest:
        return ()
    tree = parse(step.operator.where, step.network.sources[0].schema.types)
    found = [_bound(part, shape.query.constant) for part in _conjuncts(tree)]
    bounds = tuple(one for one in found if one is not None)
    return bounds if len(bounds) == len(found) else None


def _conjuncts(tree: Expression) -> Iterator[Expression]:
    if isinstance(tree, Call) and tree.function == "and":
        for part in tree.arguments:
            yield from _conjuncts(part)
    else:
        yield tree


def _bound(tree: Expression, prefix: str) -> Bound | None:
    """Return a condition as a bound; `prefix` is that of constants."""
    if not isinstance(tree, Call) or tree.function not in FLIPPED:
        return None
    left, right = tree.arguments
    if left.type not in ORDERED or left.type != right.type:
        return None
    for value, limit, sign in ((left, right, tree.function), (right, left, FLIPPED[tree.function])):
        if _is_of_rows(value, prefix) and _is_constant(limit, prefix):
            return Bound(value, sign, limit)
    return None


def _is_constant(tree: Expression, prefix: str) -> bool:
    return bool(tree.columns) and all(name.startswith(prefix) for _, name in tree.columns)


def _is_of_rows(tree: Expression, prefix: str) -> bool:
    return bool(tree.columns) and not any(name.startswith(prefix) for _, name in tree.columns)


def order_keys(column: pl.Series, *, descends: bool = False) -> tuple[Ints, Flags]:
    """Return whole numbers that compare as the values do, and which values are not NULL; the key of NULL is any.

    If it `descends`, they compare in reverse.
    """
    known = column.is_not_null().to_numpy()
    physical = column.to_physical().fill_null(0)
    if physical.dtype.is_float():
        numbers = physical.cast(pl.Float64).to_numpy() + 0.0  # so that -0.0 becomes 0.0
        bits = numbers.view(np.int64)
        # Without its sign, a negative number has larger bits the smaller it is.
        keys = np.where(bits < 0, bits ^ LARGEST, bits)
        keys[np.isnan(numbers)] = LARGEST
    else:
        keys = physical.cast(pl.Int64).to_numpy()
    return ~keys if descends else keys, known
