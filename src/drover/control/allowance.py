"""How many queries may move of themselves: a share of them per hour, saved up for an hour at the most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from drover.errors import DroverError, shorten

HOUR: Final = 3600.0  # seconds
RULE: Final = "it must be at least 0 and at most 1: the share of the queries that may move per hour"
WAY_OUT: Final = "Write for example 0.05, or 0 if none may."


def is_share(value: object) -> bool:
    """Return whether this can be the share of queries that may move per hour."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may still move; 0 of share means that nobody ever may."""

    share: float = 0.0  # of the queries, per hour
    saved: float = 0.0  # queries

    def __post_init__(self) -> None:
        """Refuse what is no share."""
        if not is_share(self.share):
            raise DroverError(f"refine is {shorten(self.share)}, but {RULE}. {WAY_OUT}")

    def after(self, seconds: float, queries: int) -> Allowance:
        """Return what may move after so many seconds more, if there are so many queries.

        >>> Allowance(0.5).after(360, 100)
        Allowance(share=0.5, saved=5.0)
        """
        hourly = self.share * queries
        most = max(hourly, 1.0) if hourly > 0 else 0.0  # of few queries one may move, if seldom
        return replace(self, saved=min(self.saved + hourly * seconds / HOUR, most))

    def without(self, moved: int) -> Allowance:
        """Return what is left after so many have moved."""
        return replace(self, saved=self.saved - moved)
