"""A period as the loop sees it: what is there, and the placement problem of the last periods.

Rule 1: nothing is decided here. Rule 2: only periods that say the same are looked at; see `shift`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from drover.control.critical import relative
from drover.control.settings import Control
from drover.control.state import State
from drover.load.arrays import Floats, Ints
from drover.load.profile import Origin, Profile, settle
from drover.load.series import measured_series
from drover.load.window import Window, measured
from drover.network.model import Network
from drover.placement.model import problem_of, unit_names
from drover.placement.plan import Plan
from drover.placement.problem import NOWHERE, Problem


@dataclass(frozen=True, slots=True)
class World:
    """What is there: the network, its plan, and which nodes may not be used."""

    network: Network
    plan: Plan
    closed: frozenset[int] = frozenset()  # nodes that are lost or are being emptied

    @property
    def open(self) -> int:
        """The number of nodes that may be used."""
        return self.plan.nodes - len(self.closed)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The problem of the last periods, with the current plan, and what it was made of."""

    problem: Problem
    profile: Profile

    @property
    def measured(self) -> float:
        """The share of the costs that were measured, not assumed."""
        origins = self.profile.origins["costs"].values()
        return sum(origin is Origin.MEASURED for origin in origins) / len(origins) if origins else 1.0

    def overloaded(self, errors: float) -> bool:
        """Return whether a node's mean load is that many standard errors above its capacity."""
        known = self.problem.current != NOWHERE
        found = relative(self.problem.series[known], self.problem.current[known], self.problem.capacity)
        scatter = found.std(axis=1) / np.sqrt(found.shape[1])
        return bool((found.mean(axis=1) > 1 + errors * scatter).any())

    def loads(self, places: Ints) -> tuple[float, ...]:
        """Return the mean load of every node over its capacity under a plan, (m,)."""
        known = places != NOWHERE
        loads = np.bincount(places[known], self.problem.load[known], self.problem.n) / self.problem.capacity
        return tuple(float(round(load, 4)) for load in loads)


def look(state: State, world: World, settings: Control, *, newest: int | None = None) -> View:
    """Return the view of the last periods since the load has changed: of a window, or of the `newest` so many."""
    periods = tuple(period for period in state.window.periods if period.number >= state.since)
    recent = Window(state.window.length, periods[-(settings.window if newest is None else newest) :])
    # What the last periods do not tell is taken from the longer memory.
    said = [(Origin.MEASURED, measured(recent)), (Origin.MEASURED, measured(state.window))]
    profile, names = settle(world.network, said), unit_names(world.network)
    problem = problem_of(
        profile,
        capacities(world.plan.nodes, settings),
        series=measured_series(recent, profile, names),
        current=world.plan,
        state=_sizes(state.window, names),
    )
    usable = np.array([node not in world.closed for node in range(problem.n)])
    if world.open:
        problem = replace(problem, allowed=np.tile(usable, (problem.m, 1)), pinned=_pinned(problem, settings, world))
    return View(problem, profile)


def capacities(nodes: int, settings: Control) -> Floats:
    """Return the capacity of each node, (n,), 1 where nothing is said."""
    said = settings.capacity[:nodes]
    return np.array([*said, *[1.0] * (nodes - len(said))])


def _sizes(window: Window, names: dict[str, str]) -> dict[str, float]:
    """Return the bytes of state of each unit, as last seen."""
    newest = {name: sample for period in window.periods for name, sample in period.samples.items() if name in names}
    sizes: dict[str, float] = {}
    for operator, sample in newest.items():
        sizes[names[operator]] = sizes.get(names[operator], 0.0) + sample.state_bytes
    return sizes


def _pinned(problem: Problem, settings: Control, world: World) -> Ints:
    """Return the pins, (m,); one to a node that is not there, or is closed, waits until it is."""
    wanted = [settings.pins.get(unit, NOWHERE) for unit in problem.units]
    there = [node if node < problem.n and node not in world.closed else NOWHERE for node in wanted]
    return np.array(there, dtype=np.int64)
