"""After a lasting change of load, make the nodes even again: with few moves, and within five periods.

Rule 1: nodes are even if no two loads differ by more than EPSILON of the capacity, judged by the periods since the
change. Rule 2: until these fill a window, evenness decides, not the gain on the slowest node: the current plan was made
for a load that is gone. Rule 3: nothing moves before the change has lasted for a trial. An overloaded node is the
exception: then nothing waits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from drover.control.change_detection import SOONEST
from drover.control.context import ControlContext
from drover.control.critical import compare_plans
from drover.control.moves import ChosenMoves, MoveLimits, choose_moves, pin_resting
from drover.control.outcome import (
    Outcome,
    accept,
    judge_proposal,
    objection_to,
    places_of,
    propose_moves,
    record_outcome,
)
from drover.control.record import PeriodOutcome, Proposal
from drover.control.super_operators import fused_units
from drover.control.view import View
from drover.placement.search.fewest_moves import BalanceTarget, even_out

EPSILON: Final = 0.1  # of capacity, as in [Xing05], table 2
# A few periods measure a load to a few thousandths only. So the measured difference has to stay below EPSILON by that
# much, and after a move by twice that much; otherwise the next period might call for another move.
AIM: Final = BalanceTarget(epsilon=0.95 * EPSILON, goal=0.9 * EPSILON)
POLICY: Final = "fewest-moves"


def is_uneven(context: ControlContext, view: View) -> bool:
    """Return whether nodes are uneven after a change of load that is less than a window ago."""
    recent = context.state.placed and context.state.changed_recently(context.settings.window)
    return recent and view.spread(view.problem.current) > AIM.epsilon


def _periods_since_change(context: ControlContext) -> int:
    return context.state.period - context.state.last_change + 1


def _has_lasted(context: ControlContext, view: View) -> bool:
    """Return whether the change has lasted for a trial, or a node is overloaded and nothing may wait."""
    settings = context.settings
    return _periods_since_change(context) >= SOONEST + settings.trial or view.overloaded(settings.certainty)


def rebalance(context: ControlContext, view: View) -> Outcome | None:
    """Propose moves that even the nodes out, or put them on trial; None if there are none."""
    problem = view.problem
    choice = _choose(context, view)
    if not choice.moves:
        return None
    gain = compare_plans(problem.series, problem.current, choice.places, problem.capacity)
    before = view.spread(problem.current)
    after = view.spread(choice.places)
    changed = f"since the change in period {context.state.last_change}"
    why = f"{POLICY}: {changed} loads differ by {before:.3f}; with these moves by {after:.3f}"
    proposal = propose_moves(context, view, choice, gain.mean, why, evens=True)
    if (objection := objection_to(context.settings, view, gain, proposal)) is None:
        objection, proposal = judge_proposal(view, choice.places, proposal)
    if objection is not None:
        return record_outcome(context, view, PeriodOutcome.REFUSED, objection, proposal, choice.refusals)
    if _has_lasted(context, view):
        return accept(context, view, proposal, choice.refusals)
    reason = f"{why}; the change has to last for {SOONEST + context.settings.trial} periods"
    context = context.with_state(trial=proposal)
    return record_outcome(context, view, PeriodOutcome.TRIAL, reason, proposal, choice.refusals)


def _choose(context: ControlContext, view: View) -> ChosenMoves:
    """Return the moves that even nodes out; if they are too many for one period, the best of them."""
    settings = context.settings
    price = context.state.move_cost
    problem = pin_resting(view.problem, context.state.resting(settings.cool_down))
    # The search stops as soon as nodes are even enough: every move costs, and the next periods will show what is left.
    fused = fused_units(context, problem)
    even = even_out(fused.problem, fused.problem.current, AIM)
    wanted = fused.spread(even)
    limits = MoveLimits.of(settings, fused.owner)
    if int((even != fused.problem.current).sum()) <= settings.most_moves:
        # No least gain here: two uneven nodes among many are a small part of the pressure of all.
        choice = choose_moves(problem, wanted, limits, {}, price, whole=True, least=-math.inf)
        if choice.moves:
            return choice
    return choose_moves(problem, wanted, limits, {}, price, whole=False, least=0.0)


def continue_trial(context: ControlContext, view: View, proposal: Proposal) -> Outcome | None:
    """Return the outcome for a plan on trial that evens nodes out; None if it no longer does."""
    state = context.state
    if not _has_lasted(context, view):
        left = SOONEST + context.settings.trial - _periods_since_change(context)
        reason = f"the change has to last for {left} more periods"
        return record_outcome(context, view, PeriodOutcome.TRIAL, reason, proposal)
    problem = view.problem
    places = places_of(view, proposal)
    # Newer periods may show that other moves are needed; then the loop looks for a new plan.
    if view.spread(places) > AIM.epsilon:
        return None
    # Only periods since the plan was made and the load changed can confirm it.
    fresh = problem.series[:, -max(state.period - max(proposal.period + 1, state.last_change) + 1, 1) :]
    gain = compare_plans(fresh, problem.current, places, problem.capacity)
    if objection_to(context.settings, view, gain, proposal) is not None:
        return None
    objection, proposal = judge_proposal(view, places, proposal)
    if objection is not None:
        return None
    return accept(context.with_state(trial=None), view, replace(proposal, gain=gain.mean), ())
