"""The judge: it accepts a change of the plan, or rejects it with a reason.

Rule 1: policies propose, and one judge decides. Every rejection has a reason that a person can read.
Rule 2: every goal has a verdict before and after a change, also for accepted ones, so that nothing gets worse unseen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.load.arrays import Ints
from drover.placement.faults import faults
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.placement.score import PlanScore, score

NOISE: Final = 1e-3  # relative; a smaller difference counts as none: estimates of the feasible set vary by this much


@dataclass(frozen=True, slots=True)
class Goal:
    """A measure that should be small, or large; with a limit, values beyond it count as missed."""

    measure: str  # a field of PlanScore
    words: str
    less: bool  # whether smaller is better
    limit: float | None = None
    hard: bool = False  # whether a change may never make a missed goal worse

    def met(self, value: float) -> bool:
        """Return whether a value is within the limit; an unknown value (NaN) is."""
        if self.limit is None or math.isnan(value):
            return True
        return value <= self.limit * (1 + NOISE) if self.less else value >= self.limit * (1 - NOISE)


GOALS: Final[Mapping[str, Goal]] = {
    goal.measure: goal
    for goal in (
        Goal("overload", "load of the fullest node over its capacity", less=True, limit=1.0, hard=True),
        Goal("headroom", "factor by which all rates can grow", less=False, limit=1.0, hard=True),
        Goal("feasible", "feasible set over the ideal one", less=False),
        Goal("imbalance", "largest distance of a node from the mean load", less=True),
        Goal("deviation", "deviation of node loads over the least possible", less=True),
        Goal("correlation", "mean correlation of node loads", less=False),
        Goal("cut", "bytes per second between nodes", less=True),
    )
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The effect of a change on one goal."""

    goal: Goal
    before: float
    after: float

    @property
    def change(self) -> str:
        """Return "better", "worse", "same" or "unknown"."""
        if math.isnan(self.before) or math.isnan(self.after):
            return "unknown"
        # Equality is tested by itself, because the difference of two infinities is NaN.
        if self.before == self.after or abs(self.after - self.before) <= NOISE * max(abs(self.before), abs(self.after)):
            return "same"
        return "better" if (self.after < self.before) == self.goal.less else "worse"

    @property
    def broken(self) -> bool:
        """Return whether the change moves the goal beyond its limit, or a hard goal even further beyond it."""
        if self.goal.met(self.after):
            return False
        return self.goal.met(self.before) or (self.goal.hard and self.change == "worse")

    def __str__(self) -> str:
        missed = "" if self.goal.met(self.after) else f", beyond {self.goal.limit:g}"
        return f"{self.goal.words}: {self.before:.4g} -> {self.after:.4g}, {self.change}{missed}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted change; `verdicts` also names what it costs."""

    verdicts: tuple[Verdict, ...]

    @property
    def price(self) -> tuple[Verdict, ...]:
        """Return the goals that get worse."""
        return tuple(verdict for verdict in self.verdicts if verdict.change == "worse")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected change."""

    reason: str
    verdicts: tuple[Verdict, ...] = ()


def judge(
    problem: PlacementProblem,
    before: Ints,
    after: Ints,
    aims: Sequence[str] = tuple(GOALS),
    most_bytes: float = math.inf,
) -> Accepted | Rejected:
    """Decide on a change from one plan, (m,), to another, proposed for the sake of `aims`, which are names of goals.

    An accepted change is valid, breaks no limit, moves at most `most_bytes` of state and improves at least one aim.
    """
    for fault in faults(problem, after):
        return Rejected(str(fault))
    if (before == NOWHERE).any():  # some units are new, so there is no earlier score to compare with
        return Accepted(compare(score(problem, after), score(problem, after)))
    verdicts = compare(score(problem, before), score(problem, after))
    for verdict in verdicts:
        if verdict.broken:
            return Rejected(f"it would break a limit: {verdict}", verdicts)
    moved = float(problem.state[before != after].sum())
    if moved > most_bytes:
        return Rejected(f"it moves {moved:.0f} bytes of state, but the limit is {most_bytes:.0f}", verdicts)
    if not any(verdict.change == "better" for verdict in verdicts if verdict.goal.measure in aims):
        wanted = "at all" if set(aims) == set(GOALS) else f"in {', '.join(GOALS[aim].words for aim in aims)}"
        same = bool((before == after).all())
        return Rejected("it changes nothing" if same else f"it improves nothing {wanted}", verdicts)
    return Accepted(verdicts)


def compare(before: PlanScore, after: PlanScore) -> tuple[Verdict, ...]:
    """Return the verdict on every goal."""
    return tuple(Verdict(goal, getattr(before, name), getattr(after, name)) for name, goal in GOALS.items())
