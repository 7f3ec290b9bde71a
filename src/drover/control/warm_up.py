"""During the warm-up, an overloaded node already gives load away, by load alone [Xing05].

Rule 1: correlations are not known yet, so nothing else is improved, and only overloaded nodes give. With a model of a
batch, the moves that make batches shortest go first. Otherwise nodes are paired as later, and the largest units that
fit into half of the difference go. Rule 2: the first plan starts from these moves and undoes none of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.control.context import ControlContext
from drover.control.critical import compare_plans
from drover.control.moves import ChosenMoves, MoveLimits, choose_moves, pin_resting
from drover.control.outcome import Outcome, accept, judge_proposal, objection_to, propose_moves, record_outcome
from drover.control.record import PeriodOutcome
from drover.control.shorter_batches import shorten
from drover.control.super_operators import fused_units
from drover.control.view import View
from drover.load.arrays import Ints
from drover.placement.correlation.pairwise import METHODS, run_round

POLICY: Final = "llf-bal"
UNKNOWN: Final = "correlations are not known yet, so units are chosen by load alone"
ENOUGH: Final = 2  # periods: one says nothing about its scatter. The first batch of a run is in none of them
SLOW: Final = 3  # periods after which late batches count, even if no node is full: the first few are slow anyway


def offload(context: ControlContext, view: View, left: int, rng: Generator) -> Outcome:
    """Let overloaded nodes give load away; `left` is how many periods the first plan still needs."""
    waits = f"warming up, {left} more periods"
    periods = view.problem.series.shape[1]
    givers = np.flatnonzero(view.overloaded_nodes(context.settings.certainty) & (periods >= ENOUGH))
    if not len(givers) and not (view.late and len(context.state.window.periods) >= SLOW):
        return record_outcome(context, view, PeriodOutcome.WATCHED, waits)
    quick = shorten(context, view, early=UNKNOWN)
    if quick is not None and (quick[1].kind is not PeriodOutcome.REFUSED or not len(givers)):
        return quick
    if not len(givers):
        reason = f"{waits}: no node is full, and no few moves are known to make batches shorter"
        return record_outcome(context, view, PeriodOutcome.WATCHED, reason)
    choice = _choose(context, view, givers, rng)
    full = f"node {', '.join(map(str, givers))}"
    if not choice.moves:
        reason = f"{waits}: by load alone, no unit of {full} can move"
        return record_outcome(context, view, PeriodOutcome.WATCHED, reason, None, choice.refusals)
    problem = view.problem
    gain = compare_plans(problem.series, problem.current, choice.places, problem.capacity)
    reason = f"{POLICY}: {full} is overloaded; {UNKNOWN}"
    proposal = propose_moves(context, view, choice, gain.mean, reason, evens=True)
    if (objection := objection_to(context.settings, view, gain, proposal)) is None:
        objection, proposal = judge_proposal(view, choice.places, proposal)
    if objection is not None:
        reason = f"{waits}: {objection}"
        return record_outcome(context, view, PeriodOutcome.REFUSED, reason, proposal, choice.refusals)
    return accept(context, view, proposal, choice.refusals)


def _choose(context: ControlContext, view: View, givers: Ints, rng: Generator) -> ChosenMoves:
    """Return the moves of one round, the largest units first if they are too many for a period."""
    settings = context.settings
    fixed = pin_resting(view.problem, context.state.resting(settings.cool_down))
    fused = fused_units(context, fixed)
    problem = fused.problem
    free = np.isin(problem.current, givers)
    problem = replace(problem, pinned=np.where(free, problem.pinned, problem.current))
    wanted = run_round(problem, problem.current, METHODS[POLICY], rng)
    moving = np.flatnonzero(wanted != problem.current)
    # Each move relieves its node by itself, so a few of them are better than none.
    later = moving[np.argsort(-problem.load[moving], kind="stable")][settings.most_moves :]
    wanted[later] = problem.current[later]
    limits = MoveLimits.of(settings, fused.owner)
    return choose_moves(view.problem, fused.spread(wanted), limits, {}, context.state.move_cost, whole=False)
