"""The live state that a batch starts from: cached state brought up to date, or else the saved state.

Rule 1: cached rows are used only if they provably equal the saved ones: every segment that they came from is still in
the saved state, or all its rows have expired.
Rule 2: only segments that were added since then are read. Spark gives tasks to any worker process, so a process has
often missed a batch or two; it then reads these batches and not the whole state.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drover.flow.operators import UnitState
from drover.flow.state.layout import STATE
from drover.flow.state.segments import Segment, read_parts
from drover.flow.state.storage import join, open_root
from drover.flow.state.versions import PartState
from drover.network.durations import Micros

Saved = Mapping[str, PartState]  # the saved state of one operator, by part


def load_state(root: str, operator: str, saved: Saved) -> UnitState:
    """Return the live form of a saved state."""
    return recall(root, operator, saved, {}, UnitState())[0]


def recall(root: str, operator: str, saved: Saved, known: Saved, kept: UnitState) -> tuple[UnitState, int]:
    """Return the live form of a saved state, and how many bytes were read for it.

    `kept` is the live form of the saved state `known`; this function does not change it.
    """
    wanted = {}
    parts = {}
    for part, one in saved.items():
        missing = added_since(known.get(part, PartState()), one)
        # If the cached rows cannot be trusted, the whole part is read.
        wanted[operator, part] = one.segments if missing is None else missing
        if missing is not None and part in known and part in kept.parts:
            parts[part] = _since(kept.parts[part], one.bound, known[part].bound)
    found = _read(root, wanted)
    size = 0
    for (_, part), rows in found.items():
        # Segments are dropped as a whole, so one that is still there may have expired rows among live ones.
        live = _since(rows, saved[part].bound, None)
        size += int(live.estimated_size())
        parts[part] = pl.concat([parts[part], live], rechunk=False) if part in parts else live
    return UnitState(parts, {part: one.bound for part, one in saved.items() if one.bound is not None}), size


def added_since(before: PartState, after: PartState) -> tuple[Segment, ...] | None:
    """Return the segments that were added to a part; None if its earlier rows may be wrong now."""
    had = set(before.segments)
    has = set(after.segments)
    stayed = tuple(segment for segment in before.segments if segment in has)
    # New segments must come after the old ones: the order of rows decides results such as sums of floats.
    if after.segments[: len(stayed)] != stayed:
        return None
    # With a lower bound, rows would be live again that the cache has already dropped.
    if before.bound is not None and (after.bound is None or after.bound < before.bound):
        return None
    # A segment that is gone although it has live rows was replaced by a rewrite.
    if not all(_is_dead(segment, after.bound) for segment in had - has):
        return None
    return after.segments[len(stayed) :]


def _is_dead(segment: Segment, bound: Micros | None) -> bool:
    return bound is not None and segment.newest is not None and segment.newest < bound


def _since(rows: pl.DataFrame, bound: Micros | None, before: Micros | None) -> pl.DataFrame:
    """Return the rows whose time is at least `bound`; all rows have passed the bound `before` already."""
    return rows if bound is None or bound == before else rows.filter(pl.col(rows.columns[0]) >= bound)


def _read(root: str, wanted: Mapping[tuple[str, str], tuple[Segment, ...]]) -> dict[tuple[str, str], pl.DataFrame]:
    if not any(wanted.values()):
        return {}
    fs, path = open_root(root)
    return {key: pl.DataFrame(table) for key, table in read_parts(fs, join(path, STATE), wanted).items()}
