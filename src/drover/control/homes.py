"""Units that need a node: new ones, those of closed nodes, and those that are not where they are pinned.

Rule 1: they are placed at once, and nothing else moves for their sake. Rule 2: where no node has room for its state, a
unit stays, and a refusal says so.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from drover.control.record import Refusal
from drover.control.weigh import Choice, move_of, moves_of
from drover.load.arrays import Floats, Ints
from drover.placement.problem import NOWHERE, Flags, Problem


def homeless(problem: Problem, closed: Collection[int]) -> Flags:
    """Return which units need a node, (m,)."""
    strayed = (problem.pinned != NOWHERE) & (problem.pinned != problem.current)
    return np.asarray(np.isin(problem.current, [NOWHERE, *closed]) | strayed)


def place(problem: Problem, lost: Flags, memory: float) -> Choice:
    """Place units that need a node, (m,): the largest first, where load is least and there is room for the state."""
    places, refusals = problem.current.copy(), []
    there = places != NOWHERE  # those that need another node count where they are, until they leave
    load = np.bincount(places[there], problem.load[there], problem.n)  # (n,) busy seconds per second
    held = np.bincount(places[there], problem.state[there], problem.n)  # (n,) bytes
    reachable = problem.reachable()
    order = sorted(np.flatnonzero(lost).tolist(), key=lambda j: (problem.pinned[j] == NOWHERE, -problem.load[j], j))
    for j in order:
        fits = reachable[j] & (held + problem.state[j] <= memory)
        if fits.any():
            node = _lightest(load + problem.load[j], problem.capacity, fits)
            for total, own in ((load, problem.load[j]), (held, problem.state[j])):
                total[node] += own
                if there[j]:
                    total[places[j]] -= own
            places[j] = node
        else:
            node = _lightest(load + problem.load[j], problem.capacity, reachable[j])
            there = np.where(np.arange(problem.m) == j, node, places)
            reason = f"no node that it may be on has room for its {problem.state[j]:,.0f} bytes of state"
            refusals.append(Refusal(move_of(problem, j, there), reason))
    moving = [int(j) for j in np.flatnonzero(places != problem.current)]
    return Choice(places, tuple(moves_of(problem, moving, places)), tuple(refusals))


def why(problem: Problem, units: Ints, closed: Collection[int]) -> str:
    """Return in words why some units, by number, need a node."""
    gone = sorted({int(problem.current[j]) for j in units} & set(closed))
    said = [f"node {', '.join(map(str, gone))} is closed"] if gone else []
    said += ["they are new"] if (problem.current[units] == NOWHERE).any() else []
    rest = ~np.isin(problem.current[units], [NOWHERE, *closed])
    said += ["they are not where they are pinned"] if rest.any() else []
    return " and ".join(said)


def _lightest(load: Floats, capacity: Floats, usable: Flags) -> int:
    return int(np.argmin(np.where(usable, load / capacity, np.inf)))
