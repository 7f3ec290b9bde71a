"""The pairwise algorithms of [Xing05]: from a running plan to a better one, two nodes at a time.

Rule 1: METHODS has one row per algorithm. Rule 2: without a current plan, each query graph starts on a single node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.baseline import place_unplaced, place_whole
from drover.placement.correlation import kernels
from drover.placement.correlation import node_kernels as loops
from drover.placement.correlation.kernels import Method, NodeLists, Units
from drover.placement.correlation.place import DEFAULT, Correlation, by_load, node_lists, unit_arrays
from drover.placement.problem import NOWHERE, Flags, PlacementProblem
from drover.placement.rules import repair

ROUNDS: Final = 20  # rounds for a complete plan; a control loop runs one round per period


@dataclass(frozen=True, slots=True)
class Pairwise:
    """One pairwise algorithm."""

    kind: int  # BALANCE, REDISTRIBUTE or EXCHANGE
    choice: int = kernels.CORRELATION
    improved: bool = False  # -IMP: whether nodes at risk of temporary overload look for better partners


METHODS: Final[Mapping[str, Pairwise]] = {
    "cor-bal": Pairwise(kernels.BALANCE),
    "llf-bal": Pairwise(kernels.BALANCE, kernels.LARGEST),
    "rand-bal": Pairwise(kernels.BALANCE, kernels.DRAW),
    "cor-re": Pairwise(kernels.REDISTRIBUTE),
    "cor-se": Pairwise(kernels.EXCHANGE),
    "cor-re-imp": Pairwise(kernels.REDISTRIBUTE, improved=True),
    "cor-se-imp": Pairwise(kernels.EXCHANGE, improved=True),
}


def starting_plan(problem: PlacementProblem, rng: Generator) -> Ints:
    """Return the plan to start from: the current one, or whole graphs; new units go to lightly loaded nodes."""
    if (problem.current == NOWHERE).all():
        return repair(problem, place_whole(problem, rng))
    return repair(problem, place_unplaced(problem, problem.current))


def run_round(
    problem: PlacementProblem, places: Ints, algorithm: Pairwise, rng: Generator, settings: Correlation = DEFAULT
) -> Ints:
    """Return the plan after one round. Sticky units stay, unless their node is overloaded and has no floating units."""
    problem.need("series", "pairwise")
    units = unit_arrays(problem, movable(problem, places), rng)
    nodes = node_lists(problem, units, places)
    step(units, nodes, algorithm, settings)
    return nodes.places


def step(units: Units, nodes: NodeLists, algorithm: Pairwise, settings: Correlation) -> None:
    """Run one round on a plan in place."""
    method = Method(algorithm.kind, algorithm.choice, settings.delta, settings.own)
    loops.run_round(units, nodes, by_load(nodes), method, settings.epsilon)
    if algorithm.improved:
        loops.relieve(units, nodes, method, settings.theta)


def movable(problem: PlacementProblem, places: Ints) -> Flags:
    """Return, (m,), which units may move: floating ones, and sticky ones of overloaded nodes without floating units."""
    load = np.bincount(places, problem.load, problem.n)
    floating = np.bincount(places, ~problem.sticky, problem.n)
    # An overloaded node without floating units could not be relieved at all otherwise.
    in_need = (load > problem.capacity) & (floating == 0)
    return np.asarray(~problem.sticky | in_need[places])


def policy(
    name: str, settings: Correlation = DEFAULT, rounds: int = ROUNDS
) -> Callable[[PlacementProblem, Generator], Ints]:
    """Return the policy that runs an algorithm of METHODS for several rounds, or until the plan stays the same."""

    def place(problem: PlacementProblem, rng: Generator) -> Ints:
        places = starting_plan(problem, rng)
        for _ in range(rounds):
            found = run_round(problem, places, METHODS[name], rng, settings)
            # Without a change, the next round would start from the same plan.
            if (found == places).all():
                break
            places = found
        return places

    return place
