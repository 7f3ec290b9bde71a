"""Sliding sums: a window moves over panes, the panes that it reaches are added, and those that it leaves subtracted.

Merging all panes of every closing window takes as many rows as a window has. This takes the rows of two panes.

Rule 1: this never shows. Only sums of whole numbers are subtracted, so values have the same bits, and rows come in the
order in which their groups first appear: by pane, and within a pane as they arrived.
Rule 2: sums follow from the panes in the state and are never saved. They are used only for the very frame of panes that
they were worked out from, so a state that was restored, moved or brought up to date begins without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from drover.flow.operators.base import UnitState
from drover.flow.operators.panes import PANE
from drover.network.durations import Micros

Ints = NDArray[np.int64]

CODE: Final = "drover.code"  # the number of a group
LEAST_ROWS: Final = 2_000  # of panes; merging fewer takes less than a millisecond
RECURRING: Final = 0.5  # with more groups than this fraction of the rows, most of them are in one pane only
STALE: Final = 2  # groups are numbered anew once so many times as many have a number as are in the window
NOWHERE: Final = -1  # the place of a group that is not in the window
# Batches without sliding sums. At first, one must show that the state stays here: Spark may give an operator to another
# process in every batch. After a row for a pane that is in the sums already, more such rows are likely, and sums would
# be worked out for nothing.
AT_FIRST: Final = 1
AFTER_LATE: Final = 8
AFTER_NEW: Final = 32  # if most groups are new


@dataclass(slots=True)
class PauseSums:
    """For so many batches, windows are merged without sliding sums."""

    batches: int


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Rows of one pane that came together, each of another group."""

    codes: Ints  # (r,)
    values: Ints  # (c, r)


class SlidingSums:
    """The sums of the window up to `end`, the panes in it, and those after it."""

    def __init__(self, panes: pl.DataFrame, groups: Sequence[str]) -> None:
        """Begin before all panes. They are those of the state, at most one row per pane and group."""
        self.seen = panes  # the frame of the state that all this follows from
        self.begin: Micros | None = None  # before the first window
        self.end: Micros | None = None
        self._keys = list(groups)
        self._columns = [name for name in panes.columns if name != PANE and name not in groups]
        self._groups = panes.select(self._keys).clear()  # by number
        self._totals = np.zeros((len(self._columns), 0), dtype=np.int64)
        # The rows in the window have places: 0, 1 and so on, in the order in which they were added.
        self._first = np.zeros(0, dtype=np.int64)  # by number of the group: the place of its first row
        self._last = np.zeros(0, dtype=np.int64)  # the same of its last row
        self._next = np.zeros(0, dtype=np.int64)  # from `_oldest` on, by place: the place of the next row of its group
        self._oldest = 0
        self._inside: list[tuple[Micros, int, _Piece]] = []  # pane, place of the first row, rows
        self._waiting: dict[Micros, list[_Piece]] = defaultdict(list)  # after the window, by pane
        self.take(panes)

    def take(self, panes: pl.DataFrame) -> bool:
        """Add rows that came together; return whether the sums still hold.

        They do not if a row is for a pane that was added before, or if a group has two rows in one pane.
        """
        if not panes.height:
            return True
        panes = in_order(panes)
        at = panes[PANE].to_numpy()
        if self.end is not None and at[0] < self.end:
            return False
        codes = self._coded(panes.select(self._keys))
        values = np.stack([panes[name].to_numpy() for name in self._columns])
        cuts = np.flatnonzero(np.diff(at, prepend=at[0] - 1, append=at[-1] + 1)).tolist()
        for start, end in pairwise(cuts):
            piece = _Piece(codes[start:end], values[:, start:end])
            if _repeats(piece.codes, len(self._first)):
                return False
            self._waiting[int(at[start])].append(piece)
        return True

    def move(self, begin: Micros, end: Micros) -> pl.DataFrame:
        """Move the window, which never moves back, and return its groups with their sums."""
        self._enter(end)
        self._leave(begin)
        self.begin, self.end = begin, end
        present = np.flatnonzero(self._first != NOWHERE)
        ordered = present[np.argsort(self._first[present])]
        sums = {name: pl.Series(total[ordered]) for name, total in zip(self._columns, self._totals, strict=True)}
        return self._groups[ordered].with_columns(**sums)

    @property
    def is_stale(self) -> bool:
        """Whether most groups that have a number are in no pane any longer."""
        present = np.count_nonzero(self._first != NOWHERE)
        return len(self._first) > STALE * max(int(present), LEAST_ROWS)

    @property
    def groups(self) -> int:
        """How many groups have a number."""
        return len(self._first)

    def _coded(self, keys: pl.DataFrame) -> Ints:
        """Return the numbers of groups; new ones get one."""
        codes = self._known(keys)
        if codes.null_count():
            new = keys.filter(codes.is_null()).unique(maintain_order=True)
            self._groups = pl.concat([self._groups, new])
            self._totals = np.pad(self._totals, ((0, 0), (0, new.height)))
            self._first = np.pad(self._first, (0, new.height), constant_values=NOWHERE)
            self._last = np.pad(self._last, (0, new.height), constant_values=NOWHERE)
            codes = self._known(keys)
        return codes.cast(pl.Int64).to_numpy()

    def _known(self, keys: pl.DataFrame) -> pl.Series:
        numbered = self._groups.with_row_index(CODE)
        return keys.join(numbered, on=self._keys, how="left", nulls_equal=True, maintain_order="left")[CODE]

    def _enter(self, end: Micros) -> None:
        """Add the panes that begin before `end`."""
        entering = [
            (pane, piece)
            for pane in sorted(pane for pane in self._waiting if pane < end)
            for piece in self._waiting.pop(pane)
        ]
        added = sum(len(piece.codes) for _, piece in entering)
        place = self._oldest + len(self._next)
        self._next = np.concatenate([self._next, np.full(added, NOWHERE, dtype=np.int64)])
        for pane, piece in entering:
            places = np.arange(place, place + len(piece.codes))
            before = self._last[piece.codes]
            known = before != NOWHERE
            self._next[before[known] - self._oldest] = places[known]
            self._first[piece.codes[~known]] = places[~known]
            self._last[piece.codes] = places
            self._totals[:, piece.codes] += piece.values
            self._inside.append((pane, place, piece))
            place += len(piece.codes)

    def _leave(self, begin: Micros) -> None:
        """Subtract the panes that begin before `begin`."""
        gone = 0
        while gone < len(self._inside) and self._inside[gone][0] < begin:
            _, place, piece = self._inside[gone]
            start = place - self._oldest
            after = self._next[start : start + len(piece.codes)]
            self._first[piece.codes] = after
            self._last[piece.codes[after == NOWHERE]] = NOWHERE
            self._totals[:, piece.codes] -= piece.values
            gone += 1
        rows = sum(len(piece.codes) for _, _, piece in self._inside[:gone])
        del self._inside[:gone]
        self._next = self._next[rows:]
        self._oldest += rows


