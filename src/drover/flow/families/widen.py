"""Widening: rows of a stream, each once for every member that it is of use to.

Rule 1: pairs are made by member: all rows for the first, then for the next, each time in the order of arrival.
Rule 2: memory is bounded: members are taken in stretches that have about PIECE pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from drover.flow.families.crew import GROUP, Crew, Ints, Lookup
from drover.flow.operators.base import passing
from drover.network.expressions import Expression, to_polars
from drover.network.queries.shape import Step

PIECE: Final = 2_000_000  # pairs at a time


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Where rows of a batch enter a step: sorted by what members look for."""

    rows: pl.DataFrame  # in the order of groups, within one in the order of arrival
    start: Ints  # (groups,) first row of each group
    size: Ints  # (groups,) rows of each group
    group: Ints  # (n,) of each member

    @property
    def pairs(self) -> Ints:
        """(n,) rows of use to each member."""
        return self.size[self.group]

    def widen(self, first: int, last: int) -> tuple[pl.DataFrame, Ints]:
        """Return the rows for members from position `first` to before `last`, and the position of each row's member."""
        group = self.group[first:last]
        counts = self.size[group]
        positions = np.repeat(np.arange(first, last), counts)
        ends = np.cumsum(counts)
        chosen = np.arange(len(positions)) + np.repeat(self.start[group] - (ends - counts), counts)
        return self.rows[chosen], positions


def enter(step: Step, index: int, rows: pl.DataFrame, crew: Crew, memo: Memo | None = None) -> Entry:
    """Return the rows of an input (number `index`) of a step that widens it."""
    found, group, lookup = sought(step, rows, crew, memo)
    kept = found.select(name for name in step.network.sources[index].schema.names if name in found.columns)
    if lookup is None:
        everyone = np.zeros(len(crew), dtype=np.int64)
        return Entry(kept, np.zeros(1, np.int64), np.array([kept.height]), everyone)
    order = np.argsort(group, kind="stable")
    size = np.bincount(group, minlength=lookup.groups)
    return Entry(kept[order], np.cumsum(size) - size, size, lookup.group)


def sought(
    step: Step, rows: pl.DataFrame, crew: Crew, memo: Memo | None = None
) -> tuple[pl.DataFrame, Ints, Lookup | None]:
    """Return the rows that any member looks for, the group of each, and what members look for (None: everything)."""
    coded = _coded(step, rows, {} if memo is None else memo)
    if not step.keys:
        return coded.rows, np.zeros(coded.rows.height, np.int64), None
    lookup = crew.lookup(step.keys)
    names = [f"k{i}" for i in range(len(step.keys))]
    found = coded.values.join(lookup.values, on=names, how="left", maintain_order="left")[GROUP]
    group = found.fill_null(-1).to_numpy()[coded.code]
    chosen = np.flatnonzero(group >= 0)
    if len(chosen) == len(group):
        return coded.rows, group, lookup
    return coded.rows[chosen], group[chosen], lookup


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """The rows of a stream that pass what is the same for all members, and what they can be looked up by."""

    given: pl.DataFrame  # the rows before that: as long as they are kept, no others have their address
    rows: pl.DataFrame
    values: pl.DataFrame  # columns k0, k1, ...: each combination once
    code: Ints  # (rows,) which of them


# What families have in common within a batch: by stream, condition and keys.
Memo = dict[tuple[int, Expression | None, tuple[Expression, ...]], Coded]


def _coded(step: Step, given: pl.DataFrame, memo: Memo) -> Coded:
    keys = tuple(key.expression for key in step.keys)
    known = memo.get((id(given), step.common, keys))
    if known is None:
        rows = given if step.common is None else passing(given, to_polars(step.common))
        sides = rows.select(to_polars(one).alias(f"k{i}") for i, one in enumerate(keys))
        values, code = sides, np.zeros(rows.height, np.int64)
        if keys:
            values = sides.unique(maintain_order=True)
            coded = sides.join(
                values.with_row_index(GROUP), on=values.columns, how="left", nulls_equal=True, maintain_order="left"
            )
            code = coded[GROUP].to_numpy().astype(np.int64)
        known = memo[id(given), step.common, keys] = Coded(given, rows, values, code)
    return known


def stretches(pairs: Ints, most: int = PIECE) -> Iterator[tuple[int, int]]:
    """Yield positions from where to where to take members at a time, given how many pairs each makes."""
    ends = np.cumsum(pairs)
    first = 0
    while first < len(pairs):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first = last
