"""Means and correlations of rows, for figures, pages and claims.

Rule 1: every function here depends on rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from drover.load.arrays import Floats
from drover_lab.table import Panel, Value


def select(rows: pl.DataFrame, **values: Value) -> pl.DataFrame:
    """Return the rows that have these values."""
    return rows.filter([pl.col(name) == value for name, value in values.items()]) if values else rows


def mean(rows: pl.DataFrame, column: str, **values: Value) -> float:
    """Return the mean of the finite values of a column over the rows that have these values; NaN if there are none."""
    found = select(rows, **values)[column].cast(pl.Float64)
    found = found.filter(found.is_finite())
    return float(found.mean()) if len(found) else math.nan  # type: ignore[arg-type]  # a mean of floats is a float


def values_of(rows: pl.DataFrame, column: str) -> list[Value]:
    """Return the distinct values of a column in order of their first row."""
    return rows[column].unique(maintain_order=True).to_list()


def numbers_of(rows: pl.DataFrame, column: str) -> list[float]:
    """Return the distinct numbers of a column in ascending order."""
    return [float(value) for value in rows[column].unique().sort().to_list()]


def means(rows: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """Return, for every line and x of a panel, the mean of y over seeds, its standard error and the number of seeds.

    Values that are not finite are left out: in those rows there was nothing to measure.
    """
    kept = select(rows, **dict(panel.where))
    keys = [panel.line, panel.x] if panel.line else [panel.x]
    y = pl.col(panel.y).cast(pl.Float64)
    finite = y.filter(y.is_finite())
    error = (finite.std() / finite.count().sqrt()).fill_null(0.0)
    return (
        kept.group_by(keys, maintain_order=True)
        .agg(mean=finite.mean(), error=error, count=finite.count())
        .filter(pl.col("count") > 0)
    )


def ranks(values: Sequence[float] | Floats) -> Floats:
    """Return the rank of each value; equal values get the mean of their ranks."""
    array = np.asarray(values, dtype=np.float64)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    return np.asarray(below + ((array[:, None] == array[None, :]).sum(axis=1) - 1) / 2)


def rank_correlation(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return Spearman's rank correlation; NaN if either side is constant or has fewer than two values."""
    if len(x) < 2:
        return math.nan
    one = ranks(x)
    other = ranks(y)
    if one.std() == 0 or other.std() == 0:
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def bins(x: Floats, count: int) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the indices of x, sorted by x, in `count` groups of nearly equal size."""
    return [part for part in np.array_split(np.argsort(x, kind="stable"), count) if len(part)]


def column(rows: pl.DataFrame, name: str) -> Floats:
    """Return a column as floats."""
    return np.asarray(rows[name].cast(pl.Float64).to_numpy())


def over(one: float, other: float) -> float:
    """Return a ratio; infinity if only the denominator is 0, NaN if both are."""
    return one / other if other else math.inf if one > 0 else math.nan


def listed(values: Iterable[float], digits: int = 3) -> str:
    """Return numbers as text, such as 0.082, 0.3, 0.622."""
    return ", ".join(f"{value:.{digits}g}" for value in values)
