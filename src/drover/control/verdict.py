"""What a step does with a plan that somebody has worked out: it is told, judged, carried out or refused.

Rule 1: whoever has worked a plan out, the same questions are asked. Rule 2: every answer is a record with a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from drover.control.critical import Gain
from drover.control.record import Kind, Proposal, Record, Refusal, changed_since
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.view import View, World
from drover.control.weigh import Choice, overfull
from drover.load.arrays import Ints
from drover.placement.faults import faults
from drover.placement.judge import Rejected, judge

Outcome = tuple[State, Record]


def tell(
    state: State, world: World, view: View, kind: Kind, reason: str,
    proposal: Proposal | None = None, refusals: Sequence[Refusal] = (),
) -> Outcome:  # fmt: skip
    """Return the state with the record of the period."""
    loads = view.loads(view.problem.current)
    return state, Record(state.period, kind, reason, loads, world.plan.number, proposal, tuple(refusals))


def propose_moves(state: State, world: World, view: View, choice: Choice, gain: Gain, why: str) -> Proposal:
    """Return the proposal to make the moves of a choice, which gain so much."""
    before, after = view.loads(view.problem.current), view.loads(choice.places)
    return Proposal(
        f"p{state.period}", state.period, world.plan.number, world.plan.nodes, choice.moves, why, gain.mean,
        state.price.of(choice.moves), before, after, (), view.measured,
    )  # fmt: skip


def judged(view: View, places: Ints, proposal: Proposal) -> tuple[str | None, Proposal]:
    """Return why the judge rejects a plan, in words, or None, and the proposal with its verdict on every goal.

    It scores two plans, which takes longer than all else in a step: so it comes after whatever else may object.
    """
    ruling = judge(view.problem, view.problem.current, places)
    known = [str(verdict) for verdict in ruling.verdicts if verdict.change != "unknown"]
    return ruling.reason if isinstance(ruling, Rejected) else None, replace(proposal, goals=tuple(known))


def objection_to(settings: Control, view: View, gain: Gain, proposal: Proposal) -> str | None:
    """Return why a plan is not worth it, in words, or None.

    What evens nodes out after a change need not spare the slowest one: filling the emptiest counts as well.
    """
    wins = gain.mean
    if proposal.evens:
        wins = max(wins, view.spread(view.problem.current) - view.spread(places_of(view, proposal)))
    elif gain.share < settings.least_gain:
        return f"the slowest node would be spared {gain.share:.1%} of its load, less than {settings.least_gain:.0%}"
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


def release(
    state: State, world: World, settings: Control, view: View, proposal: Proposal, refusals: Sequence[Refusal]
) -> Outcome:
    """Let a proposal pass: it is carried out, or waits for somebody to do so."""
    if settings.mode is Mode.PROPOSE:
        return tell(replace(state, waiting=proposal), world, view, Kind.PROPOSED, proposal.reason, proposal, refusals)
    changed = [*(move.unit for move in proposal.moves), *(shape.join for shape in proposal.shapes)]
    moved = {**state.moved, **dict.fromkeys(changed, state.period)}
    return tell(replace(state, moved=moved), world, view, Kind.MOVED, proposal.reason, proposal, refusals)


def outdated(world: World, settings: Control, view: View, proposal: Proposal) -> str | None:
    """Return in words why a proposal cannot be carried out any more, or None."""
    if (change := changed_since(proposal, world.plan)) is not None:
        return change
    for move in proposal.moves:
        if move.target in world.closed:
            return f"node {move.target} is closed now, and {move.unit} was to go there"
    places, moving = places_of(view, proposal), {move.unit for move in proposal.moves}
    for fault in faults(view.problem, places):
        if fault.path[0] in moving:
            return str(fault)
    return overfull(view.problem, view.problem.current, places, settings.memory)
