"""What the loop decided: changes of plan in a row, refusals in groups, and the last word about each unit.

Rule 1: everything is taken from records. A plan that changed without one was changed by somebody else; that is told.
Rule 2: refusals are grouped if they differ in numbers alone; the newest is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from drover.control.record import Kind, Record, Reshape
from drover.placement.plan import Move, Plan

NUMBER: Final = re.compile(r"\d[\d.,]*(?:e[+-]?\d+)?")
BY_HAND: Final = (
    "not by the control loop: by hand, by a change of the number of nodes, by a start with other units, or because no "
    "row is left of the shape that a join had before"
)
NAMED: Final = 5  # moves of a refused plan that are named


@dataclass(frozen=True, slots=True)
class Change:
    """A change of plan; `before` and `after` are loads of the nodes over their capacity, as promised."""

    number: int  # from 1, oldest first
    period: int
    plan: int  # that it led to
    moves: tuple[Move, ...]
    reason: str
    gain: float = 0.0  # busy seconds per second that the slowest node is spared
    cost: float = 0.0  # seconds
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    shapes: tuple[Reshape, ...] = ()  # joins that are spread otherwise


@dataclass(frozen=True, slots=True)
class Group:
    """Refusals of one thing for one reason."""

    what: str
    reason: str  # the newest
    times: int
    first: int  # period
    last: int


def changes_of(records: Sequence[Record], plan: Plan | None) -> tuple[Change, ...]:
    """Return all changes of plan, oldest first."""
    return tuple(replace(change, number=index) for index, change in enumerate(_changes(records, plan), start=1))


def _changes(records: Sequence[Record], plan: Plan | None) -> Iterator[Change]:
    expected: int | None = None
    for record in records:
        if expected is not None and record.plan > expected:
            yield Change(0, record.period, record.plan, (), BY_HAND)
        expected = record.plan
        if record.kind is Kind.MOVED and record.proposal is not None:
            made, expected = record.proposal, record.plan + 1
            yield Change(
                0, record.period, expected, made.moves, record.reason, made.gain, made.cost, made.before, made.after,
                made.shapes,
            )  # fmt: skip
    if expected is not None and plan is not None and plan.number > expected:
        yield Change(0, records[-1].period, plan.number, (), BY_HAND)


def groups_of(records: Sequence[Record]) -> tuple[Group, ...]:
    """Return the refusals, those that came up last first."""
    found: dict[tuple[str, str], Group] = {}
    for record in records:
        for key, what, reason in _refused(record):
            pattern = (key, NUMBER.sub("#", reason))
            before = found.pop(pattern, Group(what, reason, 0, record.period, record.period))
            found[pattern] = Group(what, reason, before.times + 1, before.first, record.period)
    return tuple(reversed(found.values()))


def _refused(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield what was refused in a period: what it is grouped by, what it is, and why it was not done."""
    if record.kind is Kind.REFUSED:
        yield "a plan", _plan_words(record), record.reason
    for refusal in record.refusals:
        yield f"unit {refusal.move.unit}", str(refusal.move), refusal.reason


def _plan_words(record: Record) -> str:
    if record.proposal is None:
        return "a new plan"
    changes = [*map(str, record.proposal.shapes), *map(str, record.proposal.moves)]
    more = f" and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
    return f"plan {record.proposal.id} with {'; '.join(changes[:NAMED])}{more}"


def last_words(records: Sequence[Record]) -> dict[str, str]:
    """Return, by unit, the last decision about it."""
    said: dict[str, str] = {}
    for record in records:
        for refusal in record.refusals:
            said[refusal.move.unit] = f"period {record.period}: stays, {refusal.reason}"
        for move in () if record.proposal is None else record.proposal.moves:
            said[move.unit] = f"period {record.period}: {record.kind} ({_way(move)}), {record.reason}"
    return said


def _way(move: Move) -> str:
    return f"new on node {move.target}" if move.source is None else f"node {move.source} to node {move.target}"
