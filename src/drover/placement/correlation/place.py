"""Correlation-based distribution [Xing05]: globally, from nothing, and pair by pair, from a plan that runs.

Rule 1: it looks at load series alone: what rose together in the past is put on different nodes.
Rule 2: loads are compared relative to capacity; for equal nodes that is the text's own rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.baseline import settle
from drover.placement.correlation import kernels
from drover.placement.correlation.kernels import Method, Nodes, Units
from drover.placement.correlation.nodes import kernels as loops
from drover.placement.problem import NOWHERE, Flags, Problem
from drover.placement.rules import Conflicts

ROUNDING: Final = 1e-12  # of the load: a series that varies less is constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """The thresholds of [Xing05], table 2, with its defaults."""

    epsilon: float = 0.1  # pairs whose relative loads differ by more are worked on
    delta: float = 0.2  # an exchange takes units with a score above this
    theta: float = 0.8  # pairs of nodes that correlate less are worth improving
    own: bool = False  # whether an exchange counts a unit's own load, as printed: better plans, more moves


DEFAULT: Final = Correlation()


def take_units(problem: Problem, movable: Flags, rng: Generator) -> Units:
    """Return the units of a problem as the kernels take them."""
    centred = problem.series - problem.series.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1)
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


def take_nodes(problem: Problem, units: Units, places: Ints) -> Nodes:
    """Return a plan as the kernels change it."""
    n, m, h = problem.n, problem.m, problem.series.shape[1]
    empty = (np.full(n, NOWHERE), np.full(m, NOWHERE), np.zeros((n, h)), np.zeros(n))
    nodes = Nodes(np.array(problem.capacity), np.array(places, dtype=np.int64), *empty)
    loops.tally(units, nodes)
    return nodes


def by_load(nodes: Nodes) -> Ints:
    """Return the nodes by relative load, the heaviest first, equal ones by index."""
    return np.argsort(-nodes.load / nodes.capacity, kind="stable")


def place_correlated(
    problem: Problem, rng: Generator, settings: Correlation = DEFAULT, *, placed: Ints | None = None
) -> Ints:
    """Place by COR-GLB: greedily from empty nodes, one round of one-way balancing, then pairs improved by COR-RE.

    Units that `placed`, (m,), puts on a node stay there and count.
    """
    problem.need("series", "correlation")
    fixed = np.full(problem.m, NOWHERE) if placed is None else placed
    units = take_units(problem, fixed == NOWHERE, rng)
    nodes = take_nodes(problem, units, fixed)
    loops.distribute(units, nodes)
    if (nodes.places == NOWHERE).any():
        nodes = take_nodes(problem, units, settle(problem, nodes.places))
    loops.run_round(units, nodes, by_load(nodes), Method(kernels.BALANCE, kernels.CORRELATION, 0.0, False), 0.0)
    method = Method(kernels.REDISTRIBUTE, kernels.CORRELATION, settings.delta, settings.own)
    loops.improve_all(units, nodes, method, settings.theta)
    return nodes.places
