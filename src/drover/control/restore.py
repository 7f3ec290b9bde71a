"""After a lasting change of load: nodes are made even again, by few moves and within five periods.

Rule 1: nodes are even if the loads of no two differ by more than EPSILON of their capacity, as far as the periods since
the change can tell. Rule 2: while these are fewer than a window, evenness decides, and not what the slowest node is
spared: the plan was made for a load that is no more. Rule 3: a change has to last for the periods of a trial before
anything moves for its sake; only where a node is overloaded nobody waits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from drover.control.critical import compare
from drover.control.record import Kind, Proposal
from drover.control.settings import Control
from drover.control.shift import SOONEST
from drover.control.state import State
from drover.control.verdict import Outcome, judged, objection_to, places_of, propose_moves, release, tell
from drover.control.view import View, World
from drover.control.weigh import Choice, choose
from drover.placement.problem import Problem
from drover.placement.search.evening import Evenness, even_out

EPSILON: Final = 0.1  # of capacity, as in [Xing05], table 2
# What a few periods tell is off by a few thousandths, so that what is measured has to be below EPSILON by as much; and
# after a move by twice as much, or the next period might ask for another one.
AIM: Final = Evenness(epsilon=0.95 * EPSILON, goal=0.9 * EPSILON)
POLICY: Final = "fewest-moves"


def uneven(state: State, settings: Control, view: View) -> bool:
    """Return whether nodes are not even since a change that was less than a window ago."""
    lately = state.placed and state.unsettled(settings.window)
    return lately and view.spread(view.problem.current) > AIM.epsilon


def _lasted(state: State, settings: Control, view: View) -> bool:
    """Return whether nobody has to wait any more: the change has stood its trial, or a node is overloaded."""
    return state.period - state.since + 1 >= SOONEST + settings.trial or view.overloaded(settings.certainty)


def restore(state: State, world: World, settings: Control, view: View) -> Outcome | None:
    """Even out nodes that are not, or put the plan that does on trial; None if there is none."""
    problem, choice = view.problem, _choose(state, settings, view)
    if not choice.moves:
        return None
    gain = compare(problem.series, problem.current, choice.places, problem.capacity)
    before, after = view.spread(problem.current), view.spread(choice.places)
    why = f"{POLICY}: since the change in period {state.since} nodes differ by {before:.3f}, and then by {after:.3f}"
    proposal = replace(propose_moves(state, world, view, choice, gain, why), evens=True)
    if (objection := objection_to(settings, view, gain, proposal)) is None:
        objection, proposal = judged(view, choice.places, proposal)
    if objection is not None:
        return tell(state, world, view, Kind.REFUSED, objection, proposal, choice.refusals)
    if _lasted(state, settings, view):
        return release(state, world, settings, view, proposal, choice.refusals)
    reason = f"{why}; the change has to last for {SOONEST + settings.trial} periods"
    return tell(replace(state, trial=proposal), world, view, Kind.TRIAL, reason, proposal, choice.refusals)


def _choose(state: State, settings: Control, view: View) -> Choice:
    """Return the moves that even nodes out; the best of them, if all may not be made."""
    problem = _awake(view.problem, state.resting(settings.cool_down))
    wanted = even_out(problem, problem.current, AIM)
    whole = int((wanted != problem.current).sum()) <= settings.most_moves
    # Two nodes of many that differ are a small part of the pressure of all.
    if whole and (choice := choose(problem, wanted, settings, {}, state.price, whole=True, least=-math.inf)).moves:
        return choice
    return choose(problem, wanted, settings, {}, state.price, whole=False, least=0.0)


def _awake(problem: Problem, resting: dict[str, int]) -> Problem:
    """Return the problem in which units that moved lately are pinned: a plan that counts on them would be half made."""
    if not resting:
        return problem
    rests = np.array([unit in resting for unit in problem.units])
    return replace(problem, pinned=np.where(rests, problem.current, problem.pinned))


def keep_trying(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> Outcome | None:
    """Return what becomes of a plan on trial that evens nodes out; None if it does not do so any more."""
    if not _lasted(state, settings, view):
        left = SOONEST + settings.trial - (state.period - state.since + 1)
        return tell(state, world, view, Kind.TRIAL, f"the change has to last for {left} more periods", proposal)
    problem, places, over = view.problem, places_of(view, proposal), replace(state, trial=None)
    if view.spread(places) > AIM.epsilon:
        return None
    fresh = problem.series[:, -max(state.period - max(proposal.period + 1, state.since) + 1, 1) :]
    gain = compare(fresh, problem.current, places, problem.capacity)
    if objection_to(settings, view, gain, proposal) is not None:
        return None
    objection, proposal = judged(view, places, proposal)
    if objection is not None:
        return None
    return release(over, world, settings, view, replace(proposal, gain=gain.mean), ())
