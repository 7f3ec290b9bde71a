"""One period of the control loop: samples -> load model -> policy -> judge -> next plan.

Rule 1: a step is a function: the same state, world and settings give the same decision, in virtual time or real.
Rule 2: a plan is chosen on one window and has to keep its promise in periods that came after, because the best of many
plans for a window looks better in it than it is. Only where a node is overloaded nobody waits.
Rule 3: units without a node that they may be on are placed at once, and nothing else moves in that period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator, default_rng

from drover.control import homes
from drover.control.critical import Gain, compare
from drover.control.record import Kind, Proposal, Record, Refusal, changed_since
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.view import View, World, look
from drover.control.weigh import Choice, choose, overfull
from drover.errors import DroverError, ProblemError
from drover.load.arrays import Ints
from drover.placement.faults import faults
from drover.placement.judge import Rejected, judge
from drover.placement.policy import propose
from drover.placement.problem import NOWHERE, Flags

Outcome = tuple[State, Record]
OUTDATED: Final = "the load has changed since it was proposed"


def step(state: State, world: World, settings: Control) -> Outcome:
    """Decide on one period, whose samples are in the state's window already.

    What a record of kind MOVED proposes is to be carried out by the caller, from the next batch on.
    """
    if not state.window.periods:
        return state, Record(0, Kind.WATCHED, "nothing was measured yet", (), world.plan.number)
    before, state = state, state.notice()
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
        return _tell(state, world, view, Kind.WATCHED, reason)
    if (lost := homes.homeless(view.problem, world.closed)).any():
        return _rehome(state, world, settings, view, lost)
    if state.waiting is not None:
        return _review(state, world, settings, view, state.waiting)
    if state.trial is not None:
        return _examine(state, world, settings, view, state.trial)
    return _seek(state, world, settings, view)


def _tell(
    state: State, world: World, view: View, kind: Kind, reason: str,
    proposal: Proposal | None = None, refusals: Sequence[Refusal] = (),
) -> Outcome:  # fmt: skip
    loads = view.loads(view.problem.current)
    return state, Record(state.period, kind, reason, loads, world.plan.number, proposal, tuple(refusals))


def _rng(state: State, settings: Control) -> Generator:
    return default_rng((settings.seed, state.period))


def _rehome(state: State, world: World, settings: Control, view: View, lost: Flags) -> Outcome:
    """Place units that need a node, (m,), and leave all others where they are."""
    choice = homes.place(view.problem, lost, settings.memory)
    state = replace(state, trial=None)
    if not choice.moves:
        reason = f"{len(choice.refusals)} units need a node, and no node has room for them"
        return _tell(replace(state, waiting=None), world, view, Kind.REFUSED, reason, None, choice.refusals)
    if (known := state.waiting) is not None and settings.mode is Mode.PROPOSE:
        # One that does the same is not replaced period by period: nobody could apply it under the name that was shown.
        same = {move.unit for move in known.moves} == {move.unit for move in choice.moves}
        if known.forced and same and _outdated(world, settings, view, known) is None:
            return _tell(state, world, view, Kind.PROPOSED, f"{known.id} waits to be applied", known, choice.refusals)
    reason = f"{len(choice.moves)} units need a node: {homes.why(view.problem, np.flatnonzero(lost), world.closed)}"
    proposal = replace(_proposal(state, world, view, choice, Gain(0.0, 0.0, 0.0), reason), forced=True)
    if not choice.refusals and (view.problem.current != NOWHERE).all():
        _, proposal = _judged(view, choice.places, proposal)
    return _release(replace(state, waiting=None), world, settings, view, proposal, choice.refusals)


def _seek(state: State, world: World, settings: Control, view: View) -> Outcome:
    """Ask the policy, and let what is worth it go on trial."""
    problem, first = view.problem, not state.placed
    if first and (left := settings.warm_up - len(state.window.periods)) > 0:
        return _tell(state, world, view, Kind.WATCHED, f"warming up, {left} more periods")
    policy = settings.first if first else settings.then
    try:
        wanted = propose(problem, policy, _rng(state, settings))
    except ProblemError as error:
        return _tell(state, world, view, Kind.REFUSED, f"the policy {policy} finds no plan: {error}")
    state = replace(state, placed=True)
    resting = state.resting(settings.cool_down)
    choice = choose(problem, wanted, settings, resting, state.price, whole=first)
    if not choice.moves:
        reason = f"none of {len(choice.refusals)} moves is worth it" if choice.refusals else f"{policy} moves nothing"
        return _tell(state, world, view, Kind.STEADY, reason, None, choice.refusals)
    gain = compare(problem.series, problem.current, choice.places, problem.capacity)
    why = f"{policy}: the slowest node is spared {gain.mean:.3g} busy seconds per second ({gain.share:.0%})"
    proposal = _proposal(state, world, view, choice, gain, why)
    if (objection := _objection(settings, gain, proposal)) is None:
        objection, proposal = _judged(view, choice.places, proposal)
    if objection is not None:
        return _tell(state, world, view, Kind.REFUSED, objection, proposal, choice.refusals)
    if settings.trial == 0 or view.overloaded(settings.certainty):
        return _release(state, world, settings, view, proposal, choice.refusals)
    reason = f"{why}; it has {settings.trial} periods to show it"
    return _tell(replace(state, trial=proposal), world, view, Kind.TRIAL, reason, proposal, choice.refusals)


def _proposal(state: State, world: World, view: View, choice: Choice, gain: Gain, why: str) -> Proposal:
    before, after = view.loads(view.problem.current), view.loads(choice.places)
    return Proposal(
        f"p{state.period}", state.period, world.plan.number, world.plan.nodes, choice.moves, why, gain.mean,
        state.price.of(choice.moves), before, after, (), view.measured,
    )  # fmt: skip


def _judged(view: View, places: Ints, proposal: Proposal) -> tuple[str | None, Proposal]:
    """Return why the judge rejects a plan, in words, or None, and the proposal with its verdict on every goal.

    It scores two plans, which takes longer than all else in a step: so it comes after whatever else may object.
    """
    ruling = judge(view.problem, view.problem.current, places)
    known = [str(verdict) for verdict in ruling.verdicts if verdict.change != "unknown"]
    return ruling.reason if isinstance(ruling, Rejected) else None, replace(proposal, goals=tuple(known))


def _objection(settings: Control, gain: Gain, proposal: Proposal) -> str | None:
    """Return why a plan is not worth it, in words, or None."""
    if gain.share < settings.least_gain:
        return f"the slowest node would be spared {gain.share:.1%} of its load, less than {settings.least_gain:.0%}"
    if gain.mean * settings.payback < proposal.cost:
        return (
            f"moving {proposal.bytes:,.0f} bytes takes {proposal.cost:.2g} s, but wins back only "
            f"{gain.mean * settings.payback:.2g} s in {settings.payback:g} s"
        )
    return None


def _places(view: View, proposal: Proposal) -> Ints:
    """Return the plan, (m,), that a proposal leads to."""
    target = {move.unit: move.target for move in proposal.moves}
    return np.array(
        [target.get(unit, node) for unit, node in zip(view.problem.units, view.problem.current, strict=True)]
    )


def _examine(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a plan on trial keeps its promise in the periods since it was made."""
    over = replace(state, trial=None)
    if (change := _outdated(world, settings, view, proposal)) is not None:
        return _tell(over, world, view, Kind.REFUSED, f"the world has changed: {change}", proposal)
    first = max(proposal.period + 1, state.since)
    since = [period for period in state.window.periods if period.number >= first]
    places = _places(view, proposal)
    if len(since) < settings.trial and not view.overloaded(settings.certainty):
        left = settings.trial - len(since)
        return _tell(state, world, view, Kind.TRIAL, f"{proposal.id} has {left} more periods to show it", proposal)
    series = view.problem.series
    fresh = series[:, -max(len(since), 1) :]
    gain = compare(fresh, view.problem.current, places, view.problem.capacity, noise=series)
    kept = f"{gain.mean:.3g} +- {gain.error:.2g} busy seconds per second ({gain.share:.1%}) in {len(since)} periods"
    if gain.share < settings.least_gain or (not gain.certain(settings.certainty) and len(since) >= settings.window):
        reason = f"it promised to spare the slowest node {proposal.gain:.3g}, and kept {kept}"
        return _tell(over, world, view, Kind.REFUSED, reason, proposal)
    if not gain.certain(settings.certainty):
        return _tell(state, world, view, Kind.TRIAL, f"{proposal.id} keeps {kept}, which may yet be chance", proposal)
    if (objection := _objection(settings, gain, proposal)) is None:
        objection, proposal = _judged(view, places, proposal)
    if objection is not None:
        return _tell(over, world, view, Kind.REFUSED, objection, proposal)
    return _release(over, world, settings, view, replace(proposal, gain=gain.mean), ())


