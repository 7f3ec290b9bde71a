"""Widening: rows of a stream, each once for every member that it is of use to.

Rule 1: pairs are made by member: all rows for the first, then for the next, each time in the order of arrival.
Rule 2: memory is bounded: members are taken in stretches that have about PIECE pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from drover.flow.families.crew import GROUP, Crew, Ints
from drover.network.expressions import to_polars
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


def enter(step: Step, index: int, rows: pl.DataFrame, crew: Crew) -> Entry:
    """Return the rows of an input (number `index`) of a step that widens it."""
    if step.common is not None:
        rows = rows.filter(to_polars(step.common))
    columns = [column.name for column in step.network.sources[index].columns]
    kept = [name for name in columns if name in rows.columns]
    if not step.keys:
        everyone = np.zeros(len(crew), dtype=np.int64)
        return Entry(rows.select(kept), np.zeros(1, np.int64), np.array([rows.height]), everyone)
    lookup = crew.lookup(step.keys)
    names = [f"k{i}" for i in range(len(step.keys))]
    sought = rows.select(to_polars(key.expression).alias(name) for name, key in zip(names, step.keys, strict=True))
    group = sought.join(lookup.values, on=names, how="left", maintain_order="left")[GROUP].fill_null(-1).to_numpy()
    order = np.argsort(group, kind="stable")
    order = order[np.searchsorted(group[order], 0) :]  # those that nobody looks for come first
    size = np.bincount(group[order], minlength=lookup.groups)
    return Entry(rows.select(kept)[order], np.cumsum(size) - size, size, lookup.group)


def stretches(entries: Sequence[Entry], members: int, most: int = PIECE) -> Iterator[tuple[int, int]]:
    """Yield positions from where to where to take members at a time; at least once, also if there is nothing to do."""
    pairs = np.zeros(members, dtype=np.int64)
    for entry in entries:
        pairs += entry.pairs
    ends = np.cumsum(pairs)
    first = 0
    while first < members:
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first = last
