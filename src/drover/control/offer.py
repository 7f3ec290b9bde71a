"""What can be proposed now, to somebody who asks before the loop does; and what keeps a proposal from being applied.

Rule 1: asking changes nothing. Rule 2: a name stands for one plan, so that whoever applies it gets what was shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from drover.control.loop import step
from drover.control.record import Kind, Proposal, Record, changed_since
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.view import World
from drover.errors import DroverError, nearest
from drover.flow.instances import as_asked, reshape, spread_joins
from drover.network.model import Network
from drover.placement.plan import Plan, apply

AGAIN = "Look at the newest one: drover plan --from CHECKPOINT."


@dataclass(frozen=True, slots=True)
class Offer:
    """The answer to what could be done now: a proposal that may be applied, or none and why.

    The record's kind tells a proposal that is on trial from one that was worked out for who asked.
    """

    proposal: Proposal | None
    waits: bool  # whether the loop itself has made it and it waits to be applied
    record: Record  # with the reason and the refusals; may hold a proposal that is refused


def offer(state: State, world: World, settings: Control, records: Sequence[Record] = ()) -> Offer:
    """Return the proposal that waits, or that is on trial, or what policy and judge would say to the window as it is.

    A proposal that is worked out here has not been on trial: it looks as good as its window.
    """
    for found in (state.waiting, state.trial):
        if found is not None and hindrance(found, state, world, settings) is None:
            return Offer(found, found is state.waiting, _told(found, records, state, world))
    asked = replace(settings, mode=Mode.PROPOSE, trial=0)
    _, record = step(replace(state, waiting=None, trial=None), world, asked)
    if record.kind is not Kind.PROPOSED or record.proposal is None:
        return Offer(None, False, record)
    named = replace(record.proposal, id=_name(record.proposal))
    return Offer(named, False, replace(record, proposal=named))


def hindrance(proposal: Proposal, state: State, world: World, settings: Control) -> str | None:
    """Return in words why a proposal cannot be applied any more, or None if it can."""
    if (change := changed_since(proposal, world.plan)) is not None:
        return change
    for move in proposal.moves:
        if move.target in world.closed:
            return f"node {move.target}, where {move.unit} would go, is lost or is being emptied"
        if (pin := settings.pins.get(move.unit, move.target)) != move.target:
            return f"unit {move.unit} is pinned to node {pin} now"
    # One that waits is looked at every period; one that must be, because units have no node, holds at any load.
    if proposal.gain > 0 and proposal != state.waiting and state.since > proposal.period:
        return f"the load has changed in period {state.since}, and it was made in period {proposal.period}"
    return None


def find(
    name: str, offered: Mapping[str, Proposal], state: State, world: World, settings: Control, records: Sequence[Record]
) -> Proposal:
    """Return the proposal of that name, waiting or offered; DroverError if there is none or the world has changed."""
    known = {**offered} if state.waiting is None else {**offered, state.waiting.id: state.waiting}
    if name not in known:
        ends = (each for each in reversed(records) if each.proposal is not None and each.proposal.id == name)
        if (end := next(ends, None)) is not None and end.kind in (Kind.MOVED, Kind.REFUSED):
            what = "carried out" if end.kind is Kind.MOVED else "refused"
            raise DroverError(f"proposal {name} was {what} in period {end.period}: {end.reason}. {AGAIN}")
        names = ", ".join(known) or "none"
        raise DroverError(f"there is no proposal {name!r}. {nearest(name, known)}Known: {names}. {AGAIN}")
    if (why := hindrance(known[name], state, world, settings)) is not None:
        raise DroverError(f"proposal {name} is not applied, because the world has changed: {why}. {AGAIN}")
    return known[name]


def changed(plan: Plan, proposal: Proposal, network: Network) -> Plan:
    """Return the plan that a proposal leads to; DroverError if it was made for another than this one."""
    if plan.number != proposal.base:
        raise DroverError(f"plan {proposal.base} ran when it was made, and plan {plan.number} does now")
    if not proposal.shapes:
        return apply(plan, proposal.moves)
    for shape in proposal.shapes:
        join = next(each for each in spread_joins(network) if each.name == shape.join)
        nodes = [move.target for move in proposal.moves if move.unit.startswith(f"{shape.join}[")]
        if shape.after != shape.before:
            plan = reshape(plan, join, shape.after, nodes, shape.weights)
        if shape.asked is not None:
            plan = as_asked(plan, shape.join, shape.asked)
    return replace(plan, number=proposal.base + 1)


def carried_out(plan: Plan, proposal: Proposal) -> bool:
    """Return whether a plan already is what a proposal leads to."""
    places, spread = plan.places, plan.instances
    there = all(places.get(move.unit) == move.target for move in proposal.moves)
    shaped = all(
        shape.join in spread and spread[shape.join].epochs[-1].grid == shape.after for shape in proposal.shapes
    )
    return plan.number > proposal.base and there and shaped


def _told(proposal: Proposal, records: Sequence[Record], state: State, world: World) -> Record:
    """Return the newest record of a proposal, with what was refused when it was made."""
    about = [each for each in reversed(records) if each.proposal is not None and each.proposal.id == proposal.id]
    refusals = next((each.refusals for each in about if each.refusals), ())
    plain = Record(state.period, Kind.PROPOSED, proposal.reason, proposal.before, world.plan.number)
    return replace(about[0] if about else plain, reason=proposal.reason, proposal=proposal, refusals=refusals)


def _name(proposal: Proposal) -> str:
    """Return a name that no other plan has: of its period, the plan that it starts from, and its moves."""
    moves = [(move.unit, move.source, move.target) for move in proposal.moves]
    content = json.dumps([proposal.base, proposal.nodes, moves, *map(str, proposal.shapes)]).encode()
    return f"{proposal.id}-{hashlib.blake2b(content, digest_size=4).hexdigest()}"
