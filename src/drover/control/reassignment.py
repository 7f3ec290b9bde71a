"""Units that need a node: new units, units of closed nodes, and units that are not where they are pinned.

Rule 1: they are placed at once, and nothing else moves to make room. Rule 2: a unit stays where it is if no node has
room for its state, and a refusal says so. Rule 3: the units of a super-operator go to one node, if one has room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

import numpy as np

from drover.control.executors import LostExecutor, describe_loss
from drover.control.moves import ChosenMoves, move_of, moves_of
from drover.control.record import RefusedMove
from drover.load.arrays import Floats, Ints
from drover.placement.problem import NOWHERE, Flags, PlacementProblem


def orphaned(problem: PlacementProblem, closed: Collection[int]) -> Flags:
    """Return which units need a node, (m,)."""
    strayed = (problem.pinned != NOWHERE) & (problem.pinned != problem.current)
    return np.asarray(np.isin(problem.current, [NOWHERE, *closed]) | strayed)


def reassign(problem: PlacementProblem, orphans: Flags, memory: float, owner: Ints | None = None) -> ChosenMoves:
    """Place units that need a node, (m,): the largest first, on the least loaded node with room for the state.

    `owner`, (m,), is the super-operator that each unit is in; by default, each is by itself.
    """
    places = problem.current.copy()
    refusals = []
    placed = places != NOWHERE  # an orphan on a node counts there until it leaves
    # Without any placed unit, bincount returns integers, and adding a load to them would round it down to 0.
    # (n,) busy seconds per second, and (n,) bytes
    load = np.bincount(places[placed], problem.load[placed], problem.n).astype(np.float64)
    held = np.bincount(places[placed], problem.state[placed], problem.n).astype(np.float64)
    reachable = problem.reachable()
    todo = _placing_order(problem, orphans, np.arange(problem.m) if owner is None else owner)
    while todo:
        group = todo.popleft()
        j = group[0]
        # Only the memory of a node is a hard limit here: an overloaded node is better than a unit that does not run.
        fits = reachable[group].all(axis=0) & (held + problem.state[group].sum() <= memory)
        if fits.any():
            node = _lightest(load + problem.load[group].sum(), problem.capacity, fits)
            for total, own in ((load, problem.load), (held, problem.state)):
                total[node] += own[group].sum()
                left = [one for one in group if placed[one]]
                np.subtract.at(total, places[left], own[left])
            places[group] = node
        elif len(group) > 1:
            todo.extendleft([one] for one in reversed(group))
        else:
            # The refusal names the node that the unit would have gone to if memory were no matter.
            node = _lightest(load + problem.load[j], problem.capacity, reachable[j])
            wanted = np.where(np.arange(problem.m) == j, node, places)
            reason = f"no node that it may be on has room for its {problem.state[j]:,.0f} bytes of state"
            refusals.append(RefusedMove(move_of(problem, j, wanted), reason))
    moving = [int(j) for j in np.flatnonzero(places != problem.current)]
    return ChosenMoves(places, tuple(moves_of(problem, moving, places)), tuple(refusals))


def _placing_order(problem: PlacementProblem, orphans: Flags, owner: Ints) -> deque[list[int]]:
    """Return the orphans in groups, in the order of placing: pinned ones first, as they have no choice."""
    groups: dict[int, list[int]] = {}
    for j in np.flatnonzero(orphans).tolist():
        groups.setdefault(int(owner[j]), []).append(j)

    def rank(group: list[int]) -> tuple[bool, float, int]:
        return bool(problem.pinned[group[0]] == NOWHERE), -float(problem.load[group].sum()), group[0]

    return deque(sorted(groups.values(), key=rank))


def describe_cause(
    problem: PlacementProblem, units: Ints, closed: Collection[int], lost: Sequence[LostExecutor] = ()
) -> str:
    """Return in words why some units, given by number, need a node; `lost` are executors that nodes ran on."""
    gone = sorted({int(problem.current[j]) for j in units} & set(closed))
    because = [(each, [node for node in gone if node in each.nodes]) for each in lost]
    rest = [node for node in gone if not any(node in nodes for _, nodes in because)]
    causes = [f"node {', '.join(map(str, rest))} is closed"] if rest else []
    causes += ["they are new"] if (problem.current[units] == NOWHERE).any() else []
    strayed = ~np.isin(problem.current[units], [NOWHERE, *closed])
    causes += ["they are not where they are pinned"] if strayed.any() else []
    causes += [describe_loss(each, nodes) for each, nodes in because if nodes]
    return " and ".join(causes)


def _lightest(load: Floats, capacity: Floats, usable: Flags) -> int:
    return int(np.argmin(np.where(usable, load / capacity, np.inf)))
