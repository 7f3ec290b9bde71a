"""What the loop decided in a period, and why.

Rule 1: a record is complete. You can understand it later without looking anything up. Rule 2: a record converts to JSON
and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from drover.network.grid import Grid, Spread
from drover.placement.plan import Move, Plan


class PeriodOutcome(StrEnum):
    """The outcome of a period."""

    WATCHED = "watched"  # there was nothing to decide
    STEADY = "steady"  # nothing is worth a move
    TRIAL = "on trial"  # a plan has to prove itself first
    PROPOSED = "proposed"  # a plan waits to be applied
    MOVED = "moved"
    REFUSED = "refused"  # a proposal is not carried out


@dataclass(frozen=True, slots=True)
class RefusedMove:
    """A proposed move that is not made, and why."""

    move: Move
    reason: str

    def __str__(self) -> str:
        return f"{self.move}: no, {self.reason}"


@dataclass(frozen=True, slots=True)
class Reshape:
    """A join that gets another grid, or other weights; `weights` are those of its rows and columns, equal if empty.

    `asked` is the spread that was requested by hand, if any. The grid may then be the same as before.
    """

    join: str
    before: Grid
    after: Grid
    weights: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    asked: Spread | None = None

    @property
    def is_reweighting(self) -> bool:
        """Whether only the weights change."""
        return self.before == self.after and self.asked is None

    def __str__(self) -> str:
        if self.is_reweighting:
            rows, columns = (" : ".join(f"{weight:.3g}" for weight in weights) for weights in self.weights)
            return f"{self.join}: {self.after}, rows by {rows}, columns by {columns}"
        return f"{self.join}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of plan, with what it promises."""

    id: str
    period: int  # in which it was made
    base: int  # number of the plan that it starts from
    nodes: int
    moves: tuple[Move, ...]
    reason: str
    gain: float  # busy seconds per second by which the load of the slowest node falls
    cost: float  # seconds that moving takes, once
    before: tuple[float, ...]  # load of each node over its capacity
    after: tuple[float, ...]
    goals: tuple[str, ...] = ()  # each goal before and after, in words
    measured: float = 1.0  # share of the costs that were measured, not assumed
    forced: bool = False  # whether units have to move, whatever the gain is
    evens: bool = False  # whether it evens nodes out after a lasting change
    shapes: tuple[Reshape, ...] = ()  # joins that get another grid; their new instances are among the moves
    reasons: tuple[tuple[str, str], ...] = ()  # unit and reason, if units move for different reasons
    seconds_before: float = 0.0  # of a batch, as the model has it; 0 if there is no model
    seconds_after: float = 0.0  # of a batch, which it promises

    @property
    def is_reweighting(self) -> bool:
        """Whether it only changes weights of joins."""
        return bool(self.shapes) and not self.moves and all(shape.is_reweighting for shape in self.shapes)

    @property
    def bytes(self) -> float:
        """The bytes of state that move."""
        return sum(move.bytes for move in self.moves)


@dataclass(frozen=True, slots=True)
class PeriodRecord:
    """What was decided in one period."""

    period: int
    kind: PeriodOutcome
    reason: str
    loads: tuple[float, ...]  # mean load of each node over its capacity in the window
    plan: int  # number of the plan that ran
    proposal: Proposal | None = None  # proposed, on trial, refused or carried out
    refusals: tuple[RefusedMove, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # other measurements, e.g. `batch_seconds`
    health: str = ""  # whether the run kept up, in one sentence
    obstacle: str = ""  # of an overload that is not acted upon: why not, and what would help
    kept: str = ""  # what an earlier proposal promised, and what came


def to_json(record: PeriodRecord) -> dict[str, Any]:  # Any: JSON
    """Return a record as JSON; what older versions did not know is left out where it says nothing."""
    body = {**asdict(record), "kind": str(record.kind)}
    if record.proposal is not None:
        body["proposal"] = proposal_to_json(record.proposal)
    return {name: value for name, value in body.items() if value or name not in ("health", "obstacle", "kept")}


def proposal_to_json(proposal: Proposal) -> dict[str, Any]:  # Any: JSON
    """Return a proposal as JSON, with seconds of a batch if there was a model of it."""
    body = asdict(proposal)
    return {name: value for name, value in body.items() if value or not name.startswith("seconds_")}


def record_of(body: Mapping[str, Any]) -> PeriodRecord:  # Any: JSON
    """Return a record from JSON."""
    given = body["proposal"]
    return PeriodRecord(
        int(body["period"]),
        PeriodOutcome(body["kind"]),
        str(body["reason"]),
        tuple(map(float, body["loads"])),
        int(body["plan"]),
        None if given is None else proposal_of(given),
        tuple(RefusedMove(_move(refusal["move"]), str(refusal["reason"])) for refusal in body["refusals"]),
        {str(name): float(value) for name, value in body["figures"].items()},
        str(body.get("health", "")),  # absent in files of older runs, as are the next
        str(body.get("obstacle", "")),
        str(body.get("kept", "")),
    )


def proposal_of(body: Mapping[str, Any]) -> Proposal:  # Any: JSON
    """Return a proposal from JSON."""
    return Proposal(
        str(body["id"]),
        int(body["period"]),
        int(body["base"]),
        int(body["nodes"]),
        tuple(map(_move, body["moves"])),
        str(body["reason"]),
        float(body["gain"]),
        float(body["cost"]),
        tuple(map(float, body["before"])),
        tuple(map(float, body["after"])),
        tuple(map(str, body["goals"])),
        float(body["measured"]),
        bool(body["forced"]),
        bool(body.get("evens", False)),
        tuple(map(_reshape, body.get("shapes", ()))),
        tuple((str(unit), str(reason)) for unit, reason in body.get("reasons", ())),
        float(body.get("seconds_before", 0.0)),
        float(body.get("seconds_after", 0.0)),
    )


def _reshape(body: Mapping[str, Any]) -> Reshape:
    rows, columns = (tuple(map(float, one)) for one in body["weights"])
    asked = body.get("asked")
    requested = Grid(*asked) if isinstance(asked, (list, tuple)) else asked
    return Reshape(str(body["join"]), Grid(*body["before"]), Grid(*body["after"]), (rows, columns), requested)


def _move(body: Mapping[str, Any]) -> Move:
    source = body["source"]
    return Move(str(body["unit"]), None if source is None else int(source), int(body["target"]), float(body["bytes"]))


def why_base_changed(proposal: Proposal, plan: Plan) -> str | None:
    """Return why a proposal no longer fits the plan, or None if it does."""
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
