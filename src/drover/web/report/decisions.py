"""The decisions of the control loop: plan changes, grouped refusals, and the last decision about each unit.

Rule 1: everything comes from the records. A plan number that rises without a record is a change from outside the loop.
Rule 2: refusals that differ only in numbers form one group, which quotes the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from drover.control.record import PeriodOutcome, PeriodRecord, Reshape
from drover.placement.plan import Move, Plan

NUMBER: Final = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")
OUTSIDE_LOOP: Final = (
    "not made by the control loop: it was made by hand, or follows from a new number of nodes, from a restart with "
    "other units, or from a spread join whose old shape has no rows left"
)
NAMED_MOVES: Final = 5  # of a refused plan


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of plan; `before` and `after` are the predicted loads of nodes over their capacity."""

    number: int  # from 1, oldest first
    period: int
    plan: int  # the number of the new plan
    reason: str
    moves: tuple[Move, ...] = ()
    shapes: tuple[Reshape, ...] = ()  # joins that are spread in another shape
    cost: float | None = None  # seconds
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()

    @property
    def by_loop(self) -> bool:
        """Whether the control loop made it."""
        return bool(self.moves or self.shapes)


@dataclass(frozen=True, slots=True)
class RefusalGroup:
    """Refusals of the same thing for the same reason."""

    what: str
    reason: str  # the newest
    times: int
    first: int  # period
    last: int  # period

    @property
    def periods(self) -> str:
        """The first and the last period."""
        return str(self.last) if self.first == self.last else f"{self.first} to {self.last}"


def plan_changes(records: Sequence[PeriodRecord], plan: Plan | None) -> tuple[PlanChange, ...]:
    """Return all plan changes, oldest first; `plan` is the current one."""
    return tuple(replace(change, number=index) for index, change in enumerate(_changes(records, plan), start=1))


def _changes(records: Sequence[PeriodRecord], plan: Plan | None) -> Iterator[PlanChange]:
    expected: int | None = None
    for record in records:
        if expected is not None and record.plan > expected:
            yield PlanChange(0, record.period, record.plan, OUTSIDE_LOOP)
        expected = record.plan
        if record.kind is PeriodOutcome.MOVED and record.proposal is not None:
            made = record.proposal
            expected = record.plan + 1
            yield PlanChange(
                number=0,
                period=record.period,
                plan=expected,
                reason=record.reason,
                moves=made.moves,
                shapes=made.shapes,
                cost=made.cost if made.moves else None,
                before=made.before,
                after=made.after,
            )
    if expected is not None and plan is not None and plan.number > expected:
        yield PlanChange(0, records[-1].period, plan.number, OUTSIDE_LOOP)


def refusal_groups(records: Sequence[PeriodRecord]) -> tuple[RefusalGroup, ...]:
    """Return the groups of refusals, the most recent first."""
    found: dict[tuple[str, str], RefusalGroup] = {}
    for record in records:
        for key, what, reason in _refusals(record):
            pattern = (key, NUMBER.sub("#", reason))
            # A group that recurs is taken out and put back, so that the dictionary stays in order of recency.
            before = found.pop(pattern, RefusalGroup(what, reason, 0, record.period, record.period))
            found[pattern] = RefusalGroup(what, reason, before.times + 1, before.first, record.period)
    return tuple(reversed(found.values()))


def _refusals(record: PeriodRecord) -> Iterator[tuple[str, str, str]]:
    """Yield each refusal of a period: the key of its group, what was refused, and why."""
    if record.kind is PeriodOutcome.REFUSED:
        yield "a plan", _refused_plan(record), record.reason
    for refusal in record.refusals:
        yield f"unit {refusal.move.unit}", str(refusal.move), refusal.reason


def _refused_plan(record: PeriodRecord) -> str:
    if record.proposal is None:
        return "a new plan"
    changes = [*map(str, record.proposal.shapes), *map(str, record.proposal.moves)]
    more = f" and {len(changes) - NAMED_MOVES} more" if len(changes) > NAMED_MOVES else ""
    return f"plan {record.proposal.id} with {'; '.join(changes[:NAMED_MOVES])}{more}"


def last_decisions(records: Sequence[PeriodRecord]) -> dict[str, str]:
    """Return the last decision about each unit."""
    decisions: dict[str, str] = {}
    for record in records:
        for refusal in record.refusals:
            decisions[refusal.move.unit] = f"period {record.period}: stays, {refusal.reason}"
        for move in () if record.proposal is None else record.proposal.moves:
            decisions[move.unit] = f"period {record.period}: {record.kind} ({_direction(move)}), {record.reason}"
    return decisions


def _direction(move: Move) -> str:
    return f"new on node {move.target}" if move.source is None else f"node {move.source} to node {move.target}"
