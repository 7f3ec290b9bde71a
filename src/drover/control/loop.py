"""One period of the control loop: samples -> load model -> policy -> judge -> next plan.

Rule 1: a step is a function: the same state, world and settings give the same decision, in virtual time or real.
Rule 2: a plan is chosen on one window and has to keep its promise in periods that came after, because the best of many
plans for a window looks better in it than it is. Only where a node is overloaded nobody waits.
Rule 3: units without a node that they may be on are placed at once, and nothing else moves in that period.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator, default_rng

from drover.control import homes
from drover.control.climb import climb
from drover.control.critical import Gain, compare
from drover.control.diffuse import diffuse, no_longer
from drover.control.record import Kind, Proposal, Record, Refusal
from drover.control.restore import keep_trying, restore, uneven
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.verdict import Outcome, judged, objection_to, outdated, places_of, propose_moves, release, tell
from drover.control.view import View, World, look, notice
from drover.control.weigh import choose
from drover.errors import DroverError, ProblemError
from drover.placement.policy import propose
from drover.placement.problem import NOWHERE, Flags

OUTDATED: Final = "the load has changed since it was proposed"


def step(state: State, world: World, settings: Control) -> Outcome:
    """Decide on one period, whose samples are in the state's window already.

    What a record of kind MOVED proposes is to be carried out by the caller, from the next batch on.
    """
    if not state.window.periods:
        return state, Record(0, Kind.WATCHED, "nothing was measured yet", (), world.plan.number)
    if world.hierarchy is not None:
        return climb(state, world, settings, world.hierarchy)
    before, state = state, notice(state, world, settings)
    if before.trial is not None and state.since != before.since:
        # It was chosen for a load that is no more: waiting for what becomes of it would cost the periods that count.
        stale = tuple(Refusal(move, OUTDATED) for move in before.trial.moves)
        after, record = _decide(replace(state, trial=None), world, settings)
        return after, replace(record, refusals=(*stale, *record.refusals))
    return _decide(state, world, settings)


def _decide(state: State, world: World, settings: Control) -> Outcome:
    view = look(state, world, settings)
    if settings.mode is Mode.OBSERVE or not world.open:
        reason = "nothing is decided in mode observe" if world.open else "every node is closed, and units stay"
        return tell(state, world, view, Kind.WATCHED, reason)
    if (lost := homes.homeless(view.problem, world.closed)).any():
        return _rehome(state, world, settings, view, lost)
    if state.waiting is not None:
        return _review(state, world, settings, view, state.waiting)
    if (shaped := diffuse(state, world, settings, view)) is not None:
        return release(replace(state, trial=None), world, settings, view, shaped, ())
    return _improve(state, world, settings, view)


def _improve(state: State, world: World, settings: Control, view: View) -> Outcome:
    """Look for a better plan, of joins as they are spread now."""
    if state.trial is not None:
        return _examine(state, world, settings, view, state.trial)
    if uneven(state, settings, view) and (outcome := restore(state, world, settings, view)) is not None:
        return outcome
    return _seek(state, world, settings, view)


def _rng(state: State, settings: Control) -> Generator:
    return default_rng((settings.seed, state.period))


def _rehome(state: State, world: World, settings: Control, view: View, lost: Flags) -> Outcome:
    """Place units that need a node, (m,), and leave all others where they are."""
    choice = homes.place(view.problem, lost, settings.memory)
    state = replace(state, trial=None)
    if not choice.moves:
        reason = f"{len(choice.refusals)} units need a node, and no node has room for them"
        return tell(replace(state, waiting=None), world, view, Kind.REFUSED, reason, None, choice.refusals)
    if (known := state.waiting) is not None and settings.mode is Mode.PROPOSE:
        # One that does the same is not replaced period by period: nobody could apply it under the name that was shown.
        same = {move.unit for move in known.moves} == {move.unit for move in choice.moves}
        if known.forced and same and outdated(world, settings, view, known) is None:
            return tell(state, world, view, Kind.PROPOSED, f"{known.id} waits to be applied", known, choice.refusals)
    reason = f"{len(choice.moves)} units need a node: {homes.why(view.problem, np.flatnonzero(lost), world.closed)}"
    proposal = replace(propose_moves(state, world, view, choice, Gain(0.0, 0.0, 0.0), reason), forced=True)
    if not choice.refusals and (view.problem.current != NOWHERE).all():
        _, proposal = judged(view, choice.places, proposal)
    return release(replace(state, waiting=None), world, settings, view, proposal, choice.refusals)


def _seek(state: State, world: World, settings: Control, view: View) -> Outcome:
    """Ask the policy, and let what is worth it go on trial."""
    problem, first = view.problem, not state.placed
    if first and (left := settings.warm_up - len(state.window.periods)) > 0:
        return tell(state, world, view, Kind.WATCHED, f"warming up, {left} more periods")
    policy = settings.first if first else settings.then
    try:
        wanted = propose(problem, policy, _rng(state, settings))
    except ProblemError as error:
        return tell(state, world, view, Kind.REFUSED, f"the policy {policy} finds no plan: {error}")
    state = replace(state, placed=True)
    resting = state.resting(settings.cool_down)
    choice = choose(problem, wanted, settings, resting, state.price, whole=first)
    if not choice.moves:
        reason = f"none of {len(choice.refusals)} moves is worth it" if choice.refusals else f"{policy} moves nothing"
        return tell(state, world, view, Kind.STEADY, reason, None, choice.refusals)
    gain = compare(problem.series, problem.current, choice.places, problem.capacity)
    why = f"{policy}: the slowest node is spared {gain.mean:.3g} busy seconds per second ({gain.share:.0%})"
    proposal = propose_moves(state, world, view, choice, gain, why)
    if (objection := objection_to(settings, view, gain, proposal)) is None:
        objection, proposal = judged(view, choice.places, proposal)
    if objection is not None:
        return tell(state, world, view, Kind.REFUSED, objection, proposal, choice.refusals)
    if settings.trial == 0 or view.overloaded(settings.certainty):
        return release(state, world, settings, view, proposal, choice.refusals)
    reason = f"{why}; it has {settings.trial} periods to show it"
    return tell(replace(state, trial=proposal), world, view, Kind.TRIAL, reason, proposal, choice.refusals)


def _examine(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a plan on trial still holds, and whether the load has not made another one more urgent."""
    over = replace(state, trial=None)
    if (change := outdated(world, settings, view, proposal)) is not None:
        return tell(over, world, view, Kind.REFUSED, f"the world has changed: {change}", proposal)
    if uneven(state, settings, view):
        kept = keep_trying(state, world, settings, view, proposal) if proposal.evens else None
        if (outcome := kept or restore(over, world, settings, view)) is not None:
            return outcome
    return _weigh(state, world, settings, view, proposal)


