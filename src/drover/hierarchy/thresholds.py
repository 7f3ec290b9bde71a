"""How full a node is: the sizes of its operators compared with its capacity, and the thresholds for action.

Rule 1: a size has one number per resource: memory, CPU, or both. The fullest resource determines the level of a node.
Rule 2: thresholds are fractions of capacity. Below the lower one a node asks for operators, above the upper one it
offers some, and in both cases it aims at the target in the middle, T = (L + U) / 2 [Kots14, section 3.3].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from drover.errors import ProblemError

Size: TypeAlias = tuple[float, ...]  # one number per resource


@dataclass(frozen=True, slots=True)
class TreeThresholds:
    """The thresholds; the defaults are those of the text's experiment."""

    lower: float = 0.4
    upper: float = 0.6
    margin: float = 0.01  # what an accepting node leaves free below `upper`; 0.01 in the text
    least: float = 0.0  # smallest transfer, as a fraction of the giver's capacity; 0 in the text

    def __post_init__(self) -> None:
        """Refuse thresholds that are out of order or leave no room between them."""
        if not 0 <= self.lower < self.upper <= 1:
            raise ProblemError(
                f"lower and upper are {self.lower:g} and {self.upper:g}, but must rise from 0 to 1. "
                "Use fractions of capacity, such as 0.4 and 0.6."
            )
        if not 0 <= self.margin < self.upper - self.target:
            raise ProblemError(
                f"margin is {self.margin:g}, but must be at least 0 and below {self.upper - self.target:g}, the "
                "distance from the target to the upper threshold. Use a smaller margin, such as 0.01."
            )
        if not 0 <= self.least < self.upper:
            raise ProblemError(
                f"least is {self.least:g}, but must be at least 0 and below {self.upper:g}, the upper threshold. "
                "Use a small fraction, such as 0.01."
            )

    @property
    def target(self) -> float:
        """The level that a node aims at."""
        return (self.lower + self.upper) / 2


def add(sizes: Iterable[Size], start: Size) -> Size:
    """Return the sum of all sizes and `start`."""
    total = start
    for size in sizes:
        total = tuple(a + b for a, b in zip(total, size, strict=True))
    return total


def less(size: Size, other: Size) -> Size:
    """Return the difference of two sizes."""
    return tuple(a - b for a, b in zip(size, other, strict=True))


def level(use: Size, capacity: Size) -> float:
    """Return the used fraction of capacity of the fullest resource."""
    return max(a / b for a, b in zip(use, capacity, strict=True))
