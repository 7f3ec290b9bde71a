"""Versions of the state of all units, and how a batch leads from one to the next.

Rule 1: these are pure functions on frozen data; nothing here reads or writes a file.
Rule 2: the live rows of a part are the rows of its segments, in order, without rows whose time is below the bound.
Rule 3: versions share everything that is equal in both. So a batch costs what it changes, not the size of the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from drover.errors import StateError
from drover.flow.state.segments import Key, Segment

BEFORE_FIRST: Final = -1  # the version that batch 0 starts from

# One more segment counts as much as this many bytes: another request when it is read from an object store (on a warm
# disk only 0.01 ms), and an entry in every full commit. This is a choice, not a measurement.
SEGMENT_COST: Final = 256 * 2**10
FEW_SEGMENTS: Final = 16  # up to so many are never worth merging
HEADER: Final = 1024  # bytes of an Arrow stream that are not rows


@dataclass(frozen=True, slots=True)
class PartState:
    """One part of the state of a unit."""

    segments: tuple[Segment, ...] = ()
    bound: int | None = None  # rows with a time below it have expired; in the unit of the part's time column

    def __reduce__(self) -> tuple[object, ...]:
        return (PartState, (self.segments, self.bound))  # as fast as that of a segment


@dataclass(frozen=True, slots=True)
class Usage:
    """The size of a unit's state in files."""

    bytes: int = 0
    rows: int = 0  # including expired rows of segments with live ones
    segments: int = 0


SavedUnit = Mapping[str, PartState]  # the saved state of a unit, by name of the part


@dataclass(frozen=True, slots=True)
class Version:
    """The state of all units after a batch.

    A worker may use cached rows of a unit instead of its files if the cache is for an equal `SavedUnit`. Segments name
    their files, so the states of two attempts never compare equal.
    """

    batch: int = BEFORE_FIRST
    units: Mapping[str, SavedUnit] = field(default_factory=lambda: MappingProxyType({}))

    def __reduce__(self) -> tuple[type[Version], tuple[int, dict[str, dict[str, PartState]]]]:
        return (Version, (self.batch, {unit: dict(parts) for unit, parts in self.units.items()}))

    def part(self, unit: str, part: str) -> PartState:
        """Return a part of the state of a unit; an empty one if it was never written."""
        return self.units.get(unit, {}).get(part, PartState())

    def usage(self, unit: str) -> Usage:
        """Return the size of a unit's state."""
        found = [segment for state in self.units.get(unit, {}).values() for segment in state.segments]
        return Usage(sum(one.length for one in found), sum(one.rows for one in found), len(found))

    def segments(self) -> Iterator[Segment]:
        """Yield every live segment."""
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

    First, `dropped` parts go, with their bounds. Then `segments` are appended in their order. Then `bounds` rise.
    Bounds may lag behind the watermark: a part that `bounds` does not name keeps its rows and its bound.
    """
    if batch != version.batch + 1:
        expected = f"batch {version.batch + 1} after version {version.batch}"
        raise StateError("state", expected, f"batch {batch}", "Load the version before the batch that is to run.")
    changed: dict[str, dict[str, PartState]] = {}

    # Only units that change are copied, for rule 3.
    def of(unit: str) -> dict[str, PartState]:
        if unit not in changed:
            changed[unit] = dict(version.units.get(unit, {}))
        return changed[unit]

    for unit, part in dropped:
        of(unit).pop(part, None)
    for key, added in _by_part(segments).items():
        parts = of(key[0])
        part = key[1]
        parts[part] = _add(parts.get(part, PartState()), added)
    for key, bound in bounds.items():
        parts = of(key[0])
        part = key[1]
        parts[part] = _evict(key, parts.get(part, PartState()), bound)
    units = dict(version.units)
    for unit, found in changed.items():
        units[unit] = MappingProxyType(found)
        if not found:
            del units[unit]
    return Version(batch, MappingProxyType(units))


def should_compact(state: PartState, delta_bytes: int, live_bytes: int) -> bool:
    """Return whether to write all live rows, with `replace`, instead of the delta.

    `delta_bytes` is the size of the delta, and `live_bytes` the size of all live rows after this batch.

    One of two reasons is enough. (1) More bytes would be expired than live. Every row expires once, so this costs at
    most one more byte per byte ever appended. (2) There are more than FEW_SEGMENTS since the last rewrite, and together
    they cost at least as much as the live rows, each counted as at least SEGMENT_COST. Then the rewrite costs no more
    than the appends did. A limit on the number of segments alone would rewrite a window of an hour hundreds of times,
    though it expires segment by segment without help.
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
    """Append segments: one with `replace` removes those before it, and one without live rows is left out."""
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
            "Raise a bound or leave it, or drop the part to start again.",
        )
    return PartState(_alive(state.segments, bound), bound)


def _alive(segments: Iterable[Segment], bound: int | None) -> tuple[Segment, ...]:
    """Return the segments with a live row."""
    return tuple(
        segment
        for segment in segments
        if segment.rows and (bound is None or segment.newest is None or segment.newest >= bound)
    )
