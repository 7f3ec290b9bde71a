"""The judge: accepts a change of plan, or says in words why not.

Rule 1: policies propose, one judge decides; what it refuses, it refuses with a reason a person can read.
Rule 2: nothing gets worse unseen: every goal has a verdict before and after, also when the change is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.load.arrays import Ints
from drover.placement.faults import faults
from drover.placement.problem import NOWHERE, Problem
from drover.placement.score import Score, score

NOISE: Final = 1e-3  # relative; a smaller difference is no change: estimates of the feasible set vary by this much


@dataclass(frozen=True, slots=True)
class Goal:
    """A measure that is to be small, or large; with a limit, what is beyond it counts as missed."""

    measure: str  # a field of Score
    words: str
    less: bool  # whether less is better
    limit: float | None = None
    hard: bool = False  # whether a change that makes a missed goal worse is refused, whatever else it brings

    def met(self, value: float) -> bool:
        """Return whether a value is within the limit; the unknown is."""
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
    """What a change does to one goal."""

    goal: Goal
    before: float
    after: float

    @property
    def change(self) -> str:
        """Return better, worse, same or unknown."""
        if math.isnan(self.before) or math.isnan(self.after):
            return "unknown"
        if self.before == self.after or abs(self.after - self.before) <= NOISE * max(abs(self.before), abs(self.after)):
            return "same"
        return "better" if (self.after < self.before) == self.goal.less else "worse"

    @property
    def broken(self) -> bool:
        """Return whether the change takes the goal out of its limit, or a hard one further out."""
        if self.goal.met(self.after):
            return False
        return self.goal.met(self.before) or (self.goal.hard and self.change == "worse")

    def __str__(self) -> str:
        missed = "" if self.goal.met(self.after) else f", beyond {self.goal.limit:g}"
        return f"{self.goal.words}: {self.before:.4g} -> {self.after:.4g}, {self.change}{missed}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change that may be made; `verdicts` names what it costs, too."""

    verdicts: tuple[Verdict, ...]

    @property
    def price(self) -> tuple[Verdict, ...]:
        """Return the goals that get worse."""
        return tuple(verdict for verdict in self.verdicts if verdict.change == "worse")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A change that may not be made."""

    reason: str
    verdicts: tuple[Verdict, ...] = ()


def judge(
    problem: Problem, before: Ints, after: Ints, aims: Sequence[str] = tuple(GOALS), most_bytes: float = math.inf
) -> Accepted | Rejected:
    """Decide on a change from one plan, (m,), to another, made for the sake of `aims`, names of goals.

    It must be sound, break no limit, move at most `most_bytes` of state and make at least one aim better.
    """
    for fault in faults(problem, after):
        return Rejected(str(fault))
    if (before == NOWHERE).any():  # units are new: there is nothing to compare with
        return Accepted(compare(score(problem, after), score(problem, after)))
    verdicts = compare(score(problem, before), score(problem, after))
    for verdict in verdicts:
        if verdict.broken:
            return Rejected(f"it would break a limit: {verdict}", verdicts)
    moved = float(problem.state[before != after].sum())
    if moved > most_bytes:
        return Rejected(f"it moves {moved:.0f} bytes of state, but at most {most_bytes:.0f} may move", verdicts)
    if not any(verdict.change == "better" for verdict in verdicts if verdict.goal.measure in aims):
        wanted = "at all" if set(aims) == set(GOALS) else f"of {', '.join(GOALS[aim].words for aim in aims)}"
        same = bool((before == after).all())
        return Rejected("it changes nothing" if same else f"it makes nothing better {wanted}", verdicts)
    return Accepted(verdicts)


def compare(before: Score, after: Score) -> tuple[Verdict, ...]:
    """Return the verdict on every goal."""
    return tuple(Verdict(goal, getattr(before, name), getattr(after, name)) for name, goal in GOALS.items())