def _release(
    state: State, world: World, settings: Control, view: View, proposal: Proposal, refusals: Sequence[Refusal]
) -> Outcome:
    """Let a proposal pass: it is carried out, or waits for somebody to do so."""
    if settings.mode is Mode.PROPOSE:
        return _tell(replace(state, waiting=proposal), world, view, Kind.PROPOSED, proposal.reason, proposal, refusals)
    moved = {**state.moved, **dict.fromkeys((move.unit for move in proposal.moves), state.period)}
    return _tell(replace(state, moved=moved), world, view, Kind.MOVED, proposal.reason, proposal, refusals)


def _outdated(world: World, settings: Control, view: View, proposal: Proposal) -> str | None:
    """Return in words why a proposal cannot be carried out any more, or None."""
    if (change := changed_since(proposal, world.plan)) is not None:
        return change
    for move in proposal.moves:
        if move.target in world.closed:
            return f"node {move.target} is closed now, and {move.unit} was to go there"
    places, moving = _places(view, proposal), {move.unit for move in proposal.moves}
    for fault in faults(view.problem, places):
        if fault.path[0] in moving:
            return str(fault)
    return overfull(view.problem, view.problem.current, places, settings.memory)


def _review(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a proposal that waits still holds."""
    problem, places = view.problem, _places(view, proposal)
    objection = _outdated(world, settings, view, proposal)
    if objection is None and proposal.forced:
        objection = "no unit needs a node any more"
    elif objection is None:
        gain = compare(problem.series, problem.current, places, problem.capacity)
        objection = _objection(settings, gain, proposal)
    if objection is not None:
        reason = f"{proposal.id} is withdrawn: {objection}"
        return _tell(replace(state, waiting=None), world, view, Kind.REFUSED, reason, proposal)
    if settings.mode is Mode.AUTO:  # the mode was changed while it waited
        return _release(replace(state, waiting=None), world, settings, view, proposal, ())
    return _tell(state, world, view, Kind.PROPOSED, f"{proposal.id} waits to be applied", proposal)


def approve(state: State, world: World, settings: Control, name: str) -> Outcome:
    """Carry out the proposal of that name, exactly as it was shown; DroverError if it is gone or the world changed."""
    waiting = state.waiting
    if waiting is None or waiting.id != name:
        known = "none waits" if waiting is None else f"{waiting.id} waits"
        raise DroverError(f"there is no proposal {name!r}: {known}. Look at the newest one: drover plan --from.")
    view = look(state, world, settings)
    if (change := _outdated(world, settings, view, waiting)) is not None:
        raise DroverError(
            f"proposal {name} is not applied, because the world has changed: {change}. "
            "Wait for the next proposal, which starts from what is there now."
        )
    done = replace(settings, mode=Mode.AUTO)
    return _release(replace(state, waiting=None), world, done, view, waiting, ())
