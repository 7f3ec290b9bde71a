"""How many queries drover may move: a fraction of them per hour, saved up for at most an hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from drover.errors import DroverError, shorten

HOUR: Final = 3600.0  # seconds
RULE: Final = "it must be at least 0 and at most 1: the fraction of queries that drover may move per hour"
WAY_OUT: Final = "Write for example 0.05, or 0 to move none."


def is_fraction(value: object) -> bool:
    """Return whether this can be the fraction of queries that may move per hour."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of queries that may still move; with a fraction of 0, none ever may."""

    fraction: float = 0.0  # of all queries, per hour
    saved: float = 0.0  # queries

    def __post_init__(self) -> None:
        """Refuse a fraction outside 0 to 1."""
        if not is_fraction(self.fraction):
            raise DroverError(f"refine is {shorten(self.fraction)}, but {RULE}. {WAY_OUT}")

    def after(self, seconds: float, queries: int) -> Allowance:
        """Return the allowance `seconds` later, if the run has so many queries.

        >>> Allowance(0.5).after(360, 100)
        Allowance(fraction=0.5, saved=5.0)
        """
        return replace(self, saved=min(self.saved + self.fraction * queries * seconds / HOUR, self.most(queries)))

    def most(self, queries: int) -> float:
        """Return how many moves can be saved up, if the run has so many queries."""
        hourly = self.fraction * queries
        return max(hourly, 1.0) if hourly > 0 else 0.0  # with few queries, one may move now and then

    def without(self, moved: float) -> Allowance:
        """Return the allowance after some queries have moved."""
        return replace(self, saved=self.saved - moved)
