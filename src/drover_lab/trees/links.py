"""The network between neighbours: delays, losses, duplicates and cuts.

Rule 1: chance is an argument. Rule 2: a cut link loses every message in both directions, without an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numpy.random import Generator

from drover.errors import ProblemError


@dataclass(frozen=True, slots=True)
class Cut:
    """A period, in seconds, in which a link carries nothing."""

    node: int
    other: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Outage:
    """A period, in seconds, in which a node is down. It keeps only its journal."""

    node: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class LinkModel:
    """The behaviour of every link."""

    latency: tuple[float, float] = (0.01, 0.05)  # seconds, uniform; so a message can overtake another
    loss: float = 0.0  # fraction of messages that are lost
    doubled: float = 0.0  # fraction of delivered messages that are delivered twice
    cuts: tuple[Cut, ...] = ()

    def __post_init__(self) -> None:
        """Raise ProblemError for a negative latency, or a fraction outside 0 to 1."""
        low, high = self.latency
        if not 0 <= low <= high:
            raise ProblemError(
                f"latency is {self.latency}, but must be two numbers of seconds, both 0 or more, the smaller first. "
                "Correct them."
            )
        for name in ("loss", "doubled"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ProblemError(f"{name} is {value:g}, but must be a fraction from 0 to 1. Give 0 for none.")

    def arrivals(self, sender: int, receiver: int, now: float, rng: Generator) -> Iterator[float]:
        """Yield the time of each delivery of a message: none, one or two."""
        if any({cut.node, cut.other} == {sender, receiver} and cut.begin <= now < cut.end for cut in self.cuts):
            return
        if self.loss and rng.random() < self.loss:
            return
        low, high = self.latency
        yield now + low + (high - low) * rng.random()
        if self.doubled and rng.random() < self.doubled:
            yield now + low + (high - low) * rng.random()
