"""The core of windows: the panes that all windows have in common that close in a batch.

Windows that overlap have most of their panes in common. These are merged once, and not once per window. Where
`sliding_sums` can give the windows, this is needed only in the batches in which those pause.

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
LEAST_SAVED: Final = 20_000  # rows; merging the core takes 1.5 ms however small it is, as long as grouping these
PLACE: Final = "drover.place"  # of a row among all panes


def core_pays(operator: Aggregate, panes: pl.DataFrame, ends: range, pane: Micros) -> bool:
    """Return whether merging the core first is faster, for windows that end at `ends`."""
    windows = len(ends)
    all_panes = operator.size // pane
    outside = (windows - 1) * operator.advance // pane  # panes of each window that are not in the core
    saved = windows * all_panes - (all_panes - outside) - windows * (1 + outside)
    if not operator.group_by or saved * panes.height < LEAST_SAVED * (all_panes + outside):
        return False
    one, other = (panes.filter(pl.col(PANE) == at) for at in (ends[-1] - operator.size, ends[0] - pane))
    recurring = one.join(other, on=operator.group_by, how="semi", nulls_equal=True)
    return recurring.height > RECURRING * one.height


def merge_core(operator: Aggregate, panes: pl.DataFrame, ends: range, merges: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return fewer panes that give the same windows, those that end at `ends`; the core counts as its first pane.

    The first of these windows ends after the last has started, and rows have groups.
    """
    begin = ends[-1] - operator.size
    end = ends[0]
    placed = panes.with_row_index(PLACE)
    within = pl.col(PANE).is_between(begin, end, closed="left")
    needed = pl.col(PANE).is_between(ends[0] - operator.size, ends[-1], closed="left")
    core = placed.filter(within).group_by(operator.group_by, maintain_order=True).agg(pl.col(PLACE).first(), *merges)
    merged = core.with_columns(pl.lit(begin, pl.Int64).alias(PANE)).select(placed.columns)
    return pl.concat([placed.filter(needed & within.not_()), merged]).sort(PLACE).drop(PLACE)
