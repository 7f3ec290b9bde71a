"""One period of a run on a tree: neighbouring nodes negotiate over measured sizes, and units move between them.

Rule 1: the state machines of `hierarchy` decide. This module gives them sizes and turns what they agree on into a plan.
Rule 2: every node looks at itself once per period, and every round ends before the next batch. A round that spanned
several batches would stop operators on their way and compare sizes of different periods. In the driver no message can
be lost, so a round needs no timeout.
Rule 3: nothing is remembered between periods. The plan says where units are, so a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drover.control.context import ControlContext
from drover.control.outcome import Outcome, accept, make_proposal, record_outcome
from drover.control.record import PeriodOutcome, Proposal
from drover.control.settings import Mode
from drover.control.tree import Hierarchy
from drover.control.view import View, view_of
from drover.hierarchy.negotiate import TreeMove, negotiate
from drover.placement.plan import moves
from drover.wording import count

NAMED: Final = 3  # units that a reason names; of more it says how many


def decide_on_tree(context: ControlContext, tree: Hierarchy) -> Outcome:
    """Decide on one period, whose samples the state's window already holds."""
    view = view_of(context)
    mode = context.settings.mode
    if mode is Mode.OBSERVE:
        reason = f"nothing is decided in mode observe; {_full_nodes(context, view, tree)}"
        return record_outcome(context, view, PeriodOutcome.WATCHED, reason)
    proposal = _negotiate(context, view, tree)
    waiting = context.state.waiting
    released = context.with_state(waiting=None)
    if proposal is None:
        reason = f"nothing is handed over; {_full_nodes(context, view, tree)}"
        return record_outcome(released, view, PeriodOutcome.STEADY, reason)
    if waiting is not None and mode is Mode.PROPOSE and _still_helps(waiting, context, view, tree):
        return record_outcome(context, view, PeriodOutcome.PROPOSED, f"{waiting.id} waits to be applied", waiting)
    return accept(released, view, proposal, ())


def _still_helps(waiting: Proposal, context: ControlContext, view: View, tree: Hierarchy) -> bool:
    """Return whether a waiting proposal can still be carried out and still helps at the present sizes.

    Sizes change, so neighbours agree on something else in almost every period. A proposal that is replaced every few
    seconds could never be applied under the id that was shown.
    """
    plan = context.deployment.plan
    if waiting.base != plan.number:
        return False
    node_of = plan.node_of
    marks = tree.cluster.thresholds
    wanted = {**node_of, **{move.unit: move.target for move in waiting.moves}}
    before, after = (tree.levels(each, view.sizes) for each in (node_of, wanted))
    givers = {node_of[move.unit] for move in waiting.moves}
    takers = {move.target for move in waiting.moves}
    helps = any(before[i] > marks.upper for i in givers) or any(before[i] < marks.lower for i in takers)
    fits = all(after[i] <= marks.upper for i in takers) and all(after[i] >= marks.lower for i in givers)
    return helps and fits


def _negotiate(context: ControlContext, view: View, tree: Hierarchy) -> Proposal | None:
    """Return the moves that neighbours agree on, or None if nothing moves."""
    plan = context.deployment.plan
    agreed = negotiate(tree.node_configs(), [plan.node_of[unit] for unit in tree.units], view.sizes)
    node_of = dict(zip(tree.units, agreed.node_of, strict=True))
    # Neighbours know only their part of the tree. This checks their agreement against all of it (rule 1 of `tree`).
    planned = tree.check_plan(plan.placed(node_of))
    bytes_of = dict(zip(view.problem.units, view.problem.state.tolist(), strict=True))
    found = moves(plan, planned, bytes_of)
    if not found:
        return None
    reason = "; ".join(_describe(step, tree, _describe_units(step, tree)) for step in agreed.steps)
    after = tree.levels(node_of, view.sizes)
    reasons = tuple(_reasons(agreed.steps, tree).items())
    return make_proposal(context, view, found, reason, after, reasons=reasons)


def _describe_units(step: TreeMove, tree: Hierarchy) -> str:
    units = [tree.units[j] for j in step.operators]
    return " and ".join(units) if len(units) <= NAMED else count(len(units), "unit")


def _reasons(steps: Sequence[TreeMove], tree: Hierarchy) -> dict[str, str]:
    """Return why each unit moves; a unit that moves on in the same period has two reasons."""
    found: dict[str, str] = {}
    for step in steps:
        more = f" and {len(step.operators) - 1} more" if len(step.operators) > 1 else ""
        for unit in (tree.units[j] for j in step.operators):
            words = _describe(step, tree, f"{unit}{more}")
            found[unit] = f"{found[unit]}; {words}" if unit in found else words
    return found


def _describe(step: TreeMove, tree: Hierarchy, what: str) -> str:
    """Return in words why units move to a neighbour."""
    names = tree.cluster.nodes
    marks = tree.cluster.thresholds
    giver = names[step.giver]
    receiver = names[step.receiver]
    if step.offered:
        why = f"{giver} is at {step.giver_level:.0%}, above {marks.upper:.0%}"
        return f"{why}, and hands {what} to {receiver}, which is at {step.receiver_level:.0%}"
    why = f"{receiver} is at {step.receiver_level:.0%}, below {marks.lower:.0%}"
    return f"{why}, and takes {what} from {giver}, which is at {step.giver_level:.0%}"


def _full_nodes(context: ControlContext, view: View, tree: Hierarchy) -> str:
    """Return which nodes are above the upper threshold."""
    marks = tree.cluster.thresholds
    levels = tree.levels(context.deployment.plan.node_of, view.sizes)
    full = [
        f"{name} at {each:.0%}" for name, each in zip(tree.cluster.nodes, levels, strict=True) if each > marks.upper
    ]
    return f"{count(len(full), 'node')} above {marks.upper:.0%}" + (f": {', '.join(full)}" if full else "")
