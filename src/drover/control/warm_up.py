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
from drover.control.moves import ChosenMoves, choose_moves, pin_resting
from drover.control.outcome import Outcome, accept, judge_proposal, objection_to, propose_moves, record_outcome
from drover.control.record import PeriodOutcome
from drover.control.shorter_batches import shorten
from drover.control.view import View
from drover.load.arrays import Ints
from drover.placement.correlation.pairwise import METHODS, run_round

POLICY: Final = "llf-bal"
UNKNOWN: Final = "correlations are not known yet, so units are chosen by load alone"
ENOUGH: Final = 2  # periods: one says nothing about its scatter. The first batch of a run is in none of them


def offload(context: ControlContext, view: View, left: int, rng: Generator) -> Outcome:
    """Let overloaded nodes give load away; `left` is how many periods the first plan still needs."""
    waits = f"warming up, {left} more periods"
    givers = np.flatnonzero(view.overloaded_nodes(context.settings.certainty))
    if view.problem.series.shape[1] < ENOUGH or not len(givers):
        return record_outcome(context, view, PeriodOutcome.WATCHED, waits)
    quick = shorten(context, view, early=UNKNOWN)
    if quick is not None and quick[1].kind is not PeriodOutcome.REFUSED:
        return quick
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
    problem = view.problem
    free = np.isin(problem.current, givers)
    fixed = replace(problem, pinned=np.where(free, problem.pinned, problem.current))
    fixed = pin_resting(fixed, context.state.resting(settings.cool_down))
    wanted = run_round(fixed, problem.current, METHODS[POLICY], rng)
    moving = np.flatnonzero(wanted != problem.current)
    # Each unit relieves its node by itself, so a part of the moves is better than none.
    later = moving[np.argsort(-problem.load[moving], kind="stable")][settings.most_moves :]
    wanted[later] = problem.current[later]
    return choose_moves(problem, wanted, settings, {}, context.state.move_cost, whole=False)
