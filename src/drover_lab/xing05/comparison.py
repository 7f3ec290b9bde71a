"""How claims of [Xing05] compare policies, load by load.

Rule 1: every function here depends on result rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drover_lab import lines
from drover_lab.summary import numbers_of, over, select, values_of
from drover_lab.table import Finding, Row, unjudged


def describe_means(rows: pl.DataFrame, policies: Sequence[str], y: str, x: str = "load") -> str:
    """Return the means of several policies as text that begins with the name of the column."""
    return f"{y} {lines.describe_means(rows, policies, y, x)}"


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
    # Compare load by load: a mean over loads would hide a load at which the order is reversed.
    margins = [
        over(theirs, mine)
        for one in first
        for other in others
        for mine, theirs in zip(lines.line(high, one, y, "load"), lines.line(high, other, y, "load"), strict=True)
    ]
    words = f"{describe_means(part, (*first, *others), y)}; least margin {min(margins):.3g} times"
    return Finding(f"{words}{f' from load {least:g} on' if least else ''}", all(each > factor for each in margins))
