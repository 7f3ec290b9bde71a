"""Partial aggregates: what a pane stores of its rows, so that panes can be merged into windows.

Rule 1: merging partials in any order and grouping gives the same as aggregating all rows at once. Only the last digits
of float sums may differ. `aggregates` defines the meaning.
Rule 2: partials are plain Arrow columns, so that they can be written to the log. Totals of whole numbers are stored as
a high and a low half, because Arrow has no 128-bit integer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from drover.network.expressions import AggregateCall, to_polars
from drover.network.types import DATE, DOUBLE, FLOAT, INTEGERS, TIMESTAMP, TIMESTAMP_NTZ, polars_type

HALF: Final = 2**32
SUM: Final = "sum"
LEAST: Final = "least"
GREATEST: Final = "greatest"
ORDERED: Final = frozenset({*INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ})  # types that compare as numbers
Columns = Mapping[str, pl.Expr]


@dataclass(frozen=True, slots=True)
class Fold:
    """How to make a column row by row: `how` (SUM, LEAST or GREATEST) takes in one value after the other.

    A sum has no NULL among its values. For the extremes, NULL does not count, and NaN is the largest number.
    """

    values: pl.Expr
    how: str


@dataclass(frozen=True, slots=True)
class Partial:
    """How one aggregate is stored: `make` from rows, `merge` from partials, `finish` from merged partials.

    `folds` give the same as `make`, row by row; None if there is no such way.
    `rolls_up` says that merging gives the same bits as making, whatever the pieces and their order, and is not slower.
    Floats give others: sums round, and of 0.0 and -0.0, which are equal, the first one wins. `first` and `last` sort
    every group, so small groups are the slow ones.
    """

    make: Columns
    merge: Columns
    finish: pl.Expr
    folds: Mapping[str, Fold] | None = None
    rolls_up: bool = False


def make_partial(aggregate: AggregateCall, time: str, prefix: str) -> Partial:
    """Return how an aggregate is stored in columns that start with `prefix`; count distinct has no partial."""
    if aggregate.argument is None:
        n = f"{prefix}n"
        folds = {n: Fold(pl.repeat(1, pl.len(), dtype=pl.Int64), SUM)}
        return Partial({n: pl.len().cast(pl.Int64)}, {n: pl.col(n).sum()}, pl.col(n), folds, rolls_up=True)
    x = to_polars(aggregate.argument)
    return BUILDERS[aggregate.function](aggregate, x, pl.col(time), prefix)


def common_prefix(aggregate: AggregateCall) -> str:
    """Return a prefix that aggregates of one stream have in common if and only if they store the same."""
    stored = STORED_AS.get(aggregate.function, aggregate.function)
    # Not the argument itself: to Python, 0.0 and -0.0 are equal. Its text may be long, so the name is its digest.
    return f"drover.{hashlib.sha256(f'{stored} {aggregate.argument!r}'.encode()).hexdigest()}."


def _count(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    n = f"{prefix}n"
    return Partial({n: x.count().cast(pl.Int64)}, {n: pl.col(n).sum()}, pl.col(n), {n: _counted(x)}, rolls_up=True)


def _counted(x: pl.Expr) -> Fold:
    """Count values, NULL not counted."""
    return Fold(x.is_not_null().cast(pl.Int64), SUM)


def _total(aggregate: AggregateCall, x: pl.Expr, prefix: str) -> tuple[dict[str, pl.Expr], pl.Expr]:
    """Return the summands of an exact (whole numbers) or double total, and the total of their sums."""
    if _is_whole(aggregate):
        wide = x.cast(pl.Int64)
        high = f"{prefix}high"
        low = f"{prefix}low"
        return {high: wide // HALF, low: wide % HALF}, pl.col(high).cast(pl.Int128) * HALF + pl.col(low).cast(pl.Int128)
    total = f"{prefix}total"
    return {total: x.cast(pl.Float64)}, pl.col(total)


def _is_whole(aggregate: AggregateCall) -> bool:
    """Return whether the values are whole numbers."""
    return aggregate.argument is not None and aggregate.argument.type.is_integer


def _summed(aggregate: AggregateCall, x: pl.Expr, prefix: str, finish: Callable[[pl.Expr], pl.Expr]) -> Partial:
    n = f"{prefix}n"
    summands, total = _total(aggregate, x, prefix)
    made = {name: one.sum() for name, one in summands.items()} | {n: x.count().cast(pl.Int64)}
    merged = {name: pl.col(name).sum() for name in made}
    folds = {name: Fold(one.fill_null(0), SUM) for name, one in summands.items()} | {n: _counted(x)}
    return Partial(made, merged, pl.when(pl.col(n) > 0).then(finish(total)), folds, rolls_up=_is_whole(aggregate))


def _sum(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    return _summed(aggregate, x, prefix, lambda total: total.cast(polars_type(aggregate.type), strict=False))


def _avg(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    return _summed(aggregate, x, prefix, lambda total: total.cast(pl.Float64) / pl.col(f"{prefix}n"))


def _least(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    v = f"{prefix}v"
    folds = {v: Fold(x, LEAST)} if aggregate.type in ORDERED else None
    return Partial({v: x.min()}, {v: pl.col(v).min()}, pl.col(v), folds, rolls_up=not aggregate.type.is_float)


def _greatest(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    v = f"{prefix}v"
    folds = {v: Fold(x, GREATEST)} if aggregate.type in ORDERED else None
    if aggregate.type.is_float:  # NaN is the largest number
        return Partial({v: x.nan_max()}, {v: pl.col(v).nan_max()}, pl.col(v), folds)
    return Partial({v: x.max()}, {v: pl.col(v).max()}, pl.col(v), folds, rolls_up=True)


def _moments(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    """Keep count, mean and sum of squared deviations; merged as Chan, Golub and LeVeque do."""
    n, mean, squares = (f"{prefix}{name}" for name in ("n", "mean", "squares"))
    value = x.cast(pl.Float64)
    made = {
        n: x.count().cast(pl.Int64),
        mean: value.mean().fill_null(0.0),
        squares: ((value - value.mean()) ** 2).sum(),
    }
    whole = pl.col(n).sum()
    centre = (pl.col(n) * pl.col(mean)).sum() / whole
    merged = {
        n: whole,
        mean: pl.when(whole > 0).then(centre).otherwise(0.0),
        squares: pl.col(squares).sum() + (pl.col(n) * (pl.col(mean) - centre) ** 2).sum().fill_nan(0.0),
    }
    variance = pl.when(pl.col(n) > 1).then(pl.col(squares) / (pl.col(n) - 1))
    return Partial(made, merged, variance.sqrt() if aggregate.function == "stddev" else variance)


def _first(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    t = f"{prefix}t"
    v = f"{prefix}v"
    made = {t: time.min(), v: x.sort_by(time, x, nulls_last=False, maintain_order=True).get(0, null_on_oob=True)}
    merged = {
        t: pl.col(t).min(),
        v: pl.col(v).sort_by(pl.col(t), pl.col(v), nulls_last=False, maintain_order=True).get(0, null_on_oob=True),
    }
    return Partial(made, merged, pl.col(v))


def _last(aggregate: AggregateCall, x: pl.Expr, time: pl.Expr, prefix: str) -> Partial:
    t = f"{prefix}t"
    v = f"{prefix}v"
    made = {t: time.max(), v: x.sort_by(time, x, nulls_last=False, maintain_order=True).get(-1, null_on_oob=True)}
    merged = {
        t: pl.col(t).max(),
        v: pl.col(v).sort_by(pl.col(t), pl.col(v), nulls_last=False, maintain_order=True).get(-1, null_on_oob=True),
    }
    return Partial(made, merged, pl.col(v))


STORED_AS: Final = {"avg": "sum", "variance": "stddev"}  # functions that store what another one stores
BUILDERS: Final[Mapping[str, Callable[[AggregateCall, pl.Expr, pl.Expr, str], Partial]]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _least,
    "max": _greatest,
    "stddev": _moments,
    "variance": _moments,
    "first": _first,
    "last": _last,
}
