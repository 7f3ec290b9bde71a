"""Versions of the state of all units, and what a batch makes of one.

Rule 1: pure functions on frozen data; nothing here reads or writes a file.
Rule 2: the live rows of a part are its segments one after the other, without the rows whose time is below its bound.
Rule 3: two versions share what is equal in both, so that a batch costs what it changes and not what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from drover.errors import StateError
from drover.flow.state.segments import Key, Segment

BEFORE_FIRST: Final = -1  # the version that batch 0 starts from

# One more segment is taken to cost what this many bytes cost: another request when it is read from an object store
# (on a warm disk it is only 0.01 ms), and an entry in every full commit. A choice, not a measurement.
SEGMENT_COST: Final = 256 * 2**10
FEW_SEGMENTS: Final = 16  # so many are never worth merging
HEADER: Final = 1024  # bytes of an Arrow stream that are not rows


@dataclass(frozen=True, slots=True)
class PartState:
    """One part of the state of a unit."""

    segments: tuple[Segment, ...] = ()
    bound: int | None = None  # rows with a time below it are dead; in the unit of the part's time column


@dataclass(frozen=True, slots=True)
class Usage:
    """What the state of a unit takes up in files."""

    bytes: int = 0
    rows: int = 0  # dead ones in partly live segments included
    segments: int = 0


UnitState = Mapping[str, PartState]  # by name of the part


@dataclass(frozen=True, slots=True)
class Version:
    """The state of all units after a batch.

    A worker that keeps the live rows of a unit in memory may use them in place of the files exactly if it keeps
    them for an equal `UnitState`: segments name their file, so that no two attempts ever compare equal.
    """

    batch: int = BEFORE_FIRST
    units: Mapping[str, UnitState] = field(default_factory=lambda: MappingProxyType({}))

    def __reduce__(self) -> tuple[type[Version], tuple[int, dict[str, dict[str, PartState]]]]:
        return (Version, (self.batch, {unit: dict(parts) for unit, parts in self.units.items()}))

    def part(self, unit: str, part: str) -> PartState:
        """Return a part of the state of a unit; an empty one if nothing was ever written to it."""
        return self.units.get(unit, {}).get(part, PartState())

    def usage(self, unit: str) -> Usage:
        """Return what the state of a unit takes up."""
        found = [segment for state in self.units.get(unit, {}).values() for segment in state.segments]
        return Usage(sum(one.length for one in found), sum(one.rows for one in found), len(found))

    def segments(self) -> Iterator[Segment]:
        """Yield every segment, dead ones not included."""
        for parts in self.units.values():
            for state in parts.values():
                yield from state.segments


def advance(
    version: Version,
    batch: int,
    segments: Iterable[Segment],
    bounds: Mapping[Key, int] = MappingProxyType({}),
    dropped: Iterable[Key] = (),
) -> Version:
    """Return the version after `batch`.

    First `dropped` parts are forgotten, bounds and all; then `segments` are added in the order given; then `bounds`
    are raised. Bounds may lag behind the watermark: a part that is not named keeps its rows and its bound.
    """
    if batch != version.batch + 1:
        expected = f"batch {version.batch + 1} after version {version.batch}"
        raise StateError("state", expected, f"batch {batch}", "Load the version before the batch that is to run.")
    changed: dict[str, dict[str, PartState]] = {}

    def of(unit: str) -> dict[str, PartState]:
        if unit not in changed:
            changed[unit] = dict(version.units.get(unit, {}))
        return changed[unit]

    for unit, part in dropped:
        of(unit).pop(part, None)
    for key, added in _by_part(segments).items():
        parts, part = of(key[0]), key[1]
        parts[part] = _add(parts.get(part, PartState()), added)
    for key, bound in bounds.items():
        parts, part = of(key[0]), key[1]
        parts[part] = _evict(key, parts.get(part, PartState()), bound)
    units = dict(version.units)
    for unit, found in changed.items():
        units[unit] = MappingProxyType(found)
        if not found:
            del units[unit]
    return Version(batch, MappingProxyType(units))


def should_compact(state: PartState, delta_bytes: int, live_bytes: int) -> bool:
    """Say whether to write all live rows in place of the delta, with `replace`.

    `delta_bytes` is what the delta would add, `live_bytes` what the live rows take, this batch included.

    Either of two reasons is enough. (1) More bytes would be dead than live: every row dies once, so such rewriting
    costs at most one more byte per byte ever appended. (2) There are more than a few segments since the last rewriting,
    and they cost as much as the live rows: a rewriting is then paid for by what was appended, each segment counted
    as at least SEGMENT_COST. A limit on the number of segments alone would write a window of an hour, which expires
    segment by segment and needs no help, hundreds of times.
    """
    written = sum(segment.length for segment in state.segments) + delta_bytes
    if state.segments and written > 2 * (live_bytes + HEADER):
        return True
    since = state.segments[1:] if state.segments and state.segments[0].replace else state.segments
    lengths = [segment.length for segment in since] + [delta_bytes]
    return len(lengths) > FEW_SEGMENTS and sum(max(length, SEGMENT_COST) for length in lengths) >= live_bytes


def _by_part(segments: Iterable[Segment]) -> dict[Key, list[Segment]]:
    found: dict[Key, list[Segment]] = {}
    for segment in segments:
        found.setdefault(segment.key, []).append(segment)
    return found


def _add(state: PartState, added: list[Segment]) -> PartState:
    """Append segments; one that replaces makes those before it dead, and one that is dead at once is left out."""
    kept = list(state.segments)
    for segment in added:
        if segment.replace:
            kept.clear()
        kept.append(segment)
    return PartState(_alive(kept, state.bound), state.bound)


def _evict(key: Key, state: PartState, bound: int) -> PartState:
    if state.bound is not None and bound < state.bound:
        raise StateError(
            f"state of unit {key[0]!r}, part {key[1]!r}",
            f"a bound of at least {state.bound}, below which rows are gone",
            str(bound),
            "Raise a bound or leave it, or drop the part to begin anew.",
        )
    return PartState(_alive(state.segments, bound), bound)


def _alive(segments: Iterable[Segment], bound: int | None) -> tuple[Segment, ...]:
    """Return the segments that have a live row."""
    return tuple(
        segment
        for segment in segments
        if segment.rows and (bound is None or segment.newest is None or segment.newest >= bound)
    )
