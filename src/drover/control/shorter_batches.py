"""When batches are too long: the moves after which they are shortest, by the model of a batch.

Rule 1: only the slowest node gives units away, whole parts of the network first: they cut no stream.
Rule 2: the search is greedy and bounded. It looks at most at TRIES plans per period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.moves import MoveLimits, choose_moves
from drover.control.outcome import Outcome, accept, judge_proposal, propose_moves, record_outcome
from drover.control.plan_seconds import PlanTimer, plan_timer
from drover.control.record import PeriodOutcome
from drover.control.super_operators import fused_units
from drover.control.view import View
from drover.load.arrays import Ints
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.placement.rules import Fused

POLICY: Final = "shorter-batches"
TRIES: Final = 60  # plans that one search looks at, of a millisecond or a few each


def shorten(context: ControlContext, view: View, *, early: str = "") -> Outcome | None:
    """Carry out the moves that make batches shorter, or refuse them with a reason; None if there are none.

    `early` says why the first plan is still to come.
    """
    timer = plan_timer(context, view)
    problem = view.problem
    if timer is None or (problem.current == NOWHERE).any():
        return None
    settings = context.settings
    resting = context.state.resting(settings.cool_down)
    fused = fused_units(context, problem)
    wanted = _search(timer, fused, settings.most_moves, frozenset(resting))
    limits = MoveLimits.of(settings, fused.owner)
    choice = choose_moves(problem, wanted, limits, {}, context.state.move_cost, whole=True, least=-math.inf)
    if not choice.moves:
        return None
    proposal = propose_moves(context, view, choice, 0.0, "")
    before, after = proposal.seconds_before, proposal.seconds_after
    if after > before * (1 - settings.least_gain):
        return None
    reason = f"{POLICY}: batches take {after:.2g} s instead of {before:.2g} s{early and f'; {early}'}"
    proposal = propose_moves(context, view, choice, (before - after) / before, reason)
    objection, proposal = judge_proposal(view, choice.places, proposal)
    if (
        objection is None
        and (before - after) / max(before, timer.usual.trigger or 0.0) * settings.payback < proposal.cost
    ):
        objection = f"moving {proposal.bytes:,.0f} bytes takes {proposal.cost:.2g} s, more than it wins back"
    if objection is not None:
        return record_outcome(context, view, PeriodOutcome.REFUSED, objection, proposal, choice.refusals)
    return accept(context.with_state(trial=None, placed=not early), view, proposal, choice.refusals)


def _search(timer: PlanTimer, fused: Fused, most: int, resting: frozenset[str]) -> Ints:
    """Return the places, (m,), that a greedy search finds: at most so many moves, and none of a resting unit."""
    problem = fused.problem
    places = problem.current.copy()
    shortest = timer.one_trigger(fused.spread(places))
    left = TRIES
    while left > 0:
        found: tuple[float, Ints] | None = None
        for group, target in _candidates(timer, fused, places):
            tried = places.copy()
            tried[list(group)] = target
            moved = np.flatnonzero(tried != problem.current)
            if left == 0 or len(moved) > most or any(problem.units[j] in resting for j in moved):
                continue
            left -= 1
            seconds = timer.one_trigger(fused.spread(tried))
            if seconds < shortest * (1 - 1e-3):
                shortest, found = seconds, (seconds, tried)
        if found is None:
            break
        places = found[1]
    return fused.spread(places)


def _candidates(timer: PlanTimer, fused: Fused, places: Ints) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield groups of units of the slowest node, each with a node where all of them may go."""
    problem = fused.problem
    busy = timer.busy(timer.schedule_of(fused.spread(places)))
    slowest = int(np.argmax(busy.max(axis=0)))
    reachable = problem.reachable()
    own = np.flatnonzero(places == slowest).tolist()
    groups = [*_graphs(problem, own), *((j,) for j in sorted(own, key=lambda j: -problem.load[j]))]
    targets = [int(i) for i in np.argsort(busy.sum(axis=0)) if i != slowest]
    for group in dict.fromkeys(groups):
        for target in targets:
            if all(reachable[j, target] for j in group):
                yield group, target


def _graphs(problem: PlacementProblem, units: list[int]) -> list[tuple[int, ...]]:
    """Return the connected parts of some units: what no stream links to the others."""
    part = {j: j for j in units}

    def root(j: int) -> int:
        while part[j] != j:
            j = part[j]
        return j

    for one, other in zip(problem.links.source.tolist(), problem.links.target.tolist(), strict=True):
        if one in part and other in part:
            part[root(one)] = root(other)
    found: dict[int, list[int]] = {}
    for j in units:
        found.setdefault(root(j), []).append(j)
    return [tuple(group) for group in found.values()]
