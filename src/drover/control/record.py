"""What the loop decided in a period, and why: the words that people read.

Rule 1: a record says all that is needed to understand it later; nothing is looked up. Rule 2: it is JSON and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from drover.network.grid import Grid, Spread
from drover.placement.plan import Move, Plan


class Kind(StrEnum):
    """What came of a period."""

    WATCHED = "watched"  # nothing was to be decided
    STEADY = "steady"  # nothing is worth a move
    TRIAL = "on trial"  # a plan has to keep its promise first
    PROPOSED = "proposed"  # a plan waits to be applied
    MOVED = "moved"
    REFUSED = "refused"  # what was proposed is not done


@dataclass(frozen=True, slots=True)
class Refusal:
    """A move that was proposed and is not made."""

    move: Move
    reason: str

    def __str__(self) -> str:
        return f"{self.move}: no, {self.reason}"


@dataclass(frozen=True, slots=True)
class Reshape:
    """A join that is spread over another grid; `weights` are those of its rows and columns, empty ones are equal.

    `asked` is what somebody wished, if somebody did; the grid may then be the one that it had.
    """

    join: str
    before: Grid
    after: Grid
    weights: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    asked: Spread | None = None

    def __str__(self) -> str:
        return f"{self.join}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of plan that the judge let pass, with what it promises."""

    id: str
    period: int  # in which it was made
    base: int  # number of the plan that it starts from
    nodes: int
    moves: tuple[Move, ...]
    reason: str
    gain: float  # busy seconds per second that the slowest node is spared
    cost: float  # seconds that moving takes, once
    before: tuple[float, ...]  # load of each node over its capacity
    after: tuple[float, ...]
    goals: tuple[str, ...] = ()  # each goal before and after, in words
    measured: float = 1.0  # share of the costs that were measured, not assumed
    forced: bool = False  # whether units have to move, whatever is gained
    evens: bool = False  # whether it evens nodes out after a lasting change
    shapes: tuple[Reshape, ...] = ()  # joins that are spread otherwise; their new instances are among the moves
    reasons: tuple[tuple[str, str], ...] = ()  # by unit, where each moves for a reason of its own

    @property
    def bytes(self) -> float:
        """State that moves."""
        return sum(move.bytes for move in self.moves)


@dataclass(frozen=True, slots=True)
class Record:
    """One period."""

    period: int
    kind: Kind
    reason: str
    loads: tuple[float, ...]  # mean load of each node over its capacity in the window
    plan: int  # number of the plan that ran
    proposal: Proposal | None = None  # what was proposed, tried, refused or done
    refusals: tuple[Refusal, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # what else was measured: see `history`


def to_json(record: Record) -> dict[str, Any]:  # Any: JSON
    """Return a record as JSON."""
    return {**asdict(record), "kind": str(record.kind)}


def record_of(body: Mapping[str, Any]) -> Record:  # Any: JSON
    """Return a record from JSON."""
    given = body["proposal"]
    return Record(
        int(body["period"]),
        Kind(body["kind"]),
        str(body["reason"]),
        tuple(map(float, body["loads"])),
        int(body["plan"]),
        None if given is None else proposal_of(given),
        tuple(Refusal(_move(refusal["move"]), str(refusal["reason"])) for refusal in body["refusals"]),
        {str(name): float(value) for name, value in body["figures"].items()},
    )


def proposal_of(body: Mapping[str, Any]) -> Proposal:  # Any: JSON
    """Return a proposal from JSON."""
    return Proposal(
        str(body["id"]), int(body["period"]), int(body["base"]), int(body["nodes"]),
        tuple(map(_move, body["moves"])), str(body["reason"]), float(body["gain"]), float(body["cost"]),
        tuple(map(float, body["before"])), tuple(map(float, body["after"])), tuple(map(str, body["goals"])),
        float(body["measured"]), bool(body["forced"]), bool(body.get("evens", False)),
        tuple(map(_reshape, body.get("shapes", ()))),
        tuple((str(unit), str(reason)) for unit, reason in body.get("reasons", ())),
    )  # fmt: skip


def _reshape(body: Mapping[str, Any]) -> Reshape:
    rows, columns = (tuple(map(float, one)) for one in body["weights"])
    asked = body.get("asked")
    wish = Grid(*asked) if isinstance(asked, (list, tuple)) else asked
    return Reshape(str(body["join"]), Grid(*body["before"]), Grid(*body["after"]), (rows, columns), wish)


def _move(body: Mapping[str, Any]) -> Move:
    source = body["source"]
    return Move(str(body["unit"]), None if source is None else int(source), int(body["target"]), float(body["bytes"]))


def changed_since(proposal: Proposal, plan: Plan) -> str | None:
    """Return in words why a proposal cannot be carried out any more, or None if it can."""
    if plan.nodes != proposal.nodes:
        return f"it was made for {proposal.nodes} nodes, and there are {plan.nodes} now"
    for shape in proposal.shapes:
        known = plan.instances.get(shape.join)
        if known is None or known.epochs[-1].grid != shape.before:
            now_in = "gone" if known is None else f"spread {known.epochs[-1].grid} now"
            return f"join {shape.join} was spread {shape.before} then, and is {now_in}"
    places = plan.places
    for move in proposal.moves:
        if move.source is not None and move.unit not in places:
            return f"unit {move.unit} is gone"
        if (now := places.get(move.unit)) != move.source:
            then = "nowhere" if move.source is None else f"on node {move.source}"
            return f"unit {move.unit} was {then} then, and is on node {now} now"
    return None if plan.number == proposal.base else f"plan {proposal.base} ran then, and plan {plan.number} does now"
