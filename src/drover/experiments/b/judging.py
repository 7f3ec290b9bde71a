"""How claims of text B are judged: one policy beside others, load by load.

Rule 1: everything here is a function of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drover.experiments.summary import listed, mean, numbers_of, over, select, values_of
from drover.experiments.table import Finding, Row, unjudged


def line(rows: pl.DataFrame, policy: str, y: str, x: str = "load") -> list[float]:
    """Return the means of a policy for rising x."""
    part = select(rows, policy=policy)
    return [mean(part, y, **{x: value}) for value in numbers_of(rows, x)]


def told(rows: pl.DataFrame, policies: Sequence[str], y: str, x: str = "load") -> str:
    """Return the means of several policies in words."""
    words = "; ".join(f"{policy} {listed(line(rows, policy, y, x))}" for policy in policies)
    return f"{y} at {x} {listed(numbers_of(rows, x))}: {words}"


def below(
    rows: pl.DataFrame,
    first: Sequence[str],
    others: Sequence[str],
    y: str = "latency_ratio",
    *,
    factor: float = 1.0,
    least: float = 0.0,
    where: Row | None = None,
) -> Finding:
    """Find whether each of `first` times a factor is below each of `others`, at every load of at least `least`.

    `where` says which rows count.
    """
    part = select(rows, **dict(where or {}))
    known = {str(name) for name in values_of(part, "policy")}
    loads = [load for load in numbers_of(part, "load") if load >= least] if len(part) else []
    if not {*first, *others} <= known or not loads:
        return unjudged(f"{', '.join((*first, *others))} were not all run at loads that count")
    high = part.filter(pl.col("load") >= least)
    margins = [
        over(theirs, mine)
        for one in first
        for other in others
        for mine, theirs in zip(line(high, one, y), line(high, other, y), strict=True)
    ]
    words = f"{told(part, (*first, *others), y)}; least margin {min(margins):.3g} times"
    return Finding(f"{words}{f' from load {least:g} on' if least else ''}", all(each > factor for each in margins))
