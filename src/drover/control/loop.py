"""One period of the control loop: samples -> load model -> policy -> judge -> next plan.

Rule 1: a step is a function: the same state, world and settings give the same decision, in virtual time or real.
Rule 2: a plan is chosen on one window and has to keep its promise in periods that came after, because the best of many
plans for a window looks better in it than it is. Only where a node is overloaded nobody waits.
Rule 3: units of a node that is closed are placed elsewhere at once, and nothing else moves in that period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator, default_rng

from drover.control.critical import Gain, compare
from drover.control.record import Kind, Proposal, Record, Refusal, changed_since
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.view import View, World, look
from drover.control.weigh import Choice, choose, moves_of
from drover.errors import DroverError, ProblemError
from drover.load.arrays import Ints
from drover.placement.judge import Rejected, Verdict, judge
from drover.placement.policy import propose
from drover.placement.problem import NOWHERE, Flags

Outcome = tuple[State, Record]


def step(state: State, world: World, settings: Control) -> Outcome:
    """Decide on one period, whose samples are in the state's window already.

    What a record of kind MOVED proposes is to be carried out by the caller, from the next batch on.
    """
    if not state.window.periods:
        return state, Record(0, Kind.WATCHED, "nothing was measured yet", (), world.plan.number)
    state = state.notice()
    view = look(state, world, settings)
    homeless = np.isin(view.problem.current, [NOWHERE, *world.closed])
    if settings.mode is Mode.OBSERVE:
        return _tell(state, world, view, Kind.WATCHED, "nothing is decided in mode observe")
    if homeless.any() and world.open:
        return _rehome(state, world, settings, view, homeless)
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


def _rehome(state: State, world: World, settings: Control, view: View, homeless: Flags) -> Outcome:
    """Place units without a node, and leave all others where they are."""
    problem = view.problem
    kept = np.where(homeless, problem.pinned, problem.current)
    try:
        places = propose(replace(problem, pinned=kept), "largest-first", _rng(state, settings))
    except ProblemError as error:
        return _tell(state, world, view, Kind.REFUSED, f"units without a node cannot be placed: {error}")
    gone = sorted({int(node) for node in problem.current[homeless] if node != NOWHERE})
    why = f"node {', '.join(map(str, gone))} is closed" if gone else "they are new"
    moving = moves_of(problem, [int(j) for j in np.flatnonzero(places != problem.current)], places)
    choice = Choice(places, tuple(moving), ())
    proposal = _proposal(state, world, view, choice, Gain(0.0, 0.0, 0.0), f"{len(moving)} units need a node: {why}")
    return _release(replace(state, trial=None, waiting=None), world, settings, view, proposal, ())


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
    objection = _objection(settings, view, choice.places, gain, proposal)
    if objection is not None:
        return _tell(state, world, view, Kind.REFUSED, objection, proposal, choice.refusals)
    if settings.trial == 0 or view.overloaded(settings.certainty):
        return _release(state, world, settings, view, proposal, choice.refusals)
    reason = f"{why}; it has {settings.trial} periods to show it"
    return _tell(replace(state, trial=proposal), world, view, Kind.TRIAL, reason, proposal, choice.refusals)


def _proposal(state: State, world: World, view: View, choice: Choice, gain: Gain, why: str) -> Proposal:
    problem = view.problem
    whole = (problem.current != NOWHERE).all()
    ruling = judge(problem, problem.current, choice.places) if whole else None
    return Proposal(
        f"p{state.period}", state.period, world.plan.number, world.plan.nodes, choice.moves, why, gain.mean,
        state.price.of(choice.moves), view.loads(problem.current), view.loads(choice.places),
        () if ruling is None else tuple(map(str, _known(ruling.verdicts))), view.measured,
    )  # fmt: skip


def _known(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.change != "unknown"]


def _objection(settings: Control, view: View, places: Ints, gain: Gain, proposal: Proposal) -> str | None:
    """Return why a plan is not to be had, in words, or None."""
    problem = view.problem
    ruling = judge(problem, problem.current, places)
    if isinstance(ruling, Rejected):
        return ruling.reason
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
    if (change := changed_since(proposal, world.plan, world.plan.nodes)) is not None:
        return _tell(over, world, view, Kind.REFUSED, f"the world has changed: {change}", proposal)
    since = [period for period in state.window.periods if period.number > max(proposal.period, state.since)]
    places = _places(view, proposal)
    if len(since) < settings.trial and not view.overloaded(settings.certainty):
        left = settings.trial - len(since)
        return _tell(state, world, view, Kind.TRIAL, f"{proposal.id} has {left} more periods to show it", proposal)
    fresh = look(state, world, settings, newest=max(len(since), 1)).problem
    gain = compare(fresh.series, fresh.current, places, fresh.capacity, noise=view.problem.series)
    if gain.share < settings.least_gain or not gain.certain(settings.certainty):
        reason = (
            f"it promised to spare the slowest node {proposal.gain:.3g}, and kept {gain.mean:.3g} +- {gain.error:.2g} "
            f"busy seconds per second ({gain.share:.1%}) in {len(since)} periods"
        )
        return _tell(over, world, view, Kind.REFUSED, reason, proposal)
    if (objection := _objection(settings, view, places, gain, proposal)) is not None:
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


def _review(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome:
    """Look whether a proposal that waits still holds."""
    over = replace(state, waiting=None)
    if (change := changed_since(proposal, world.plan, world.plan.nodes)) is not None:
        return _tell(over, world, view, Kind.REFUSED, f"{proposal.id} is withdrawn: {change}", proposal)
    problem, places = view.problem, _places(view, proposal)
    gain = compare(problem.series, problem.current, places, problem.capacity)
    forced = proposal.gain == 0
    if not forced and (objection := _objection(settings, view, places, gain, proposal)) is not None:
        return _tell(over, world, view, Kind.REFUSED, f"{proposal.id} is withdrawn: {objection}", proposal)
    return _tell(state, world, view, Kind.PROPOSED, f"{proposal.id} waits to be applied", proposal)


def approve(state: State, world: World, settings: Control, name: str) -> Outcome:
    """Carry out the proposal of that name, exactly as it was shown; DroverError if it is gone or the world changed."""
    waiting = state.waiting
    if waiting is None or waiting.id != name:
        known = "none waits" if waiting is None else f"{waiting.id} waits"
        raise DroverError(f"there is no proposal {name!r}: {known}. Look at the newest one: drover plan --from.")
    if (change := changed_since(waiting, world.plan, world.plan.nodes)) is not None:
        raise DroverError(f"proposal {name} is not applied, because the world has changed: {change}.")
    done = replace(settings, mode=Mode.AUTO)
    return _release(replace(state, waiting=None), world, done, look(state, world, settings), waiting, ())
