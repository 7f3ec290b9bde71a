"""The proposal that you can apply now, and what keeps a proposal from being applied.

Rule 1: asking for a proposal changes nothing. Rule 2: an id stands for one plan, so you apply exactly what was shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from drover.control.context import ControlContext
from drover.control.loop import step
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, why_base_changed
from drover.control.settings import Mode
from drover.errors import DroverError, nearest
from drover.flow.instances import reshape, spread_joins, with_requested_spread, with_weights
from drover.network.model import Network
from drover.placement.plan import Plan, apply

NEWEST = "To see the newest one, run drover plan --from CHECKPOINT."


@dataclass(frozen=True, slots=True)
class CurrentProposal:
    """The proposal that can be applied now, or none and the reason.

    The kind of the record distinguishes a proposal on trial from one that was worked out on request.
    """

    proposal: Proposal | None
    waits: bool  # whether the loop made it and it waits to be applied
    record: PeriodRecord  # reason and refusals; its own proposal may be a refused one


def current_proposal(context: ControlContext, records: Sequence[PeriodRecord] = ()) -> CurrentProposal:
    """Return the waiting proposal, or the one on trial, or one worked out now from the window.

    A proposal that is worked out now has not been on trial, so it may look better than it is.
    """
    state = context.state
    for found in (state.waiting, state.trial):
        if found is not None and why_not_applicable(found, context) is None:
            return CurrentProposal(found, found is state.waiting, _record_of(found, records, context))
    # Work one out as the loop would. There is no trial, because you decide. The new state is dropped, because asking
    # changes nothing (rule 1).
    _, record = step(context.with_settings(mode=Mode.PROPOSE, trial=0).with_state(waiting=None, trial=None))
    if record.kind is not PeriodOutcome.PROPOSED or record.proposal is None:
        return CurrentProposal(None, False, record)
    named = replace(record.proposal, id=_unique_id(record.proposal))
    return CurrentProposal(named, False, replace(record, proposal=named))


def why_not_applicable(proposal: Proposal, context: ControlContext) -> str | None:
    """Return why a proposal can no longer be applied, or None if it can."""
    state = context.state
    if (change := why_base_changed(proposal, context.deployment.plan)) is not None:
        return change
    for move in proposal.moves:
        if move.target in context.deployment.closed:
            return f"node {move.target}, where {move.unit} would go, is lost or drained"
        if (pin := context.settings.pins.get(move.unit, move.target)) != move.target:
            return f"unit {move.unit} is pinned to node {pin} now"
    # The loop reviews a waiting proposal in every period, so it needs no check here. A proposal without a gain places
    # units that have no node, and that is right at any load.
    if proposal.gain > 0 and proposal != state.waiting and state.last_change > proposal.period:
        return f"the load has changed in period {state.last_change}, and it was made in period {proposal.period}"
    return None


def find_proposal(
    name: str, offered: Mapping[str, Proposal], context: ControlContext, records: Sequence[PeriodRecord]
) -> Proposal:
    """Return the proposal with that id, waiting or offered; DroverError if there is none or it cannot be applied."""
    waiting = context.state.waiting
    known = {**offered} if waiting is None else {**offered, waiting.id: waiting}
    if name not in known:
        ends = (each for each in reversed(records) if each.proposal is not None and each.proposal.id == name)
        # Its end is more helpful than "no such proposal".
        if (end := next(ends, None)) is not None and end.kind in (PeriodOutcome.MOVED, PeriodOutcome.REFUSED):
            what = "carried out" if end.kind is PeriodOutcome.MOVED else "refused"
            raise DroverError(f"proposal {name} was {what} in period {end.period}: {end.reason}. {NEWEST}")
        names = ", ".join(known) or "none"
        raise DroverError(f"there is no proposal {name!r}. {nearest(name, known)}Known: {names}. {NEWEST}")
    if (why := why_not_applicable(known[name], context)) is not None:
        raise DroverError(f"proposal {name} is not applied, because the deployment has changed: {why}. {NEWEST}")
    return known[name]


def apply_proposal(plan: Plan, proposal: Proposal, network: Network) -> Plan:
    """Return the plan that a proposal leads to; DroverError if the proposal was made for another plan."""
    if plan.number != proposal.base:
        raise DroverError(f"the proposal starts from plan {proposal.base}, but plan {plan.number} runs now")
    if not proposal.shapes:
        return apply(plan, proposal.moves)
    for shape in proposal.shapes:
        join = next(each for each in spread_joins(network) if each.name == shape.join)
        nodes = [move.target for move in proposal.moves if move.unit.startswith(f"{shape.join}[")]
        if shape.is_reweighting:
            plan = with_weights(plan, shape.join, shape.weights)
        elif shape.after != shape.before:
            plan = reshape(plan, join, shape.after, nodes, shape.weights)
        if shape.asked is not None:
            plan = with_requested_spread(plan, shape.join, shape.asked)
    return replace(plan, number=proposal.base + 1)


def is_applied(plan: Plan, proposal: Proposal) -> bool:
    """Return whether a plan already is what a proposal leads to."""
    places = plan.places
    spread = plan.instances
    placed = all(places.get(move.unit) == move.target for move in proposal.moves)
    shaped = all(
        shape.join in spread
        and spread[shape.join].epochs[-1].grid == shape.after
        and (not shape.is_reweighting or spread[shape.join].weights == shape.weights)
        for shape in proposal.shapes
    )
    return plan.number > proposal.base and placed and shaped


def _record_of(proposal: Proposal, records: Sequence[PeriodRecord], context: ControlContext) -> PeriodRecord:
    """Return the newest record of a proposal, with the refusals from when it was made."""
    about = [each for each in reversed(records) if each.proposal is not None and each.proposal.id == proposal.id]
    refusals = next((each.refusals for each in about if each.refusals), ())
    number = context.deployment.plan.number
    plain = PeriodRecord(context.state.period, PeriodOutcome.PROPOSED, proposal.reason, proposal.before, number)
    return replace(about[0] if about else plain, reason=proposal.reason, proposal=proposal, refusals=refusals)


def _unique_id(proposal: Proposal) -> str:
    """Return an id that no other plan has: made of the period, the plan that it starts from, and what changes.

    It depends on values that are stored, not on names in the code: a version that renames a class makes the same id.
    """
    moves = [(move.unit, move.source, move.target) for move in proposal.moves]
    shapes = [(shape.join, shape.before, shape.after, shape.weights, shape.asked) for shape in proposal.shapes]
    content = json.dumps([proposal.base, proposal.nodes, moves, *shapes]).encode()
    return f"{proposal.id}-{hashlib.blake2b(content, digest_size=4).hexdigest()}"
