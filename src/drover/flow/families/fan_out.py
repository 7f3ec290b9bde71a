"""Fan-out: each row of a stream is repeated for every member that needs it.

Rule 1: the pairs of rows and members are ordered by member, and within a member by arrival.
Rule 2: memory is bounded: members are processed in slices of about MOST_PAIRS pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import polars as pl

from drover.flow.families.local_members import GROUP, Ints, LocalMembers, Lookup
from drover.flow.operators.base import passing
from drover.network.expressions import Expression, to_polars
from drover.network.queries.shape import ShapeStep

MOST_PAIRS: Final = 2_000_000  # at a time
SMALL: Final = 2**15  # groups; their numbers fit into 16 bits
CODE: Final = "drover.code"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """The input rows of a step, and their order by the group of members that need them."""

    rows: pl.DataFrame
    order: Ints  # positions of rows by group, and within a group by arrival
    start: Ints  # (groups,) place in the order of the first row of each group
    size: Ints  # (groups,) rows of each group
    group: Ints  # (n,) of each member

    @property
    def pairs(self) -> Ints:
        """(n,) rows that each member needs."""
        return self.size[self.group]

    def fan_out(self, first: int, last: int) -> tuple[pl.DataFrame, Ints]:
        """Return the rows of the members at positions `first` to `last` - 1, and the position of each row's member."""
        # Count up over all pairs, and shift the count of each member to the first row of its group.
        group = self.group[first:last]
        counts = self.size[group]
        positions = np.repeat(np.arange(first, last), counts)
        ends = np.cumsum(counts)
        chosen = np.arange(len(positions)) + np.repeat(self.start[group] - (ends - counts), counts)
        return self.rows[self.order[chosen]], positions


def group_rows(
    step: ShapeStep, index: int, rows: pl.DataFrame, local: LocalMembers, memo: Memo | None = None
) -> GroupedRows:
    """Return the rows of input number `index` of a step, ready to fan out."""
    coded, group, lookup = _grouped(step, rows, local, memo)
    wanted = step.network.sources[index].schema.names
    kept = pl.DataFrame([coded.rows[name] for name in wanted if name in coded.rows.columns])
    if lookup is None:
        one_group = np.zeros(len(local), np.int64)
        return GroupedRows(kept, np.arange(kept.height), np.zeros(1, np.int64), np.array([kept.height]), one_group)
    # Rows that no member needs have group -1, so they are in front. Small integers are sorted faster.
    order = np.argsort(group.astype(np.int16) if lookup.groups < SMALL else group, kind="stable")
    unneeded = int((group < 0).sum())
    size = np.bincount(group + 1, minlength=lookup.groups + 1)[1:]
    return GroupedRows(kept, order, unneeded + np.cumsum(size) - size, size, lookup.group)


def match_members(
    step: ShapeStep, rows: pl.DataFrame, local: LocalMembers, memo: Memo | None = None
) -> tuple[CodedRows, Ints]:
    """Return rows by key, and the code of each member's key, (n,), or -1 if no row has it."""
    coded = _coded(step, rows, {} if memo is None else memo)
    if not step.keys:
        return coded, np.zeros(len(local), np.int64)
    lookup = local.lookup(step.keys)
    return coded, coded.codes_of(lookup)[lookup.group]


def _grouped(
    step: ShapeStep, rows: pl.DataFrame, local: LocalMembers, memo: Memo | None
) -> tuple[CodedRows, Ints, Lookup | None]:
    """Return rows, the group of each, or -1 if no member needs it, and the groups of members."""
    coded = _coded(step, rows, {} if memo is None else memo)
    if not step.keys:
        return coded, coded.code, None
    lookup = local.lookup(step.keys)
    # Look up each distinct key once, not each row: a batch has many rows and few keys.
    names = [f"k{i}" for i in range(len(step.keys))]
    found = coded.values.join(lookup.values, on=names, how="left", maintain_order="left")[GROUP]
    return coded, found.fill_null(-1).to_numpy()[coded.code], lookup


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """The rows of a stream that pass the condition common to all members, and the values of their keys."""

    given: pl.DataFrame  # all rows; kept so that no other table gets the same id while the memo lives
    rows: pl.DataFrame
    values: pl.DataFrame  # columns k0, k1, ...: each combination once
    code: Ints  # (rows,) index into `values`; 0 without keys
    _made: dict[Hashable, Any] = field(default_factory=dict)  # Any: as the key says

    @property
    def size(self) -> Ints:
        """(codes,) rows of each code."""
        return self.once("size", lambda: np.bincount(self.code, minlength=max(self.values.height, 1)))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what follows from the rows, made the first time that any family asks for it."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def codes_of(self, lookup: Lookup) -> Ints:
        """Return the code of each group of members, (groups,), or -1 if no row has its key."""
        if lookup.listed is not None:
            index = self.once("index", lambda: {key: code for code, key in enumerate(self.values["k0"].to_list())})
            return np.array([index.get(key, -1) for key in lookup.listed], dtype=np.int64)
        names = self.values.columns
        known = self.once("codes", lambda: self.values.with_row_index(CODE))
        found = lookup.values.join(known, on=names, how="left", maintain_order="left")[CODE]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()


# Work that families of a batch share: by table (its id), common condition and keys.
Memo = dict[tuple[int, Expression | None, tuple[Expression, ...]], CodedRows]


def _coded(step: ShapeStep, given: pl.DataFrame, memo: Memo) -> CodedRows:
    keys = tuple(key.expression for key in step.keys)
    known = memo.get((id(given), step.common, keys))
    if known is None:
        rows = given if step.common is None else passing(given, to_polars(step.common))
        sides = rows.select(to_polars(one).alias(f"k{i}") for i, one in enumerate(keys))
        values = sides
        code = np.zeros(rows.height, np.int64)
        if keys:
            values = sides.unique(maintain_order=True)
            coded = sides.join(
                values.with_row_index(GROUP), on=values.columns, how="left", nulls_equal=True, maintain_order="left"
            )
            code = coded[GROUP].to_numpy().astype(np.int64)
        known = memo[id(given), step.common, keys] = CodedRows(given, rows, values, code)
    return known


def member_slices(pairs: Ints, most: int = MOST_PAIRS) -> Iterator[tuple[int, int]]:
    """Yield slices of members, as first position and end, that have at most `most` pairs or one member."""
    ends = np.cumsum(pairs)
    first = 0
    while first < len(pairs):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield first, last
        first = last
