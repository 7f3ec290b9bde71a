"""What a target of the fuzzer is: one input of drover, with a way to draw it and a way to feed it.

Rule 1: `draw` depends on the random numbers that it is given and on nothing else.
Rule 2: a feed returns whether the input was accepted. It raises DroverError if it was refused; any other error is a
finding.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from drover.errors import Fault

Feed = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """One input of drover. `share` is its part of all cases; `open` prepares what is fed, in an empty folder."""

    name: str
    share: int
    draw: Callable[[random.Random], str]
    open: Callable[[Path], AbstractContextManager[Feed]]


class BrokenPromiseError(Exception):
    """An input was handled without an error, but not as drover documents it."""


def demand(holds: object, what: str) -> None:
    """Raise BrokenPromiseError with `what` unless something holds."""
    if not holds:
        raise BrokenPromiseError(what)


def demand_faults(faults: Iterable[Fault]) -> None:
    """Demand that faults can be printed, one per line."""
    listed = list(faults)
    demand(listed, "it was refused without a fault")
    for fault in listed:
        demand(str(fault).isprintable(), f"a fault would steer the terminal: {str(fault)!r}")
