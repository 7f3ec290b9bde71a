"""The network between neighbours: how long a message takes, and whether it comes at all.

Rule 1: chance is an argument. Rule 2: a cut link loses everything, in both directions, and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numpy.random import Generator

from drover.errors import ProblemError


@dataclass(frozen=True, slots=True)
class Cut:
    """A link that carries nothing for a while; times in seconds."""

    node: int
    other: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Outage:
    """A node that is down for a while: it loses all but its journal."""

    node: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Wire:
    """The same for every link."""

    latency: tuple[float, float] = (0.01, 0.05)  # seconds, uniform: a later message may come first
    loss: float = 0.0  # share of messages that never come
    doubled: float = 0.0  # share of those that come, and come once more
    cuts: tuple[Cut, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a network that goes back in time, or loses more than there is."""
        low, high = self.latency
        if not 0 <= low <= high:
            raise ProblemError(f"latency is {self.latency}, but must rise from 0. Give seconds, the shorter first.")
        for name in ("loss", "doubled"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ProblemError(f"{name} is {value:g}, but must be a share from 0 to 1. Give 0 for none.")

    def arrivals(self, sender: int, receiver: int, now: float, rng: Generator) -> Iterator[float]:
        """Yield when a message comes: never, once or twice."""
        if any({cut.node, cut.other} == {sender, receiver} and cut.begin <= now < cut.end for cut in self.cuts):
            return
        if self.loss and rng.random() < self.loss:
            return
        low, high = self.latency
        yield now + low + (high - low) * rng.random()
        if self.doubled and rng.random() < self.doubled:
            yield now + low + (high - low) * rng.random()
