"""From chosen moves to a proposal, and from a proposal to the outcome of the period.

Rule 1: every proposal passes the same checks, whichever policy made it. Rule 2: every outcome has a reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.critical import CriticalPathGain
from drover.control.moves import ChosenMoves, overfull
from drover.control.plan_seconds import PlanTimer, plan_timer
from drover.control.promises import Promise
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove, why_base_changed
from drover.control.settings import Control, Mode
from drover.control.state import ControlState
from drover.control.view import View
from drover.load.arrays import Ints
from drover.placement.faults import faults
from drover.placement.judge import Rejected, judge
from drover.placement.plan import Move
from drover.placement.problem import NOWHERE

Outcome = tuple[ControlState, PeriodRecord]
LONGER: Final = 0.01  # of a batch; a smaller difference is noise


def record_outcome(
    context: ControlContext,
    view: View,
    kind: PeriodOutcome,
    reason: str,
    proposal: Proposal | None = None,
    refusals: Sequence[RefusedMove] = (),
) -> Outcome:
    """Return the state and the record of the period."""
    loads = view.loads(view.problem.current)
    number = context.deployment.plan.number
    return context.state, PeriodRecord(context.state.period, kind, reason, loads, number, proposal, tuple(refusals))


def make_proposal(
    context: ControlContext,
    view: View,
    moves: Sequence[Move],
    reason: str,
    after: tuple[float, ...],
    **details: Any,  # Any: further fields of Proposal
) -> Proposal:
    """Return a proposal to make these moves from the current plan, which leads to the loads `after`, (n,)."""
    state = context.state
    plan = context.deployment.plan
    given: dict[str, Any] = {"id": f"p{state.period}", "gain": 0.0} | details
    return Proposal(
        period=state.period,
        base=plan.number,
        nodes=plan.nodes,
        moves=tuple(moves),
        reason=reason,
        cost=state.move_cost.of(moves),
        before=view.loads(view.problem.current),
        after=after,
        measured=view.measured,
        **given,
    )


def propose_moves(
    context: ControlContext, view: View, choice: ChosenMoves, gain: float, reason: str, **details: Any
) -> Proposal:  # Any: further fields of Proposal
    """Return the proposal to make the chosen moves; `gain` is in busy seconds per second of the slowest node."""
    after = view.loads(choice.places)
    timer = plan_timer(context, view)
    if timer is not None and (choice.places != NOWHERE).all():
        details |= _promise(timer, view.problem.current, choice.places)
    return make_proposal(context, view, choice.moves, reason, after, gain=gain, **details)


def _promise(timer: PlanTimer, before: Ints, after: Ints) -> dict[str, float]:
    """Return the seconds of a batch under two plans, (m,); of a trigger's rows, if batches would grow without end."""
    found = [timer.seconds(places).mean for places in (before, after)]
    if not all(map(math.isfinite, found)):
        found = [timer.one_trigger(places) for places in (before, after)]
    return dict(zip(("seconds_before", "seconds_after"), (round(one, 4) for one in found), strict=True))


def judge_proposal(view: View, places: Ints, proposal: Proposal) -> tuple[str | None, Proposal]:
    """Return why the judge rejects a plan, or None, and the proposal with a verdict on every goal.

    Call it last: it scores two plans, which takes longer than the rest of a step.
    """
    ruling = judge(view.problem, view.problem.current, places)
    known = [str(verdict) for verdict in ruling.verdicts if verdict.change != "unknown"]
    return ruling.reason if isinstance(ruling, Rejected) else None, replace(proposal, goals=tuple(known))


def objection_to(settings: Control, view: View, gain: CriticalPathGain, proposal: Proposal) -> str | None:
    """Return why a proposal is not worth its cost, or None if it is."""
    wins = gain.mean
    if proposal.seconds_after > proposal.seconds_before * (1 + LONGER) > 0:
        return (
            f"batches would take {proposal.seconds_after:.2g} s instead of {proposal.seconds_before:.2g} s: "
            "streams that it cuts cost more than it saves"
        )
    if proposal.evens:
        # Filling the emptiest node counts, too: a plan that evens nodes out need not relieve the slowest one.
        wins = max(wins, view.spread(view.problem.current) - view.spread(places_of(view, proposal)))
    elif gain.share < settings.least_gain:
        return f"it would lower the load of the slowest node by {gain.share:.1%}, less than {settings.least_gain:.0%}"
    if wins * settings.payback < proposal.cost:
        return (
            f"moving {proposal.bytes:,.0f} bytes takes {proposal.cost:.2g} s, but wins back only "
            f"{wins * settings.payback:.2g} s in {settings.payback:g} s"
        )
    return None


def places_of(view: View, proposal: Proposal) -> Ints:
    """Return the plan, (m,), that a proposal leads to."""
    target = {move.unit: move.target for move in proposal.moves}
    return np.array(
        [target.get(unit, node) for unit, node in zip(view.problem.units, view.problem.current, strict=True)]
    )


def accept(context: ControlContext, view: View, proposal: Proposal, refusals: Sequence[RefusedMove]) -> Outcome:
    """Accept a proposal: it is carried out, or in mode propose it waits until you apply it."""
    if context.settings.mode is Mode.PROPOSE:
        waiting = context.with_state(waiting=proposal)
        return record_outcome(waiting, view, PeriodOutcome.PROPOSED, proposal.reason, proposal, refusals)
    state = context.state
    if proposal.is_reweighting:
        # Nothing moves, so nothing needs a cool-down, and what an earlier proposal promised still holds.
        joins = [shape.join for shape in proposal.shapes]
        weighed = context.with_state(weighed={**state.weighed, **dict.fromkeys(joins, state.period)})
        return record_outcome(weighed, view, PeriodOutcome.MOVED, proposal.reason, proposal, refusals)
    changed = [*(move.unit for move in proposal.moves), *(shape.join for shape in proposal.shapes)]
    promise = Promise(proposal.id, state.period, proposal.seconds_after) if proposal.seconds_after else None
    moved = context.with_state(moved={**state.moved, **dict.fromkeys(changed, state.period)}, promise=promise)
    return record_outcome(moved, view, PeriodOutcome.MOVED, proposal.reason, proposal, refusals)


def why_outdated(context: ControlContext, view: View, proposal: Proposal) -> str | None:
    """Return why a proposal can no longer be carried out, or None if it can."""
    if (change := why_base_changed(proposal, context.deployment.plan)) is not None:
        return change
    for move in proposal.moves:
        if move.target in context.deployment.closed:
            return f"node {move.target} is closed now, and {move.unit} was to go there"
    places = places_of(view, proposal)
    moving = {move.unit for move in proposal.moves}
    for fault in faults(view.problem, places):
        # Faults of units that stay are not caused by this proposal.
        if fault.path[0] in moving:
            return str(fault)
    return overfull(view.problem, view.problem.current, places, context.settings.memory)
