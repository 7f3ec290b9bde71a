"""Means of rows: what figures draw, pages print and claims compare.

Rule 1: everything here is a function of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from drover.experiments.table import Panel, Value
from drover.load.arrays import Floats


def select(rows: pl.DataFrame, **values: Value) -> pl.DataFrame:
    """Return the rows that have these values."""
    return rows.filter([pl.col(name) == value for name, value in values.items()]) if values else rows


def mean(rows: pl.DataFrame, column: str, **values: Value) -> float:
    """Return the mean of a column over the rows that have these values; NaN if there are none, or none is finite."""
    found = select(rows, **values)[column].cast(pl.Float64)
    found = found.filter(found.is_finite())
    return float(found.mean()) if len(found) else math.nan  # type: ignore[arg-type]  # a mean of floats is a float


def values_of(rows: pl.DataFrame, column: str) -> list[Value]:
    """Return the values of a column in the order in which they first come."""
    return rows[column].unique(maintain_order=True).to_list()


def numbers_of(rows: pl.DataFrame, column: str) -> list[float]:
    """Return the numbers in a column, from the smallest, each once."""
    return [float(value) for value in rows[column].unique().sort().to_list()]


def means(rows: pl.DataFrame, panel: Panel) -> pl.DataFrame:
    """Return, for every line and x of a panel, the mean of y over seeds, its standard error, and how many there were.

    Values that are not finite count for nothing: they say that there was nothing to measure.
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
    """Return the rank of each value; equal ones share the mean of theirs."""
    array = np.asarray(values, dtype=np.float64)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    return np.asarray(below + ((array[:, None] == array[None, :]).sum(axis=1) - 1) / 2)


def rank_correlation(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return Spearman's correlation, 1 if y rises with x throughout; NaN if there is nothing to correlate."""
    if len(x) < 2:
        return math.nan
    one, other = ranks(x), ranks(y)
    if one.std() == 0 or other.std() == 0:
        return math.nan
    return float(np.corrcoef(one, other)[0, 1])


def bins(x: Floats, count: int) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the indices of x in so many groups of nearly equal size, by rising x."""
    return [part for part in np.array_split(np.argsort(x, kind="stable"), count) if len(part)]


def column(rows: pl.DataFrame, name: str) -> Floats:
    """Return a column as floats."""
    return np.asarray(rows[name].cast(pl.Float64).to_numpy())


def over(one: float, other: float) -> float:
    """Return one number over another: infinite over nothing, NaN if there is nothing over nothing."""
    return one / other if other else math.inf if one > 0 else math.nan


def listed(values: Iterable[float], digits: int = 3) -> str:
    """Return numbers in a row, for people: 0.082, 0.3, 0.622."""
    return ", ".join(f"{value:.{digits}g}" for value in values)
