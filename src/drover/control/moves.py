"""Which of the moves that a policy wants are worth their cost, and why the others are not.

Rule 1: moves between the same two nodes are judged together, because half an exchange is worse than none. A plan made
from scratch is judged as a whole. Rule 2: every move that is left out has a reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from drover.control.critical import pressure
from drover.control.record import RefusedMove
from drover.control.settings import Control
from drover.load.arrays import Floats, Ints
from drover.placement.plan import Move
from drover.placement.problem import NOWHERE, PlacementProblem

NOISE: Final = 1e-3  # share of the pressure; a smaller gain counts as none


@dataclass(frozen=True, slots=True)
class MoveCost:
    """What a move costs, as measured."""

    per_byte: float = 2e-8  # seconds; 50 MB/s until a move was measured
    per_move: float = 0.005  # seconds

    def of(self, moves: Sequence[Move]) -> float:
        """Return the seconds that these moves take."""
        return sum(self.per_byte * move.bytes + self.per_move for move in moves)


@dataclass(frozen=True, slots=True)
class ChosenMoves:
    """The moves that are worth their cost, the plan that they lead to, and the refusals."""

    places: Ints  # (m,)
    moves: tuple[Move, ...]
    refusals: tuple[RefusedMove, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MoveLimits:
    """How much may move in a period."""

    most: int  # units, a super-operator counted as one
    memory: float  # bytes of state that a node may hold
    owner: Ints  # (m,) the super-operator that each unit is in, or a number of its own

    @classmethod
    def of(cls, settings: Control, owner: Ints) -> MoveLimits:
        """Return the limits that the settings ask for."""
        return cls(settings.most_moves, settings.memory, owner)

    def count(self, units: Sequence[int]) -> int:
        """Return how many moves some units need."""
        return len(np.unique(self.owner[list(units)]))


def choose_moves(
    problem: PlacementProblem,
    wanted: Ints,
    limits: MoveLimits,
    resting: Mapping[str, int],
    price: MoveCost,
    *,
    whole: bool,
    least: float = NOISE,
) -> ChosenMoves:
    """Choose among the moves that lead from the current plan to the wanted one, (m,).

    `resting` maps units in their cool-down to the periods left of it. Moves that lower the pressure by a share of
    `least` or less are left out.
    """
    places = problem.current.copy()
    refusals = []
    units = [int(j) for j in np.flatnonzero(wanted != problem.current)]
    movable = []
    for j in units:
        if problem.units[j] in resting:
            left = resting[problem.units[j]]
            refusals.append(
                RefusedMove(move_of(problem, j, wanted), f"it moved recently and rests for {left} more periods")
            )
        else:
            movable.append(j)
    groups = [movable] if whole else _exchanges(problem.current, wanted, movable)
    made: list[int] = []
    # A plan that is made as a whole may exceed the limit per period: half of it could be worse than none.
    most = problem.m if whole else limits.most
    while groups := [group for group in groups if group]:
        gains = [_gain(problem, places, wanted, group) for group in groups]
        costs = [price.of(moves_of(problem, group, wanted)) for group in groups]
        # One group at a time, because each move changes what the others gain.
        best = int(np.argmax(np.divide(gains, costs)))
        if gains[best] <= least:
            break
        group = groups.pop(best)
        left = most - limits.count(made)
        if (reason := _obstacle(problem, places, wanted, group, limits, left)) is not None:
            refusals += [RefusedMove(move_of(problem, j, wanted), reason) for j in group]
            continue
        places[group] = wanted[group]
        made += group
    refusals += [
        RefusedMove(
            move_of(problem, j, wanted), "it improves nothing" + (" once the others have moved" if made else "")
        )
        for group in groups
        for j in group
    ]
    return ChosenMoves(places, tuple(moves_of(problem, sorted(made), wanted)), tuple(refusals))


def _exchanges(current: Ints, wanted: Ints, units: Sequence[int]) -> list[list[int]]:
    """Return the units grouped by the two nodes between which they move."""
    groups: dict[tuple[int, int], list[int]] = {}
    for j in units:
        ends = sorted((int(current[j]), int(wanted[j])))
        groups.setdefault((ends[0], ends[1]), []).append(j)
    return list(groups.values())


def _gain(problem: PlacementProblem, places: Ints, wanted: Ints, group: Sequence[int]) -> float:
    """Return the share by which the pressure falls if a group moves."""
    after = places.copy()
    after[group] = wanted[group]
    before = pressure(problem.series, places, problem.capacity)
    return (before - pressure(problem.series, after, problem.capacity)) / before if before > 0 else 0.0


def _obstacle(
    problem: PlacementProblem, places: Ints, wanted: Ints, group: Sequence[int], limits: MoveLimits, left: int
) -> str | None:
    """Return why a group cannot move, or None if it can."""
    if limits.count(group) > left:
        return f"at most {limits.most} units move per period"
    after = places.copy()
    after[group] = wanted[group]
    if (full := overfull(problem, places, after, limits.memory)) is not None:
        return full
    loads = np.bincount(after, problem.load, problem.n) / problem.capacity
    before = np.bincount(places, problem.load, problem.n) / problem.capacity
    # A move may fill an overloaded node further, as long as another node was even fuller before.
    if loads.max() > max(1.0, before.max() + NOISE):
        return f"node {int(np.argmax(loads))} would be loaded to {loads.max():.2f} of its capacity"
    return None


def overfull(problem: PlacementProblem, before: Ints, after: Ints, memory: float) -> str | None:
    """Return which node would hold more state than allowed under a plan, (m,), or None."""
    held = _held(problem, after)
    had = _held(problem, before)
    # A node that is above the limit already keeps what it has, but must not get more.
    for node in np.flatnonzero((held > had) & (held > memory)):
        return f"node {node} would hold {held[node]:,.0f} bytes of state, above {memory:,.0f}"
    return None


def _held(problem: PlacementProblem, places: Ints) -> Floats:
    """Return the bytes of state on each node, (n,)."""
    placed = places != NOWHERE
    return np.bincount(places[placed], problem.state[placed], problem.n).astype(np.float64)


def move_of(problem: PlacementProblem, j: int, wanted: Ints) -> Move:
    """Return the move of unit j to its place in `wanted`, (m,)."""
    source = int(problem.current[j])
    return Move(problem.units[j], None if source == NOWHERE else source, int(wanted[j]), float(problem.state[j]))


def moves_of(problem: PlacementProblem, units: Sequence[int], wanted: Ints) -> list[Move]:
    """Return the moves of some units to their places in `wanted`, (m,)."""
    return [move_of(problem, j, wanted) for j in units]


def pin_resting(problem: PlacementProblem, resting: Collection[str]) -> PlacementProblem:
    """Return the problem with resting units pinned; otherwise a plan could only be made in part."""
    if not resting:
        return problem
    rests = np.array([unit in resting for unit in problem.units])
    return replace(problem, pinned=np.where(rests, problem.current, problem.pinned))
