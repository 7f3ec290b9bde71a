"""Bands: bounds that a join's predicate implies for the distance between a left and a right value.

Rule 1: a band never replaces the predicate. Without a band the result is the same, only slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.network.expressions import Call, Expression, to_polars
from drover.network.types import DOUBLE, FLOAT

Floats = NDArray[np.float64]

FLIPPED: Final[Mapping[str, str]] = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


@dataclass(frozen=True, slots=True)
class Band:
    """`key`, of the rows of one side, lies between `low` and `high`, of those of the other; all are numbers."""

    side: str  # of the key
    key: pl.Expr
    low: pl.Expr
    high: pl.Expr


def find_band(predicate: Expression | None, sorted_side: str) -> Band | None:
    """Return a band that the predicate implies, with its key on that side where there is a choice; None if it has none.

    Bands are `abs(left.x - right.y) <= c` and `left.x BETWEEN right.y - c AND right.z`, among conditions joined by AND,
    with any expressions of one side in place of columns.
    """
    if predicate is None:
        return None
    conditions = list(_conjuncts(predicate))
    for condition in conditions:
        if (band := _distance(condition, sorted_side)) is not None:
            return band
    return _between(conditions)


def numbers(rows: pl.DataFrame, expression: pl.Expr) -> Floats:
    """Return an expression over rows as floats: NULL is NaN, and NaN, which SQL puts above all numbers, is infinite."""
    value = expression.cast(pl.Float64, strict=False).fill_nan(float("inf"))
    return rows.select(value.alias("x")).get_column("x").fill_null(float("nan")).to_numpy()


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and node.function == "and":
            waiting.extend(reversed(node.arguments))
        else:
            yield node


def _side(expression: Expression) -> str | None:
    """Return the one side whose columns it uses; "" for none, None for both."""
    sides = {side for side, _ in expression.columns}
    return None if len(sides) > 1 else next(iter(sides), "")


def _is_number(expression: Expression) -> bool:
    return expression.type.is_integer or expression.type.is_float or expression.type.name == "decimal"


def _bare(expression: Expression) -> Expression:
    """Return what is cast, if the cast cannot change the number by more than rounding."""
    while isinstance(expression, Call) and expression.function == "cast":
        (inner,) = expression.arguments
        # A double may be too large or too small for a float, which is then infinite or zero.
        widens = expression.type.is_float and not (expression.type == FLOAT and inner.type == DOUBLE)
        if not _is_number(inner) or not (widens or inner.type.is_integer):
            break
        expression = inner
    return expression


def _comparison(condition: Expression) -> tuple[str, Expression, Expression] | None:
    if isinstance(condition, Call) and condition.function in FLIPPED:
        one, other = condition.arguments
        if _is_number(one) and _is_number(other):
            return condition.function, one, other
    return None


def _distance(condition: Expression, sorted_side: str) -> Band | None:
    """Return the band of abs(x - y) <= c."""
    found = _comparison(condition)
    if found is None:
        return None
    function, apart, most = found
    if function in (">=", ">"):
        apart, most = most, apart
    apart = _bare(apart)
    if _side(most) != "" or not (isinstance(apart, Call) and apart.function == "abs"):
        return None
    difference = _bare(apart.arguments[0])
    if not (isinstance(difference, Call) and difference.function == "-" and len(difference.arguments) == 2):
        return None
    sides = {_side(one): to_polars(one).cast(pl.Float64) for one in difference.arguments}
    if set(sides) != {"left", "right"}:
        return None
    (other,) = (expression for side, expression in sides.items() if side != sorted_side)
    reach = to_polars(most).cast(pl.Float64)
    constant = pl.select(reach).item()
    # In SQL every number is below NaN, and infinity is infinitely far from all others: neither gives a bound.
    if constant is not None and not np.isfinite(constant):
        return None
    return Band(sorted_side, sides[sorted_side], other - reach, other + reach)


def _between(conditions: list[Expression]) -> Band | None:
    """Return the band of a value of one side with a lower and an upper bound of the other side."""
    bounds: dict[Expression, dict[str, Expression]] = {}
    for condition in conditions:
        found = _comparison(condition)
        if found is None or {_side(found[1]), _side(found[2])} != {"left", "right"}:
            continue
        function, one, other = found
        for key, says, bound in ((one, function, other), (other, FLIPPED[function], one)):
            bounds.setdefault(_bare(key), {}).setdefault("high" if says in ("<=", "<") else "low", bound)
    for key, known in bounds.items():
        side = _side(key)
        if len(known) == 2 and side is not None:
            return Band(side, to_polars(key), to_polars(known["low"]), to_polars(known["high"]))
    return None
