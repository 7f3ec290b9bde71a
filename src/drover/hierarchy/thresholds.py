"""How full a node is: sizes of operators against the capacity of a node, and three marks on the way.

Rule 1: a size has one number per resource that counts: memory, CPU, or both. A node is as full as the fullest of them.
Rule 2: marks are shares of capacity: below the lower one a node asks for work, above the upper one it offers some, and
either way it aims at the target in the middle, T = (L + U) / 2 [Kots14, section 3.3].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from drover.errors import ProblemError

Size: TypeAlias = tuple[float, ...]  # one number per resource that counts


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The marks; the defaults are those of the text's experiment."""

    lower: float = 0.4
    upper: float = 0.6
    margin: float = 0.01  # what a node that accepts leaves free below the upper mark; one hundredth in the text
    least: float = 0.0  # share of the giver's capacity that a transfer has to be; nothing in the text

    def __post_init__(self) -> None:
        """Refuse marks that leave nothing between them."""
        if not 0 <= self.lower < self.upper <= 1:
            raise ProblemError(
                f"lower and upper are {self.lower:g} and {self.upper:g}, but must rise from 0 to 1. "
                "Give shares of capacity, such as 0.4 and 0.6."
            )
        if not 0 <= self.margin < self.upper - self.target:
            raise ProblemError(
                f"margin is {self.margin:g}, but must be at least 0 and below {self.upper - self.target:g}, the way "
                "from the target to the upper mark. Give a smaller one, such as 0.01."
            )
        if not 0 <= self.least < self.upper:
            raise ProblemError(
                f"least is {self.least:g}, but must be at least 0 and below {self.upper:g}, the upper mark. "
                "Give a small share, such as 0.01."
            )

    @property
    def target(self) -> float:
        """What a node aims at."""
        return (self.lower + self.upper) / 2


def add(sizes: Iterable[Size], start: Size) -> Size:
    """Return the sum of sizes and `start`."""
    total = start
    for size in sizes:
        total = tuple(a + b for a, b in zip(total, size, strict=True))
    return total


def less(size: Size, other: Size) -> Size:
    """Return a size without another."""
    return tuple(a - b for a, b in zip(size, other, strict=True))


def level(use: Size, capacity: Size) -> float:
    """Return the share of capacity in use, of the resource that is used most."""
    return max(a / b for a, b in zip(use, capacity, strict=True))
