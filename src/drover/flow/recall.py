"""The live state that a batch starts from: what is in memory, brought up to date, or else what is saved.

Rule 1: what is kept is used only as far as it is provably what the saved state says: every segment that it is made of
is still there, or all its rows are too old by now.
Rule 2: what was added meanwhile is read; a process that has missed a batch reads that batch and not all there is. Spark
hands tasks to processes as it likes, so that is what most of them have missed.
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
    """Return the live form of a saved state, and how many bytes had to be read for it.

    `kept` is the live form of the saved state `known`; it is not changed.
    """
    wanted, parts = {}, {}
    for part, one in saved.items():
        missing = added_since(known.get(part, PartState()), one)
        wanted[operator, part] = one.segments if missing is None else missing
        if missing is not None and part in known and part in kept.parts:
            parts[part] = _since(kept.parts[part], one.bound, known[part].bound)
    found = _read(root, wanted)
    size = 0
    for (_, part), rows in found.items():
        live = _since(rows, saved[part].bound, None)
        size += int(live.estimated_size())
        parts[part] = pl.concat([parts[part], live], rechunk=False) if part in parts else live
    return UnitState(parts, {part: one.bound for part, one in saved.items() if one.bound is not None}), size


def added_since(before: PartState, after: PartState) -> tuple[Segment, ...] | None:
    """Return the segments that a part has now and had not before; None if rows of before may not be those of now."""
    had, has = set(before.segments), set(after.segments)
    stayed = tuple(segment for segment in before.segments if segment in has)
    if after.segments[: len(stayed)] != stayed:
        return None
    if before.bound is not None and (after.bound is None or after.bound < before.bound):
        return None
    if not all(_is_dead(segment, after.bound) for segment in had - has):
        return None
    return after.segments[len(stayed) :]


def _is_dead(segment: Segment, bound: Micros | None) -> bool:
    return bound is not None and segment.newest is not None and segment.newest < bound


def _since(rows: pl.DataFrame, bound: Micros | None, before: Micros | None) -> pl.DataFrame:
    """Return the rows whose time is at least `bound`, if it is not known that all are."""
    return rows if bound is None or bound == before else rows.filter(pl.col(rows.columns[0]) >= bound)


def _read(root: str, wanted: Mapping[tuple[str, str], tuple[Segment, ...]]) -> dict[tuple[str, str], pl.DataFrame]:
    if not any(wanted.values()):
        return {}
    fs, path = open_root(root)
    return {key: pl.DataFrame(table) for key, table in read_parts(fs, join(path, STATE), wanted).items()}
