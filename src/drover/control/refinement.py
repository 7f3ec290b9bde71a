"""What a refinement moved, and why: queries off nodes above their limit, and queries whose rows then travel less.

Rule 1: a move costs its bytes of state. `STATELESS` is added to each, because a query without state costs something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Moving this much state takes about as long as writing a move into the log and into the table of the family.
STATELESS: Final = 65_536.0  # bytes


@dataclass(frozen=True, slots=True)
class Refinement:
    """The moves of one search."""

    numbers: tuple[int, ...] = ()  # of the queries that moved
    relieved: int = 0  # of these, how many left a node that was above its limit
    bytes: float = 0.0  # of state that moves with them
    unit: float = STATELESS  # bytes that a query of the run moves on the average, `STATELESS` included
    before: float = 0.0  # replication: mean number of nodes that a row is sent to
    after: float = 0.0

    @property
    def charge(self) -> float:
        """What the moves cost in queries: a query with twice the mean state counts as two, none as less than one.

        >>> Refinement((7, 8), bytes=3e6, unit=1e6).charge
        3.131072
        """
        return max(float(len(self.numbers)), (self.bytes + STATELESS * len(self.numbers)) / self.unit)

    @property
    def text(self) -> str:
        """What moved, at what price, and why."""
        if not self.numbers:
            return "No query moves."
        count = len(self.numbers)
        reasons = [f"{self.relieved} off nodes above their limit"] if self.relieved else []
        if count > self.relieved:
            reasons.append(f"{count - self.relieved} so that a row goes to fewer nodes")
        who = "1 query moves" if count == 1 else f"{count} queries move"
        return (
            f"{who} with {self.bytes:,.0f} bytes of state, counted as {self.charge:.1f} of the moves allowed: "
            f"{', '.join(reasons)}. A row goes to {self.after:.2f} nodes on the average, and went to {self.before:.2f}."
        )