def in_order(panes: pl.DataFrame) -> pl.DataFrame:
    """Return panes by time, and within a pane as they arrived."""
    return panes if panes[PANE].is_sorted() else panes.sort(PANE, maintain_order=True)


def sums_of(state: UnitState, part: str) -> SlidingSums | None:
    """Return the sums of a state; None, and it forgets them, if they follow from other panes than it has."""
    held = state.derived
    if isinstance(held, SlidingSums):
        if held.seen is state.parts.get(part):
            return held
        state.derived = None
    return None


def ready_sums(
    state: UnitState, part: str, begin: Micros, groups: Sequence[str], merges: Sequence[pl.Expr]
) -> SlidingSums | None:
    """Return sums that can move to a window, new ones if it is time; None if windows must be merged in this batch."""
    panes = state.parts[part]
    if panes.height < LEAST_ROWS:
        return None
    if (held := sums_of(state, part)) is not None:
        if not held.is_stale and (held.begin is None or held.begin <= begin):
            return held
        state.derived = PauseSums(0)
        return None
    pause = state.derived.batches if isinstance(state.derived, PauseSums) else AT_FIRST
    if pause:
        state.derived = PauseSums(pause - 1)
        return None
    made = SlidingSums(panes.group_by(PANE, *groups, maintain_order=True).agg(merges), groups)
    if made.groups > RECURRING * panes.height:
        state.derived = PauseSums(AFTER_NEW)
        return None
    made.seen = panes
    state.derived = made
    return made


def _repeats(codes: Ints, groups: int) -> bool:
    """Return whether a number is there twice."""
    last = np.empty(groups, dtype=np.int64)
    numbered = np.arange(len(codes))
    last[codes] = numbered
    return bool((last[codes] != numbered).any())
