"""A change of units without a batch: state that is dropped, and state that gets another name.

Rule 1: pure, like `versions.py`. The result is what a commit adds, bounds and drops, so the format of commits has no
word for it, and files of state stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from drover.flow.state.segments import Key, Segment
from drover.flow.state.versions import Version


@dataclass(frozen=True, slots=True)
class ChangedUnits:
    """The content of a commit that changes units and computes nothing."""

    added: tuple[Segment, ...]
    bounds: dict[Key, int]
    dropped: tuple[Key, ...]


def change_units(version: Version, becomes: Callable[[Key], str | None]) -> ChangedUnits:
    """Return the commit after which each part belongs to the unit that `becomes` says; None drops it."""
    added: list[Segment] = []
    bounds: dict[Key, int] = {}
    dropped: list[Key] = []
    for unit, parts in sorted(version.units.items()):
        for part, state in sorted(parts.items()):
            now = becomes((unit, part))
            if now == unit:
                continue
            dropped.append((unit, part))
            if now is None:
                continue
            # The part of the new name is empty, because units change their names all at once: nothing to replace.
            added += (replace(segment, unit=now) for segment in state.segments)
            if state.bound is not None:
                bounds[now, part] = state.bound
    return ChangedUnits(tuple(added), bounds, tuple(dropped))
