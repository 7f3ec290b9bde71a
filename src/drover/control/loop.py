"""One period of the control loop: samples -> load model -> policy -> judge -> next plan.

Rule 1: a step is a pure function. Equal contexts give equal decisions, in virtual time and in real time.
Rule 2: a plan is chosen on one window and then has to prove itself in later periods. The best of many plans for a
window looks better in that window than it is. An overloaded node is the exception: then nothing waits.
Rule 3: units without an allowed node are placed at once, and nothing else moves in that period.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator, default_rng

from drover.control import reassignment
from drover.control.context import ControlContext
from drover.control.critical import compare_plans
from drover.control.diffuse import propose_reshape, why_obsolete
from drover.control.health import health_of
from drover.control.moves import MoveLimits, choose_moves, pin_resting
from drover.control.outcome import (
    Outcome,
    accept,
    judge_proposal,
    objection_to,
    places_of,
    propose_moves,
    record_outcome,
    why_outdated,
)
from drover.control.overload import obstacle
from drover.control.promises import compare_promise
from drover.control.rebalance import continue_trial, is_uneven, rebalance
from drover.control.record import PeriodOutcome, PeriodRecord, Proposal, RefusedMove
from drover.control.settings import Mode
from drover.control.shorter_batches import shorten
from drover.control.super_operators import fused_units, single_units
from drover.control.tree_step import decide_on_tree
from drover.control.view import View, detect_change, view_of
from drover.control.warm_up import offload
from drover.control.weights import propose_weights, review_weights
from drover.errors import DroverError, ProblemError
from drover.placement.problem import NOWHERE, Flags
from drover.placement.super_operators import propose_fused

SOONEST: Final = 5  # periods after which an overloaded run gets its first plan: fewer show no correlations
OUTDATED: Final = "the load has changed since it was proposed"


def step(context: ControlContext) -> Outcome:
    """Decide on one period, whose samples the state's window already holds.

    If the record is of kind MOVED, the caller carries out its proposal from the next batch on.
    """
    deployment = context.deployment
    before = context.state
    if not before.window.periods:
        reason = "nothing was measured yet"
        return before, PeriodRecord(0, PeriodOutcome.WATCHED, reason, (), deployment.plan.number)
    if deployment.hierarchy is not None:
        return _with_health(context, view_of(context), decide_on_tree(context, deployment.hierarchy))
    context = replace(context, state=detect_change(context))
    view = view_of(context)
    if before.trial is not None and context.state.last_change != before.last_change:
        # The plan on trial was chosen for a load that is gone. Waiting for its result would waste the periods that
        # matter most.
        stale = tuple(RefusedMove(move, OUTDATED) for move in before.trial.moves)
        after, record = _decide(context.with_state(trial=None), view)
        return _with_health(context, view, (after, replace(record, refusals=(*stale, *record.refusals))))
    return _with_health(context, view, _decide(context, view))


def _with_health(context: ControlContext, view: View, outcome: Outcome) -> Outcome:
    """Return the outcome with whether the run keeps up and, if an overload is not acted upon, why not."""
    state, record = outcome
    state, kept = compare_promise(state)
    found = health_of(context, view)
    acted = record.kind in (PeriodOutcome.MOVED, PeriodOutcome.PROPOSED)
    why = obstacle(context, view, record) if found.is_overloaded and not acted else ""
    return state, replace(record, health=found.text, obstacle=why, kept=kept)


def _decide(context: ControlContext, view: View) -> Outcome:
    state = context.state
    deployment = context.deployment
    if context.settings.mode is Mode.OBSERVE or not deployment.open:
        reason = "nothing is decided in mode observe" if deployment.open else "every node is closed, and units stay"
        return record_outcome(context, view, PeriodOutcome.WATCHED, reason)
    if (orphans := reassignment.orphaned(view.problem, deployment.closed)).any():
        return _reassign(context, view, orphans)
    if state.waiting is not None and not state.waiting.is_reweighting:
        return _review_waiting(context, view, state.waiting)
    return _change(context, view)


def _change(context: ControlContext, view: View) -> Outcome:
    """Look for another shape of a join, then for other weights, then for moves."""
    free = context.with_state(waiting=None)
    if (reshape := propose_reshape(free, view)) is not None:
        return accept(free.with_state(trial=None), view, reshape, ())
    if context.settings.mode is Mode.PROPOSE:
        return review_weights(context, view, _improve(free, view))
    # Weights come before moves, because they move no state and may make moves unnecessary.
    if (weights := propose_weights(free, view)) is not None:
        return accept(free.with_state(trial=None), view, weights, ())
    return _improve(free, view)


def _improve(context: ControlContext, view: View) -> Outcome:
    """Look for a better plan that leaves the shapes of joins as they are."""
    if context.state.trial is not None:
        return _review_trial(context, view, context.state.trial)
    if is_uneven(context, view) and (outcome := rebalance(context, view)) is not None:
        return outcome
    urgent = view.overloaded(context.settings.certainty) and _is_warm(context, view)
    return (shorten(context, view) if urgent else None) or _ask_policy(context, view)


def _rng(context: ControlContext) -> Generator:
    # A generator per period: a decision does not depend on how many numbers earlier periods drew (rule 1).
    return default_rng((context.settings.seed, context.state.period))


def _reassign(context: ControlContext, view: View, orphans: Flags) -> Outcome:
    """Place the units that need a node, (m,), and leave all others where they are."""
    problem = view.problem
    choice = reassignment.reassign(problem, orphans, context.settings.memory, fused_units(context, problem).owner)
    waiting = context.state.waiting
    context = context.with_state(trial=None)
    if not choice.moves:
        reason = f"{len(choice.refusals)} units need a node, and no node has room for them"
        context = context.with_state(waiting=None)
        return record_outcome(context, view, PeriodOutcome.REFUSED, reason, None, choice.refusals)
    if waiting is not None and context.settings.mode is Mode.PROPOSE:
        # Keep a waiting proposal that does the same. With a new id in every period, you could apply none of them.
        same = {move.unit for move in waiting.moves} == {move.unit for move in choice.moves}
        if waiting.forced and same and why_outdated(context, view, waiting) is None:
            reason = f"{waiting.id} waits to be applied"
            return record_outcome(context, view, PeriodOutcome.PROPOSED, reason, waiting, choice.refusals)
    deployment = context.deployment
    cause = reassignment.describe_cause(problem, np.flatnonzero(orphans), deployment.closed, deployment.lost)
    reason = f"{len(choice.moves)} units need a node: {cause}"
    proposal = propose_moves(context, view, choice, 0.0, reason, forced=True)
    if not choice.refusals and (problem.current != NOWHERE).all():
        _, proposal = judge_proposal(view, choice.places, proposal)
    return accept(context.with_state(waiting=None), view, proposal, choice.refusals)


def _warm_up(context: ControlContext, view: View) -> int:
    """Return the periods before the first plan; an overloaded run does not wait for all of them."""
    settings = context.settings
    return min(settings.warm_up, SOONEST) if view.overloaded(settings.certainty) else settings.warm_up


def _is_warm(context: ControlContext, view: View) -> bool:
    return context.state.placed or len(context.state.window.periods) >= _warm_up(context, view)


def _ask_policy(context: ControlContext, view: View) -> Outcome:
    """Ask the policy for a plan, and put what is worth its cost on trial."""
    problem = view.problem
    settings = context.settings
    first = not context.state.placed
    overloaded = view.overloaded(settings.certainty)
    if first and (left := _warm_up(context, view) - len(context.state.window.periods)) > 0:
        return offload(context, view, left, _rng(context))
    policy = settings.first if first else settings.then
    # What has moved before the first plan has its place in it, also after a short cool-down: no move is undone.
    given = pin_resting(problem, context.state.moved) if first else problem
    try:
        wanted = propose_fused(given, policy, _rng(context), single_units(context))
    except ProblemError as error:
        return record_outcome(context, view, PeriodOutcome.REFUSED, f"the policy {policy} finds no plan: {error}")
    context = context.with_state(placed=True)
    resting = context.state.resting(settings.cool_down)
    limits = MoveLimits.of(settings, fused_units(context, problem).owner)
    choice = choose_moves(problem, wanted, limits, resting, context.state.move_cost, whole=first)
    if not choice.moves:
        reason = f"none of {len(choice.refusals)} moves is worth it" if choice.refusals else f"{policy} moves nothing"
        return record_outcome(context, view, PeriodOutcome.STEADY, reason, None, choice.refusals)
    gain = compare_plans(problem.series, problem.current, choice.places, problem.capacity)
    why = f"{policy}: lowers the load of the slowest node by {gain.mean:.3g} busy seconds per second ({gain.share:.0%})"
    proposal = propose_moves(context, view, choice, gain.mean, why)
    if (objection := objection_to(settings, view, gain, proposal)) is None:
        objection, proposal = judge_proposal(view, choice.places, proposal)
    if objection is not None:
        return record_outcome(context, view, PeriodOutcome.REFUSED, objection, proposal, choice.refusals)
    if settings.trial == 0 or overloaded:
        return accept(context, view, proposal, choice.refusals)
    reason = f"{why}; it has {settings.trial} periods to show it"
    context = context.with_state(trial=proposal)
    return record_outcome(context, view, PeriodOutcome.TRIAL, reason, proposal, choice.refusals)


def _review_trial(context: ControlContext, view: View, proposal: Proposal) -> Outcome:
    """Check that a plan on trial can still be made, and that a change of load has not made another one more urgent."""
    ended = context.with_state(trial=None)
    if (change := why_outdated(context, view, proposal)) is not None:
        return record_outcome(ended, view, PeriodOutcome.REFUSED, f"the deployment has changed: {change}", proposal)
    if is_uneven(context, view):
        kept = continue_trial(context, view, proposal) if proposal.evens else None
        if (outcome := kept or rebalance(ended, view)) is not None:
            return outcome
    return _judge_trial(context, view, proposal)


def _judge_trial(context: ControlContext, view: View, proposal: Proposal) -> Outcome:
    """Compare what a plan on trial promised with what it would have gained in the periods since then."""
    problem = view.problem
    settings = context.settings
    ended = context.with_state(trial=None)
    first = max(proposal.period + 1, context.state.last_change)
    periods = sum(period.number >= first for period in context.state.window.periods)
    places = places_of(view, proposal)
    if periods < settings.trial and not view.overloaded(settings.certainty):
        reason = f"{proposal.id} has {settings.trial - periods} more periods to show it"
        return record_outcome(context, view, PeriodOutcome.TRIAL, reason, proposal)
    fresh = problem.series[:, -max(periods, 1) :]
    # A few fresh periods say little about the scatter, so it is taken from the whole window.
    gain = compare_plans(fresh, problem.current, places, problem.capacity, noise=problem.series)
    certain = gain.certain(settings.certainty)
    kept = f"{gain.mean:.3g} +- {gain.error:.2g} busy seconds per second ({gain.share:.1%}) in {periods} periods"
    if gain.share < settings.least_gain or (not certain and periods >= settings.window):
        reason = f"it promised to lower the load of the slowest node by {proposal.gain:.3g}, and kept {kept}"
        return record_outcome(ended, view, PeriodOutcome.REFUSED, reason, proposal)
    if not certain:
        reason = f"{proposal.id} keeps {kept}, which may yet be chance"
        return record_outcome(context, view, PeriodOutcome.TRIAL, reason, proposal)
    if (objection := objection_to(settings, view, gain, proposal)) is None:
        objection, proposal = judge_proposal(view, places, proposal)
    if objection is not None:
        return record_outcome(ended, view, PeriodOutcome.REFUSED, objection, proposal)
    return accept(ended, view, replace(proposal, gain=gain.mean), ())


def _review_waiting(context: ControlContext, view: View, proposal: Proposal) -> Outcome:
    """Check whether a proposal that waits to be applied still holds."""
    problem = view.problem
    released = context.with_state(waiting=None)
    objection = why_outdated(context, view, proposal)
    if objection is None and proposal.forced:
        objection = "no unit needs a node any more"
    elif objection is None and proposal.shapes:
        objection = why_obsolete(context, view, proposal)
    elif objection is None:
        gain = compare_plans(problem.series, problem.current, places_of(view, proposal), problem.capacity)
        objection = objection_to(context.settings, view, gain, proposal)
    if objection is not None:
        reason = f"{proposal.id} is withdrawn: {objection}"
        return record_outcome(released, view, PeriodOutcome.REFUSED, reason, proposal)
    if context.settings.mode is Mode.AUTO:  # the mode was changed while it waited
        return accept(released, view, proposal, ())
    return record_outcome(context, view, PeriodOutcome.PROPOSED, f"{proposal.id} waits to be applied", proposal)


def approve(context: ControlContext, name: str) -> Outcome:
    """Carry out the waiting proposal of that name; DroverError if it is gone or cannot be carried out any more."""
    waiting = context.state.waiting
    if waiting is None or waiting.id != name:
        known = "none waits" if waiting is None else f"{waiting.id} waits"
        raise DroverError(f"there is no proposal {name!r}: {known}. To see the newest one, run drover plan --from.")
    if (change := why_outdated(context, view := view_of(context), waiting)) is not None:
        raise DroverError(
            f"proposal {name} is not applied, because the deployment has changed: {change}. "
            "Wait for the next proposal, which starts from the current plan."
        )
    return accept(context.with_settings(mode=Mode.AUTO).with_state(waiting=None), view, waiting, ())
