"""The judge of moves: which of those that a policy proposes are worth their price, and why not the others.

Rule 1: moves between the same two nodes are weighed together, since an exchange is no good by halves; a plan made from
scratch is weighed as a whole. Rule 2: every move that is left out has a reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.critical import pressure
from drover.control.record import Refusal
from drover.control.settings import Control
from drover.load.arrays import Floats, Ints
from drover.placement.plan import Move
from drover.placement.problem import NOWHERE, Problem

NOISE: Final = 1e-3  # of the pressure: less is no gain


@dataclass(frozen=True, slots=True)
class Price:
    """What moving costs, as measured."""

    per_byte: float = 2e-8  # seconds; 50 MB/s until something was moved
    per_move: float = 0.005  # seconds

    def of(self, moves: Sequence[Move]) -> float:
        """Return the seconds that these moves take."""
        return sum(self.per_byte * move.bytes + self.per_move for move in moves)


@dataclass(frozen=True, slots=True)
class Choice:
    """The moves that are worth it, the plan that they lead to, and the refusals."""

    places: Ints  # (m,)
    moves: tuple[Move, ...]
    refusals: tuple[Refusal, ...]


def choose(
    problem: Problem, wanted: Ints, settings: Control, resting: Mapping[str, int], price: Price,
    *, whole: bool, least: float = NOISE,
) -> Choice:  # fmt: skip
    """Choose among the moves that lead from the current plan to the wanted one, (m,).

    `resting` has the units that moved lately, with the periods that are left of their cool-down. Moves that lower the
    pressure by no more than a share of `least` are left out.
    """
    places, refusals = problem.current.copy(), []
    units = [int(j) for j in np.flatnonzero(wanted != problem.current)]
    awake = []
    for j in units:
        if problem.units[j] in resting:
            left = resting[problem.units[j]]
            refusals.append(
                Refusal(move_of(problem, j, wanted), f"it has moved lately and rests for {left} more periods")
            )
        else:
            awake.append(j)
    groups = [awake] if whole else _exchanges(problem.current, wanted, awake)
    made: list[int] = []
    most = problem.m if whole else settings.most_moves
    while groups := [group for group in groups if group]:
        gains = [_gain(problem, places, wanted, group) for group in groups]
        best = int(
            np.argmax([gain / price.of(moves_of(problem, g, wanted)) for gain, g in zip(gains, groups, strict=True)])
        )
        if gains[best] <= least:
            break
        group = groups.pop(best)
        if (reason := _hindrance(problem, places, wanted, group, settings, most - len(made))) is not None:
            refusals += [Refusal(move_of(problem, j, wanted), reason) for j in group]
            continue
        places[group] = wanted[group]
        made += group
    refusals += [
        Refusal(
            move_of(problem, j, wanted), "it makes nothing better" + (" once the others have moved" if made else "")
        )
        for group in groups
        for j in group
    ]
    return Choice(places, tuple(moves_of(problem, sorted(made), wanted)), tuple(refusals))


def _exchanges(current: Ints, wanted: Ints, units: Sequence[int]) -> list[list[int]]:
    """Return the units in groups that move between the same two nodes."""
    groups: dict[tuple[int, int], list[int]] = {}
    for j in units:
        ends = sorted((int(current[j]), int(wanted[j])))
        groups.setdefault((ends[0], ends[1]), []).append(j)
    return list(groups.values())


def _gain(problem: Problem, places: Ints, wanted: Ints, group: Sequence[int]) -> float:
    """Return the share by which the pressure falls if a group moves."""
    after = places.copy()
    after[group] = wanted[group]
    before = pressure(problem.series, places, problem.capacity)
    return (before - pressure(problem.series, after, problem.capacity)) / before if before > 0 else 0.0


def _hindrance(
    problem: Problem, places: Ints, wanted: Ints, group: Sequence[int], settings: Control, left: int
) -> str | None:
    """Return what keeps a group from moving, in words, or None."""
    if len(group) > left:
        return f"at most {settings.most_moves} units move per period"
    after = places.copy()
    after[group] = wanted[group]
    if (full := overfull(problem, places, after, settings.memory)) is not None:
        return full
    loads = np.bincount(after, problem.load, problem.n) / problem.capacity
    before = np.bincount(places, problem.load, problem.n) / problem.capacity
    worse = (loads > 1) & (loads > before + NOISE)
    if worse.any() and loads.max() > before.max() + NOISE:
        return f"node {int(np.argmax(loads))} would be loaded to {loads.max():.2f} of its capacity"
    return None


def overfull(problem: Problem, before: Ints, after: Ints, memory: float) -> str | None:
    """Return in words which node a plan, (m,), fills with more state than it may hold, or None."""
    held, had = _held(problem, after), _held(problem, before)
    for node in np.flatnonzero((held > had) & (held > memory)):
        return f"node {node} would hold {held[node]:,.0f} bytes of state, above {memory:,.0f}"
    return None


def _held(problem: Problem, places: Ints) -> Floats:
    """Return the bytes of state on each node, (n,)."""
    there = places != NOWHERE
    return np.bincount(places[there], problem.state[there], problem.n).astype(np.float64)


def move_of(problem: Problem, j: int, wanted: Ints) -> Move:
    """Return the move of unit j to where it is wanted."""
    source = int(problem.current[j])
    return Move(problem.units[j], None if source == NOWHERE else source, int(wanted[j]), float(problem.state[j]))


def moves_of(problem: Problem, units: Sequence[int], wanted: Ints) -> list[Move]:
    """Return the moves of some units."""
    return [move_of(problem, j, wanted) for j in units]