def _weigh(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a plan on trial keeps its promise in the periods since it was made."""
    over = replace(state, trial=None)
    first = max(proposal.period + 1, state.since)
    since = [period for period in state.window.periods if period.number >= first]
    places = places_of(view, proposal)
    if len(since) < settings.trial and not view.overloaded(settings.certainty):
        left = settings.trial - len(since)
        return tell(state, world, view, Kind.TRIAL, f"{proposal.id} has {left} more periods to show it", proposal)
    series = view.problem.series
    fresh = series[:, -max(len(since), 1) :]
    gain = compare(fresh, view.problem.current, places, view.problem.capacity, noise=series)
    kept = f"{gain.mean:.3g} +- {gain.error:.2g} busy seconds per second ({gain.share:.1%}) in {len(since)} periods"
    if gain.share < settings.least_gain or (not gain.certain(settings.certainty) and len(since) >= settings.window):
        reason = f"it promised to spare the slowest node {proposal.gain:.3g}, and kept {kept}"
        return tell(over, world, view, Kind.REFUSED, reason, proposal)
    if not gain.certain(settings.certainty):
        return tell(state, world, view, Kind.TRIAL, f"{proposal.id} keeps {kept}, which may yet be chance", proposal)
    if (objection := objection_to(settings, view, gain, proposal)) is None:
        objection, proposal = judged(view, places, proposal)
    if objection is not None:
        return tell(over, world, view, Kind.REFUSED, objection, proposal)
    return release(over, world, settings, view, replace(proposal, gain=gain.mean), ())


def _review(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a proposal that waits still holds."""
    problem, places = view.problem, places_of(view, proposal)
    objection = outdated(world, settings, view, proposal)
    if objection is None and proposal.forced:
        objection = "no unit needs a node any more"
    elif objection is None and proposal.shapes:
        objection = no_longer(state, world, settings, view, proposal)
    elif objection is None:
        gain = compare(problem.series, problem.current, places, problem.capacity)
        objection = objection_to(settings, view, gain, proposal)
    if objection is not None:
        reason = f"{proposal.id} is withdrawn: {objection}"
        return tell(replace(state, waiting=None), world, view, Kind.REFUSED, reason, proposal)
    if settings.mode is Mode.AUTO:  # the mode was changed while it waited
        return release(replace(state, waiting=None), world, settings, view, proposal, ())
    return tell(state, world, view, Kind.PROPOSED, f"{proposal.id} waits to be applied", proposal)


def approve(state: State, world: World, settings: Control, name: str) -> Outcome:
    """Carry out the proposal of that name, exactly as it was shown; DroverError if it is gone or the world changed."""
    waiting = state.waiting
    if waiting is None or waiting.id != name:
        known = "none waits" if waiting is None else f"{waiting.id} waits"
        raise DroverError(f"there is no proposal {name!r}: {known}. Look at the newest one: drover plan --from.")
    view = look(state, world, settings)
    if (change := outdated(world, settings, view, waiting)) is not None:
        raise DroverError(
            f"proposal {name} is not applied, because the world has changed: {change}. "
            "Wait for the next proposal, which starts from what is there now."
        )
    done = replace(settings, mode=Mode.AUTO)
    return release(replace(state, waiting=None), world, done, view, waiting, ())
