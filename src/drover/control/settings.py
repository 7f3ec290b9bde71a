"""What the control loop is told by people.

Rule 1: every number has a default that is right for a run of which nothing is known, and the reason beside it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Final

from drover.errors import DroverError, Fault, nearest, shorten

MEMORY: Final = 60  # periods that tell what is usual; decisions look at the last few of them
MEASURED: Final = "measured"  # of capacity: as fast as nodes were seen to be
WHOLE: Final = {  # least and most
    "window": (2, MEMORY), "warm_up": (2, MEMORY), "trial": (0, MEMORY), "cool_down": (0, math.inf),
    "most_moves": (0, math.inf), "seed": (0, math.inf),
}  # fmt: skip
NUMBERS: Final = frozenset({"period", "payback", "least_gain", "certainty", "memory"})


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
    capacity: tuple[float, ...] | str = ()  # busy seconds per second by node, else 1; or "measured"
    pins: Mapping[str, int] = field(default_factory=dict)  # unit to the node that it never leaves
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense, and say what would."""
        for fault in faults({name: getattr(self, name) for name in KEYS}):
            raise DroverError(fault.under("control").text)
        object.__setattr__(self, "mode", Mode(self.mode))
        if self.capacity != MEASURED:
            object.__setattr__(self, "capacity", tuple(map(float, self.capacity)))
        object.__setattr__(self, "pins", MappingProxyType(dict(self.pins)))


DEFAULTS: Final = {name: row.default for name, row in Control.__dataclass_fields__.items()}
KEYS: Final = tuple(DEFAULTS)


def faults(given: Mapping[str, Any]) -> Iterator[Fault]:  # Any: as read from a file
    """Yield what is wrong with settings by name."""
    for name, value in given.items():
        if name not in KEYS:
            way_out = f"{nearest(str(name), KEYS)}Known: {', '.join(KEYS)}."
            yield Fault((str(name),), "unknown", "there is no such setting", way_out)
        elif name == "mode":
            yield from _word(name, value, list(Mode), "a mode")
        elif name in WHOLE:
            yield from _number(name, value, *WHOLE[name], whole=True)
        elif name in NUMBERS:
            yield from _number(name, value, 0, math.inf)
        elif name == "capacity":
            yield from _capacity(value)
        elif name == "pins":
            yield from _pins(value)
        elif value != DEFAULTS[name]:
            yield from _word(name, value, _policies(name), "a policy")


def _policies(name: str) -> list[str]:
    from drover.placement.correlation.pairwise import METHODS  # noqa: PLC0415 - a second, only for those who name one
    from drover.placement.policy import FROM_CURRENT, POLICIES  # noqa: PLC0415 - as above

    return [policy for policy in POLICIES if policy not in METHODS] if name == "first" else sorted(FROM_CURRENT)


def _word(name: str, value: object, known: Sequence[str], what: str) -> Iterator[Fault]:
    if isinstance(value, str) and value in known:
        return
    near = nearest(value, known) if isinstance(value, str) else ""
    yield Fault((name,), shorten(value), f"it must be {what}", f"{near}Known: {', '.join(known)}.")


def _number(name: str, value: object, least: float, most: float, *, whole: bool = False) -> Iterator[Fault]:
    kind = Integral if whole else Real
    # Abstract numbers have no order for mypy; those that Python has, have one.
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:  # type: ignore[operator]
        top = "" if most == math.inf else f" and at most {most:g}"
        what = "a whole number" if whole else "a number"
        usual = DEFAULTS[name]
        way_out = "Leave it out." if usual == math.inf else f"Write for example {usual:g}, or leave it out."
        yield Fault((name,), shorten(value), f"it must be {what}, at least {least:g}{top}", way_out)


def _capacity(value: object) -> Iterator[Fault]:
    if value == MEASURED:
        return
    if isinstance(value, str) or not isinstance(value, Sequence):
        way_out = f"Write for example [1, 0.5], or {MEASURED}."
        yield Fault(
            ("capacity",), shorten(value), "it must be a list of busy seconds per second, node by node", way_out
        )
        return
    for node, each in enumerate(value):
        if isinstance(each, bool) or not isinstance(each, Real) or not 0 < float(each) < math.inf:
            yield Fault(("capacity", node), shorten(each), "it must be a number above 0", "Or take the node away.")


def _pins(value: object) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(("pins",), shorten(value), "it must be a mapping of units to nodes", "Write for example {busy: 0}.")
        return
    for unit, node in value.items():
        if isinstance(node, bool) or not isinstance(node, Integral) or int(node) < 0:
            rule = "it must be the number of a node, from 0"
            yield Fault(("pins", str(unit)), shorten(node), rule, "Write for example 0, or lift the pin.")


def strangers(settings: Control, units: Collection[str]) -> Iterator[Fault]:
    """Yield pins of units that a network does not have."""
    for unit in settings.pins:
        if unit not in units:
            way_out = f"{nearest(unit, units)}Pin another, or lift the pin."
            yield Fault(("pins", unit), "unknown", "the network has no such unit", way_out)


def fitting(settings: Control, units: Collection[str]) -> Control:
    """Return the settings, if they fit a network with these units; else DroverError."""
    for fault in strangers(settings, units):
        raise DroverError(fault.under("control").text)
    return settings


def control_of(given: Control | str | Mapping[str, Any] | None) -> Control:  # Any: as read from a file
    """Return settings from a mode, from names and values as in a run file, or as they are."""
    if isinstance(given, Control):
        return given
    if given is not None and not isinstance(given, (str, Mapping)):
        raise DroverError(
            f"control is {shorten(given)}, but it must be a mode or a mapping of settings. Write for example auto."
        )
    named = {"mode": given} if isinstance(given, str) else dict(given or {})
    for fault in faults(named):
        raise DroverError(fault.under("control").text)
    return Control(**named)


def described(settings: Control) -> dict[str, Any]:  # Any: JSON
    """Return the settings as JSON; infinity is left out."""
    body = {name: getattr(settings, name) for name in KEYS}
    capacity = settings.capacity if isinstance(settings.capacity, str) else list(settings.capacity)
    body |= {"pins": dict(settings.pins), "mode": str(settings.mode), "capacity": capacity}
    return {name: value for name, value in sorted(body.items()) if value != math.inf}
