"""Correlation-based distribution [Xing05]: globally from scratch, and the arrays for the pairwise algorithms.

Rule 1: it uses only load series: units whose loads rose together in the past go to different nodes.
Rule 2: loads are compared relative to capacity; for equal nodes, this is the rule of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.baseline import place_unplaced
from drover.placement.correlation import kernels
from drover.placement.correlation import node_kernels as loops
from drover.placement.correlation.kernels import Method, NodeLists, Units
from drover.placement.problem import NOWHERE, Flags, PlacementProblem
from drover.placement.rules import Conflicts

ROUNDING: Final = 1e-12  # relative to the load: a series that varies less is constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """The thresholds of [Xing05], table 2, with its defaults."""

    epsilon: float = 0.1  # work on pairs of nodes whose relative loads differ by more
    delta: float = 0.2  # exchange units with a score above this
    theta: float = 0.8  # improve pairs of nodes whose correlation is below this
    own: bool = False  # whether an exchange counts a unit's own load, as printed: better plans, more moves


DEFAULT: Final = Correlation()


def unit_arrays(problem: PlacementProblem, movable: Flags, rng: Generator) -> Units:
    """Return the units of a problem as arrays for the kernels."""
    centred = problem.series - problem.series.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1)
    # A constant series has no direction. Rounding in the mean would otherwise give it a random one.
    varies = lengths > ROUNDING * np.linalg.norm(problem.series, axis=1)
    centred[~varies] = 0.0
    direction = centred / np.where(varies, lengths, 1.0)[:, None]
    conflicts = Conflicts.of(problem)
    return Units(
        centred,
        direction,
        np.ascontiguousarray(problem.series.mean(axis=1)),
        rng.random(problem.m),
        np.asarray(movable, dtype=np.bool_),
        problem.reachable(),
        conflicts.start,
        conflicts.near,
        ROUNDING * float(lengths.sum()),
    )


def node_lists(problem: PlacementProblem, units: Units, places: Ints) -> NodeLists:
    """Return a plan as lists that the kernels change in place."""
    n = problem.n
    m = problem.m
    h = problem.series.shape[1]
    empty = (np.full(n, NOWHERE), np.full(m, NOWHERE), np.zeros((n, h)), np.zeros(n))
    nodes = NodeLists(np.array(problem.capacity), np.array(places, dtype=np.int64), *empty)
    loops.fill_nodes(units, nodes)
    return nodes


def by_load(nodes: NodeLists) -> Ints:
    """Return the nodes by relative load, the heaviest first; ties by index."""
    return np.argsort(-nodes.load / nodes.capacity, kind="stable")


def place_correlated(
    problem: PlacementProblem, rng: Generator, settings: Correlation = DEFAULT, *, placed: Ints | None = None
) -> Ints:
    """Place by COR-GLB: greedily from empty nodes, then one round of one-way balancing, then pairs improved by COR-RE.

    Units that `placed`, (m,), puts on a node stay there and count.
    """
    problem.need("series", "correlation")
    fixed = np.full(problem.m, NOWHERE) if placed is None else placed
    units = unit_arrays(problem, fixed == NOWHERE, rng)
    nodes = node_lists(problem, units, fixed)
    loops.distribute(units, nodes)
    # Conflicts can leave a unit without an open node; it goes to the least loaded node that it may be on.
    if (nodes.places == NOWHERE).any():
        nodes = node_lists(problem, units, place_unplaced(problem, nodes.places))
    loops.run_round(units, nodes, by_load(nodes), Method(kernels.BALANCE, kernels.CORRELATION, 0.0, False), 0.0)
    method = Method(kernels.REDISTRIBUTE, kernels.CORRELATION, settings.delta, settings.own)
    loops.improve_all(units, nodes, method, settings.theta)
    return nodes.places
