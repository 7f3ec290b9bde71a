"""What the control loop is told by people.

Rule 1: every number has a default that is right for a run of which nothing is known, and the reason beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from drover.errors import DroverError, nearest
from drover.placement.correlation.pairwise import METHODS
from drover.placement.policy import FROM_CURRENT, POLICIES


class Mode(StrEnum):
    """What the loop may do."""

    OBSERVE = "observe"  # watch and tell
    PROPOSE = "propose"  # work out plans, which wait for somebody to apply them
    AUTO = "auto"  # move by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Settings of the loop."""

    mode: Mode = Mode.OBSERVE
    period: float = 1.0  # seconds; a batch that takes longer is a period by itself
    window: int = 10  # periods that a decision looks at, h of [Xing05]
    warm_up: int = 10  # periods before the first decision
    first: str = "combined"  # policy of the first plan, from scratch: ROD for sticky units, COR-GLB for floating ones
    then: str = "cor-se-imp"  # policy of all later ones, from the current plan
    payback: float = 30.0  # seconds in which a plan has to win back what its moves cost
    cool_down: int = 10  # periods in which a unit that has moved stays
    most_moves: int = 10  # per period; the first plan is made at once
    least_gain: float = 0.05  # share of the critical path that a plan has to save; noise alone seldom promises so much
    trial: int = 2  # fresh periods in which a plan has to keep its promise; none where a node is overloaded
    certainty: float = 4.0  # standard errors that the gain has to be above 0
    memory: float = math.inf  # bytes of state that a node may hold
    capacity: tuple[float, ...] = ()  # busy seconds per second of each node; 1 where nothing is said
    pins: Mapping[str, int] = field(default_factory=dict)  # unit to the node that it never leaves
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense, and say what would."""
        for fault in self._faults():
            raise DroverError(fault)
        object.__setattr__(self, "mode", Mode(self.mode))
        object.__setattr__(self, "capacity", tuple(map(float, self.capacity)))
        object.__setattr__(self, "pins", MappingProxyType(dict(self.pins)))

    def _faults(self) -> Iterator[str]:
        if self.mode not in list(Mode):
            near = nearest(self.mode, list(Mode))
            yield f"control.mode is {self.mode!r}, but must be one of {', '.join(Mode)}. {near}"
        for name in ("window", "cool_down", "most_moves", "trial", "warm_up"):
            least = 2 if name in ("window", "warm_up") else 0
            if getattr(self, name) < least:
                yield f"control.{name} is {getattr(self, name)}, but must be at least {least}. Leave it out."
        for name in ("period", "payback", "least_gain", "certainty", "memory"):
            if not getattr(self, name) >= 0:
                yield f"control.{name} is {getattr(self, name)}, but must not be below 0. Leave it out."
        for name, known in (("first", [p for p in POLICIES if p not in METHODS]), ("then", sorted(FROM_CURRENT))):
            if (given := getattr(self, name)) not in known:
                yield f"control.{name} is {given!r}, but must be one of {', '.join(known)}. {nearest(given, known)}"
        for node, value in enumerate(self.capacity):
            if not 0 < value < math.inf:
                yield f"control.capacity[{node}] is {value}, but must be above 0. Take the node away instead."


KEYS = frozenset(Control.__dataclass_fields__)


def control_of(given: Control | str | Mapping[str, Any] | None) -> Control:  # Any: as read from a file
    """Return settings from a mode, from names and values as in a run file, or as they are."""
    if given is None:
        return Control()
    if isinstance(given, Control):
        return given
    if isinstance(given, str):
        return Control(mode=given)  # type: ignore[arg-type]  # checked when it is made
    for key in given:
        if key not in KEYS:
            raise DroverError(f"control.{key} is not known. {nearest(key, KEYS)}Known: {', '.join(sorted(KEYS))}.")
    try:
        return Control(**given)
    except (TypeError, ValueError) as error:
        raise DroverError(
            f"control is {dict(given)!r}, but its values have the wrong type: {error}. See docs."
        ) from None


def described(settings: Control) -> dict[str, Any]:  # Any: JSON
    """Return the settings as JSON; infinity is left out."""
    body = {name: getattr(settings, name) for name in KEYS}
    body |= {"pins": dict(settings.pins), "mode": str(settings.mode), "capacity": list(settings.capacity)}
    return {name: value for name, value in sorted(body.items()) if value != math.inf}
