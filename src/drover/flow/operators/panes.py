"""Pane tables: the partial aggregates of a batch of rows, one row per pane and group, for several aggregates at once.

Rule 1: a table is made from the rows, or rolled up from a finer table: one whose panes divide its panes and whose
groups divide its groups.
Rule 2: which way is taken never shows. Merging gives the same bits as making for all that rolls up. Rows of a table
come in the order in which their groups first appear, and rolling up keeps this order. So an aggregate gives the same
bytes alone and beside others, and a move changes nothing.
Rule 3: a sum of floats depends on the order of additions. So it is made from rows, and shared only among aggregates
with the same panes and groups. The oracle would allow for 1e-9, but then a move could change the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import polars as pl

from drover.flow.operators.partials import Partial
from drover.network.durations import Micros

PANE: Final = "drover.pane"  # first microsecond of a pane; names with a dot cannot collide with columns
# A table is rolled up from one with at most this fraction of the rows. A row of a table takes as long as a row of the
# stream, or a little less: measured with 5,000 and 100,000 rows and tables of 0.2 to 0.99 times their length.
PAYS: Final = 0.9


class PaneKey(NamedTuple):
    """What the rows of a table have in common: a pane of this width, and the values of these columns."""

    width: Micros
    groups: frozenset[str]

    def divides(self, other: PaneKey) -> bool:
        """Return whether each pane and group of this key lies within one of the other."""
        return other.width % self.width == 0 and other.groups <= self.groups


@dataclass(frozen=True, slots=True)
class PaneNeeds:
    """A table that somebody needs; its partials have the prefixes that aggregates have in common.

    To count different values, one needs a table without partials that is grouped by the values, too.
    """

    key: PaneKey
    partials: Mapping[str, Partial] = field(default_factory=dict)  # by prefix
    values: Mapping[str, pl.Expr] = field(default_factory=dict)  # groups of the key that are no columns of the stream

    @property
    def rolls_up(self) -> bool:
        """Whether the table may be made from a finer one."""
        return all(partial.rolls_up for partial in self.partials.values())


@dataclass(frozen=True, slots=True)
class PaneTable:
    """A table, and what making it took."""

    panes: pl.DataFrame
    partials: frozenset[str]  # prefixes
    source: PaneKey | None  # the table from which it was rolled up; None if it was made from the rows
    busy: float  # CPU seconds


def pane_of_row(time: str, width: Micros) -> pl.Expr:
    """Return the pane of a row, from its column with event time."""
    micros = pl.col(time).dt.epoch("us")
    return (micros - micros % width).alias(PANE)


def panes_of_rows(rows: pl.DataFrame, time: str, needs: PaneNeeds) -> pl.DataFrame:
    """Return a table made from rows; `time` is the column with event time."""
    made = [expr.alias(name) for partial in needs.partials.values() for name, expr in partial.make.items()]
    if needs.values:
        rows = rows.with_columns(expr.alias(name) for name, expr in needs.values.items())
    return _grouped(rows, pane_of_row(time, needs.key.width), needs.key.groups, made)


def roll_up(panes: pl.DataFrame, needs: PaneNeeds) -> pl.DataFrame:
    """Return a table made from a finer one."""
    merged = [expr.alias(name) for partial in needs.partials.values() for name, expr in partial.merge.items()]
    return _grouped(panes, pl.col(PANE) - pl.col(PANE) % needs.key.width, needs.key.groups, merged)


def _grouped(rows: pl.DataFrame, pane: pl.Expr, groups: Iterable[str], values: list[pl.Expr]) -> pl.DataFrame:
    # The pane is an expression, not a column. By columns alone, Polars 2.1 adds floats in another order if all values
    # are plain sums, counts and the like, so that a sum could depend on what is computed beside it.
    return rows.group_by(pane, *sorted(groups), maintain_order=True).agg(values)


def plan_tables(needs: Iterable[PaneNeeds]) -> list[PaneNeeds]:
    """Return one table per key with all that is needed of it, fine ones first.

    A fine table gets no column for the sake of a coarser one. From 100,000 rows, a column of a fine table takes as long
    as it does in the coarse one with its grouping.
    """
    partials: dict[PaneKey, dict[str, Partial]] = {}
    values: dict[PaneKey, Mapping[str, pl.Expr]] = {}
    for one in needs:
        partials.setdefault(one.key, {}).update(one.partials)
        values[one.key] = one.values
    # A key that divides another has more columns, or the same columns and shorter panes.
    keys = sorted(partials, key=lambda key: (-len(key.groups), key.width))
    return [PaneNeeds(key, partials[key], values[key]) for key in keys]


def make_tables(
    rows: pl.DataFrame, time: str, planned: Iterable[PaneNeeds], cpu: Callable[[], float]
) -> dict[PaneKey, PaneTable]:
    """Return the planned tables for a batch of rows; `cpu` returns the CPU seconds used so far."""
    tables: dict[PaneKey, PaneTable] = {}
    for needs in planned:
        started = cpu()
        source = choose_source(needs, tables, rows.height)
        panes = panes_of_rows(rows, time, needs) if source is None else roll_up(tables[source].panes, needs)
        tables[needs.key] = PaneTable(panes, frozenset(needs.partials), source, cpu() - started)
    return tables


def choose_source(needs: PaneNeeds, tables: Mapping[PaneKey, PaneTable], rows: int) -> PaneKey | None:
    """Return the shortest table to roll up from; None if there is none that is shorter than the rows."""
    if not needs.rolls_up:
        return None
    finer = [
        key
        for key, table in tables.items()
        if key.divides(needs.key) and needs.partials.keys() <= table.partials and table.panes.height <= PAYS * rows
    ]
    return min(finer, key=lambda key: tables[key].panes.height, default=None)


def divide_costs(tables: Mapping[PaneKey, PaneTable], users: Mapping[str, Iterable[PaneKey]]) -> dict[str, float]:
    """Return the share of each user in the CPU seconds of all tables; `users` has the tables that each of them reads.

    The cost of a table is divided equally among the users that it serves, directly or by a table rolled up from it. So
    shares add up to what was spent, and one who reads a coarse table pays its part of the finer ones.
    """
    served: dict[PaneKey, list[str]] = {}
    for user, keys in users.items():
        for step in dict.fromkeys(step for key in keys for step in _way(tables, key)):
            served.setdefault(step, []).append(user)
    shares = dict.fromkeys(users, 0.0)
    for key, names in served.items():
        for name in names:
            shares[name] += tables[key].busy / len(names)
    return shares


def _way(tables: Mapping[PaneKey, PaneTable], key: PaneKey) -> Iterator[PaneKey]:
    """Yield a table and those from which it was rolled up."""
    step: PaneKey | None = key
    while step is not None:
        yield step
        step = tables[step].source
