"""Pairwise algorithms of [Xing05]: from a plan that runs to a better one, two nodes at a time.

Rule 1: an algorithm is a row of METHODS. Rule 2: where there is no plan yet, each query graph starts whole on a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.baseline import place_whole, settle
from drover.placement.correlation import kernels
from drover.placement.correlation.kernels import Method, Nodes, Units
from drover.placement.correlation.nodes import kernels as loops
from drover.placement.correlation.place import DEFAULT, Correlation, by_load, take_nodes, take_units
from drover.placement.problem import NOWHERE, Flags, Problem
from drover.placement.rules import repair

ROUNDS: Final = 20  # when a plan is asked for at once; a control loop runs one per period


@dataclass(frozen=True, slots=True)
class Pairwise:
    """One pairwise algorithm."""

    kind: int  # BALANCE, REDISTRIBUTE or EXCHANGE
    choice: int = kernels.CORRELATION
    improved: bool = False  # whether nodes that may overload for a while look for better partners (-IMP)


METHODS: Final[Mapping[str, Pairwise]] = {
    "cor-bal": Pairwise(kernels.BALANCE),
    "llf-bal": Pairwise(kernels.BALANCE, kernels.LARGEST),
    "rand-bal": Pairwise(kernels.BALANCE, kernels.DRAW),
    "cor-re": Pairwise(kernels.REDISTRIBUTE),
    "cor-se": Pairwise(kernels.EXCHANGE),
    "cor-re-imp": Pairwise(kernels.REDISTRIBUTE, improved=True),
    "cor-se-imp": Pairwise(kernels.EXCHANGE, improved=True),
}


def begin(problem: Problem, rng: Generator) -> Ints:
    """Return the plan to start from: the current one, or whole graphs; new units go to light nodes."""
    if (problem.current == NOWHERE).all():
        return repair(problem, place_whole(problem, rng))
    return repair(problem, settle(problem, problem.current))


def run_round(
    problem: Problem, places: Ints, algorithm: Pairwise, rng: Generator, settings: Correlation = DEFAULT
) -> Ints:
    """Return the plan after one round. Sticky units stay, unless their node is overloaded and has nothing floating."""
    problem.need("series", "pairwise")
    units = take_units(problem, movable(problem, places), rng)
    nodes = take_nodes(problem, units, places)
    step(units, nodes, algorithm, settings)
    return nodes.places


def step(units: Units, nodes: Nodes, algorithm: Pairwise, settings: Correlation) -> None:
    """Run one round on a plan in place."""
    method = Method(algorithm.kind, algorithm.choice, settings.delta, settings.own)
    loops.run_round(units, nodes, by_load(nodes), method, settings.epsilon)
    if algorithm.improved:
        loops.relieve(units, nodes, method, settings.theta)


def movable(problem: Problem, places: Ints) -> Flags:
    """Return, (m,), which units may move: floating ones, and sticky ones of overloaded nodes without floating units."""
    load = np.bincount(places, problem.load, problem.n)
    floating = np.bincount(places, ~problem.sticky, problem.n)
    in_need = (load > problem.capacity) & (floating == 0)
    return np.asarray(~problem.sticky | in_need[places])


def policy(name: str, settings: Correlation = DEFAULT, rounds: int = ROUNDS) -> Callable[[Problem, Generator], Ints]:
    """Return the policy that runs an algorithm of METHODS for some rounds, or until nothing changes."""

    def place(problem: Problem, rng: Generator) -> Ints:
        places = begin(problem, rng)
        for _ in range(rounds):
            found = run_round(problem, places, METHODS[name], rng, settings)
            if (found == places).all():
                break
            places = found
        return places

    return place
