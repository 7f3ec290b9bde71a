"""One period of a run on a tree: neighbours negotiate on what was measured, and units move between them.

Rule 1: the machines of `hierarchy` decide; here they are given sizes, and what they agree on becomes a plan and words.
Rule 2: every node looks at itself once per period, and every round is played to its end between two batches. Played
over several, operators would stand still on their way, and sizes would be those of another period; and in the driver no
message can be lost, which is what a round has its time for.
Rule 3: nothing is remembered from one period to the next: where units are is in the plan, and after a restart nodes
go on as if it had not been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from drover.control.record import Kind, Proposal
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.tree import Hierarchy
from drover.control.verdict import Outcome, release, tell
from drover.control.view import View, World, look
from drover.hierarchy.negotiate import Step, negotiate
from drover.network.drawing.summary import count
from drover.placement.plan import moves

NAMED: Final = 3  # units that a reason names; of more it says how many


def climb(state: State, world: World, settings: Control, tree: Hierarchy) -> Outcome:
    """Decide on one period, whose samples are in the state's window already."""
    view = look(state, world, settings)
    if settings.mode is Mode.OBSERVE:
        return tell(state, world, view, Kind.WATCHED, f"nothing is decided in mode observe; {_full(view, world, tree)}")
    proposal = _agreed(state, world, view, tree)
    waiting, free = state.waiting, replace(state, waiting=None)
    if proposal is None:
        return tell(free, world, view, Kind.STEADY, f"nothing is handed over; {_full(view, world, tree)}")
    if waiting is not None and settings.mode is Mode.PROPOSE and _holds(waiting, world, view, tree):
        return tell(state, world, view, Kind.PROPOSED, f"{waiting.id} waits to be applied", waiting)
    return release(free, world, settings, view, proposal, ())


def _holds(waiting: Proposal, world: World, view: View, tree: Hierarchy) -> bool:
    """Return whether what waits can still be done and still helps, with sizes as they are now.

    Neighbours would agree on something else in almost every period, since sizes change; but one that is replaced every
    few seconds could never be applied under the name that was shown.
    """
    if waiting.base != world.plan.number:
        return False
    node_of, marks = world.plan.node_of, tree.cluster.thresholds
    wanted = {**node_of, **{move.unit: move.target for move in waiting.moves}}
    before, after = (tree.levels(each, view.sizes) for each in (node_of, wanted))
    givers, takers = {node_of[move.unit] for move in waiting.moves}, {move.target for move in waiting.moves}
    helps = any(before[i] > marks.upper for i in givers) or any(before[i] < marks.lower for i in takers)
    fits = all(after[i] <= marks.upper for i in takers) and all(after[i] >= marks.lower for i in givers)
    return helps and fits


def _agreed(state: State, world: World, view: View, tree: Hierarchy) -> Proposal | None:
    """Return what neighbours agree on, or None if nothing moves."""
    plan = world.plan
    agreed = negotiate(tree.places(), [plan.node_of[unit] for unit in tree.units], view.sizes)
    node_of = dict(zip(tree.units, agreed.node_of, strict=True))
    made = tree.demand(plan.placed(node_of))
    bytes_of = dict(zip(view.problem.units, view.problem.state.tolist(), strict=True))
    found = moves(plan, made, bytes_of)
    if not found:
        return None
    reason = "; ".join(_words(step, tree, _together(step, tree)) for step in agreed.steps)
    before, after = (tree.levels(each, view.sizes) for each in (plan.node_of, node_of))
    return Proposal(
        f"p{state.period}", state.period, plan.number, plan.nodes, found, reason, 0.0, state.price.of(found),
        before, after, (), view.measured, reasons=tuple(_reasons(agreed.steps, tree).items()),
    )  # fmt: skip


def _together(step: Step, tree: Hierarchy) -> str:
    units = [tree.units[j] for j in step.operators]
    return " and ".join(units) if len(units) <= NAMED else count(len(units), "unit")


def _reasons(steps: Sequence[Step], tree: Hierarchy) -> dict[str, str]:
    """Return why each unit goes; one that is handed on in the same period has two reasons."""
    found: dict[str, str] = {}
    for step in steps:
        more = f" and {len(step.operators) - 1} more" if len(step.operators) > 1 else ""
        for unit in (tree.units[j] for j in step.operators):
            words = _words(step, tree, f"{unit}{more}")
            found[unit] = f"{found[unit]}; {words}" if unit in found else words
    return found


def _words(step: Step, tree: Hierarchy, what: str) -> str:
    """Return why something went to a neighbour."""
    names, marks = tree.cluster.nodes, tree.cluster.thresholds
    giver, receiver = names[step.giver], names[step.receiver]
    if step.offered:
        why = f"{giver} is at {step.giver_level:.0%}, above {marks.upper:.0%}"
        return f"{why}, and hands {what} to {receiver}, which is at {step.receiver_level:.0%}"
    why = f"{receiver} is at {step.receiver_level:.0%}, below {marks.lower:.0%}"
    return f"{why}, and takes {what} from {giver}, which is at {step.giver_level:.0%}"


def _full(view: View, world: World, tree: Hierarchy) -> str:
    """Return which nodes are above the upper mark."""
    marks, levels = tree.cluster.thresholds, tree.levels(world.plan.node_of, view.sizes)
    full = [
        f"{name} at {each:.0%}" for name, each in zip(tree.cluster.nodes, levels, strict=True) if each > marks.upper
    ]
    return f"{count(len(full), 'node')} above {marks.upper:.0%}" + (f": {', '.join(full)}" if full else "")
