"""The core of windows: the panes that all windows have in common that close in a batch.

Windows that overlap have most of their panes in common. These are merged once, and not once per window.

Rule 1: this never shows. Only partials that roll up are merged here, so values have the same bits, and rows stay in the
order in which groups first appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from drover.flow.operators.panes import PANE
from drover.network.durations import Micros
from drover.network.operators import Aggregate

RECURRING: Final = 0.5  # the fraction of groups that two panes must have in common; with fewer, merging saves no rows
PLACE: Final = "drover.place"  # of a row among all panes


def merge_core(
    operator: Aggregate, panes: pl.DataFrame, ends: range, pane: Micros, merges: Sequence[pl.Expr]
) -> pl.DataFrame:
    """Return fewer panes that give the same windows, those that end at `ends`; the core counts as its first pane."""
    begin, end = ends[-1] - operator.size, ends[0]
    if not (core_pays(operator, ends, pane) and _recurs(operator, panes, begin, end - pane)):
        return panes
    placed = panes.with_row_index(PLACE)
    within = pl.col(PANE).is_between(begin, end, closed="left")
    needed = pl.col(PANE).is_between(ends[0] - operator.size, ends[-1], closed="left")
    core = placed.filter(within).group_by(operator.group_by, maintain_order=True).agg(pl.col(PLACE).first(), *merges)
    merged = core.with_columns(pl.lit(begin, pl.Int64).alias(PANE)).select(placed.columns)
    return pl.concat([placed.filter(needed & within.not_()), merged]).sort(PLACE).drop(PLACE)


def core_pays(operator: Aggregate, ends: range, pane: Micros) -> bool:
    """Return whether fewer panes are merged if the core is merged first."""
    windows = len(ends)
    panes = operator.size // pane
    outside = (windows - 1) * operator.advance // pane  # panes of each window that are not in the core
    return bool(operator.group_by) and panes - outside + windows * (1 + outside) < windows * panes


def _recurs(operator: Aggregate, panes: pl.DataFrame, first: Micros, last: Micros) -> bool:
    """Return whether groups come back: those of one pane in another."""
    one, other = (panes.filter(pl.col(PANE) == at) for at in (first, last))
    found = one.join(other, on=operator.group_by, how="semi", nulls_equal=True)
    return found.height > RECURRING * one.height
