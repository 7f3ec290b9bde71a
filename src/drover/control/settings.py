"""The settings of the control loop.

Rule 1: every number has a default that suits a run of which nothing is known, and a comment that says why.
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

MEMORY: Final = 60  # periods that show what is usual; decisions look at the last few of them
MEASURED: Final = "measured"  # value of `capacity`: take the speed that nodes were measured to have
MODELLED: Final = "auto"  # value of `capacity`: what the model of a batch finds that nodes can spend
WHOLE: Final = {  # integer settings, each with the smallest and largest value
    "window": (2, MEMORY),
    "warm_up": (2, MEMORY),
    "trial": (0, MEMORY),
    "cool_down": (0, math.inf),
    "most_moves": (0, math.inf),
    "seed": (0, math.inf),
}
NUMBERS: Final = frozenset({"period", "payback", "least_gain", "certainty", "memory"})


class Mode(StrEnum):
    """What the loop may do by itself."""

    OBSERVE = "observe"  # measure and report only
    PROPOSE = "propose"  # propose plans, which wait until you apply them
    AUTO = "auto"  # move units without asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Settings of the loop."""

    mode: Mode = Mode.OBSERVE
    period: float = 1.0  # seconds; a batch that takes longer is a period by itself
    window: int = 10  # periods that a decision looks at, h of [Xing05]
    warm_up: int = 10  # periods before the first decision
    first: str = "combined"  # policy of the first plan, from scratch: ROD for sticky units, COR-GLB for floating ones
    then: str = "cor-se-imp"  # policy of all later plans, starting from the current one
    payback: float = 30.0  # seconds in which a plan has to win back the cost of its moves
    cool_down: int = 10  # periods in which a unit does not move again
    most_moves: int = 10  # per period; the first plan may move everything at once
    least_gain: float = 0.05  # share of the critical path that a plan has to save; noise alone seldom shows that much
    trial: int = 2  # later periods in which a plan has to prove itself; none if a node is overloaded
    certainty: float = 4.0  # standard errors by which the gain has to exceed 0
    memory: float = math.inf  # bytes of state that a node may hold
    # Busy seconds per second: of every node, by node (1 where not given), "measured", or "auto".
    capacity: tuple[float, ...] | float | str = MODELLED
    pins: Mapping[str, int] = field(default_factory=dict)  # unit -> node that it must stay on
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise DroverError for the first setting that is wrong."""
        for fault in faults({name: getattr(self, name) for name in KEYS}):
            raise DroverError(fault.under("control").text)
        object.__setattr__(self, "mode", Mode(self.mode))
        object.__setattr__(self, "capacity", _read_capacity(self.capacity))
        object.__setattr__(self, "pins", MappingProxyType(dict(self.pins)))

    @property
    def models_capacity(self) -> bool:
        """Whether the model of a batch says what nodes can spend."""
        return self.capacity == MODELLED


def _read_capacity(given: Sequence[float] | float | str) -> tuple[float, ...] | float | str:
    if isinstance(given, str):
        return given
    if isinstance(given, Sequence):
        return tuple(map(float, given)) or MODELLED  # older files have an empty list
    return float(given)


DEFAULTS: Final = {name: row.default for name, row in Control.__dataclass_fields__.items()}
KEYS: Final = tuple(DEFAULTS)


def faults(given: Mapping[str, Any]) -> Iterator[Fault]:  # Any: as read from a file
    """Yield every fault in settings given by name."""
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
    from drover.placement.correlation.pairwise import METHODS  # noqa: PLC0415 - takes a second to import
    from drover.placement.policy import FROM_CURRENT, POLICIES  # noqa: PLC0415 - as above

    return [policy for policy in POLICIES if policy not in METHODS] if name == "first" else sorted(FROM_CURRENT)


def _word(name: str, value: object, known: Sequence[str], what: str) -> Iterator[Fault]:
    if isinstance(value, str) and value in known:
        return
    near = nearest(value, known) if isinstance(value, str) else ""
    yield Fault((name,), shorten(value), f"it must be {what}", f"{near}Known: {', '.join(known)}.")


def _number(name: str, value: object, least: float, most: float, *, whole: bool = False) -> Iterator[Fault]:
    kind = Integral if whole else Real
    # mypy knows no order on abstract numbers; the concrete ones have it.
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:  # type: ignore[operator]
        top = "" if most == math.inf else f" and at most {most:g}"
        what = "a whole number" if whole else "a number"
        usual = DEFAULTS[name]
        way_out = "Leave it out." if usual == math.inf else f"Write for example {usual:g}, or leave it out."
        yield Fault((name,), shorten(value), f"it must be {what}, at least {least:g}{top}", way_out)


def _capacity(value: object) -> Iterator[Fault]:
    if value in (MEASURED, MODELLED):
        return
    if isinstance(value, Sequence) and not isinstance(value, str):
        for node, each in enumerate(value):
            if not _is_capacity(each):
                yield Fault(
                    ("capacity", node), shorten(each), "it must be a number above 0", "Correct it, or remove the node."
                )
    elif not _is_capacity(value):
        rule = "it must be busy seconds per second, one number for all nodes or a list, node by node"
        yield Fault(("capacity",), shorten(value), rule, f"Write for example [1, 0.5], {MEASURED} or {MODELLED}.")


def _is_capacity(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 < float(value) < math.inf


def _pins(value: object) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(("pins",), shorten(value), "it must be a mapping of units to nodes", "Write for example {busy: 0}.")
        return
    for unit, node in value.items():
        if isinstance(node, bool) or not isinstance(node, Integral) or int(node) < 0:
            rule = "it must be the number of a node, from 0"
            yield Fault(("pins", str(unit)), shorten(node), rule, "Write for example 0, or remove the pin.")


def unknown_pins(settings: Control, units: Collection[str]) -> Iterator[Fault]:
    """Yield a fault for every pin of a unit that is not in the network."""
    for unit in settings.pins:
        if unit not in units:
            way_out = f"{nearest(unit, units)}Pin another unit, or remove the pin."
            yield Fault(("pins", unit), "unknown", "the network has no such unit", way_out)


def check_pins(settings: Control, units: Collection[str]) -> Control:
    """Return the settings; DroverError if they pin a unit that is not among these."""
    for fault in unknown_pins(settings, units):
        raise DroverError(fault.under("control").text)
    return settings


def control_of(given: Control | str | Mapping[str, Any] | None) -> Control:  # Any: as read from a file
    """Return settings from a mode, from names and values as in a run file, or unchanged if they are settings."""
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


def settings_to_json(settings: Control) -> dict[str, Any]:  # Any: JSON
    """Return the settings as JSON, without infinite values."""
    body = {name: getattr(settings, name) for name in KEYS}
    capacity = list(settings.capacity) if isinstance(settings.capacity, tuple) else settings.capacity
    body |= {"pins": dict(settings.pins), "mode": str(settings.mode), "capacity": capacity}
    return {name: value for name, value in sorted(body.items()) if value != math.inf}
