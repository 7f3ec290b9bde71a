"""The panes of all members of a family at once: each member takes a part of the cells of its key.

Rule 1: with one bound, a member takes the first rows of a cell, and finds their aggregates by a binary search. With
more bounds, these rows are looked at one by one, and none is copied.
Rule 2: memory is bounded: members with several bounds are processed in slices of about MOST_PAIRS rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from drover.flow.families.bounds import Bound, Flags
from drover.flow.families.cells import Cells, FoldedColumn, SortedCells, cells_of
from drover.flow.families.cells_kernels import narrow, reach
from drover.flow.families.fan_out import MOST_PAIRS, Memo, match_members, member_slices
from drover.flow.families.local_members import Ints, LocalMembers, MemberVariant
from drover.flow.families.shared_aggregates import SharedAggregate
from drover.flow.operators import UnitState, Watermarks
from drover.flow.operators.aggregate import RunAggregate
from drover.flow.operators.panes import PANE


def update_panes(
    shared: SharedAggregate,
    runner: RunAggregate,
    rows: pl.DataFrame,
    local: LocalMembers,
    state: UnitState,
    watermark: Watermarks,
    memo: Memo | None = None,
) -> tuple[Ints, int]:
    """Add the rows of a batch to the panes of all members.

    Return the number of rows of each member, (n,), and how many rows came too late, counted for each member.
    """
    coded, code = match_members(local.shape.steps[shared.reader], rows, local, memo)
    rows_in = np.where(code >= 0, coded.size[code], 0)
    if not rows_in.any():
        return rows_in, 0
    own = tuple(name for name in runner.groups if name != local.shape.member)
    cells, dropped = cells_of(coded, runner.time, runner.pane, own, runner.oldest(watermark))
    pieces = []
    for variant in local.variants(local.shape.steps[shared.aggregate].constants) or ():
        columns = _columns(runner, variant)
        mine = code if len(variant.members) == len(code) else _only(code, variant)
        pieces += [_panes(taken, cells, columns, runner, local) for taken in _taken(cells, mine, shared.bounds, local)]
    if pieces:
        runner.take_panes(pieces[0] if len(pieces) == 1 else pl.concat(pieces), state)
    late = 0
    if dropped is not None:
        late = sum(taken.count for taken in _taken(dropped, code, shared.bounds, local))
    return rows_in, late


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """The rows that members take of cells: all up to a place, or those at some places."""

    rows: SortedCells
    members: Ints  # (pairs,) positions
    cells: Ints  # (pairs,)
    stop: Ints  # (pairs,) place after the last row
    places: Ints | None = None
    ends: Ints | None = None  # (pairs,) end of each pair's part of the places

    @property
    def count(self) -> int:
        """How many rows these are."""
        if self.places is not None:
            return len(self.places)
        return int((self.stop - self.rows.start[self.cells]).sum())

    def fold(self, column: FoldedColumn) -> pl.Series:
        """Return a column of the panes of the members, (pairs,)."""
        if self.places is None or self.ends is None:
            return self.rows.first_rows(column, self.stop - 1)
        return self.rows.some_rows(column, self.places, self.ends)


def _taken(cells: Cells, code: Ints, bounds: tuple[Bound, ...], local: LocalMembers) -> Iterator[_Taken]:
    """Yield what members take of cells, slice by slice; `code` is that of each member's key."""
    rows = cells.sorted_by(bounds)
    limits, complete = local.limits(bounds)
    if complete is not None:
        code = np.where(complete, code, -1)
    strict = np.array([bound.is_strict for bound in bounds], dtype=bool)
    chosen = np.flatnonzero(code >= 0)
    pairs = np.diff(cells.first)[code[chosen]]
    looked_at = pairs if len(bounds) < 2 else np.diff(rows.start[cells.first])[code[chosen]]
    for first, last in member_slices(looked_at, MOST_PAIRS):
        found = [np.empty(int(pairs[first:last].sum()), np.int64) for _ in range(3)]
        count = reach(chosen[first:last], code, cells.first, rows.start, rows.keys, limits, strict, *found)
        if count:
            members, at, stop = (one[:count] for one in found)
            taken = _Taken(rows, members, at, stop)
            yield taken if len(bounds) < 2 else _narrowed(taken, limits, strict)


def _narrowed(taken: _Taken, limits: Ints, strict: Flags) -> _Taken:
    """Return only the rows that are within all limits but the first, which all are."""
    rows = taken.rows
    places = np.empty(taken.count, np.int64)
    ends = np.empty(len(taken.members), np.int64)
    count = narrow(taken.members, taken.cells, taken.stop, rows.start, rows.keys, limits, strict, places, ends)
    some = np.diff(ends, prepend=0) > 0
    return _Taken(rows, taken.members[some], taken.cells[some], taken.stop[some], places[:count], ends[some])


def _columns(runner: RunAggregate, variant: MemberVariant) -> list[FoldedColumn]:
    """Return the columns of panes for the members of a variant, under the names that families have in common."""
    key = variant.key if variant.constants.width else ""
    return [
        FoldedColumn(name, fold, variant.constants, key)
        for partial in runner.needs.partials.values()
        for name, fold in (partial.folds or {}).items()
    ]


def _only(code: Ints, variant: MemberVariant) -> Ints:
    """Return the codes of the members of a variant, and -1 for all others."""
    mine = np.full(len(code), -1)
    mine[variant.members] = code[variant.members]
    return mine


def _panes(
    taken: _Taken, cells: Cells, columns: list[FoldedColumn], runner: RunAggregate, local: LocalMembers
) -> pl.DataFrame:
    """Return the panes that members make of the rows that they take."""
    member = local.shape.member
    made = {
        PANE: pl.Series(PANE, cells.pane[taken.cells]),
        member: pl.Series(member, local.numbers[taken.members]),
        **{column.name: taken.fold(column) for column in columns},
    }
    for name in runner.groups:
        if name != member:
            made[name] = cells.coded.rows[name].gather(pl.Series(cells.row[taken.cells]))
    kept = [made[name] for name in (PANE, *runner.groups)]
    return pl.DataFrame([*kept, *(made[common].alias(name) for name, common in runner.stored.items())])
