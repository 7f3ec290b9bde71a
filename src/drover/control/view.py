"""A period as the loop sees it: what is there, and the placement problem of the last periods.

Rule 1: nothing is decided here. Rule 2: only periods that say the same are looked at; see `shift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import numpy as np

from drover.control.critical import relative
from drover.control.instances import with_instances
from drover.control.settings import MEASURED, Control
from drover.control.shift import node_costs
from drover.control.state import State
from drover.control.tree import Hierarchy
from drover.hierarchy.thresholds import Size
from drover.load.arrays import Floats, Ints
from drover.load.columns import columns_of, measured_in
from drover.load.profile import Origin, Profile, settle
from drover.load.series import measured_series
from drover.load.statistics import Statistics
from drover.load.trust import trust
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.model import problem_of, unit_names
from drover.placement.plan import Plan
from drover.placement.problem import NOWHERE, Problem
from drover.placement.search.evening import spread

LEAST: Final = 0.1  # of a node's capacity is left to operators at least: it would be no node with nothing


@dataclass(frozen=True, slots=True)
class World:
    """What is there: the network, its plan, and which nodes may not be used."""

    network: Network
    plan: Plan
    closed: frozenset[int] = frozenset()  # nodes that are lost or are being emptied
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes

    def __post_init__(self) -> None:
        """Leave all nodes of a tree open: rows pass there whatever happens, and no other node takes their place."""
        if self.hierarchy is not None:
            object.__setattr__(self, "closed", frozenset())

    @property
    def open(self) -> int:
        """The number of nodes that may be used."""
        return self.plan.nodes - len(self.closed)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The problem of the last periods, with the current plan, and what it was made of."""

    problem: Problem
    profile: Profile
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes
    sizes: tuple[Size, ...] = ()  # there: (m,) of the last period, in the order of its units

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
        """Return the mean load of every node over its capacity under a plan, (m,); on a tree, its level."""
        if self.hierarchy is not None:
            node_of = dict(zip(self.problem.units, places.tolist(), strict=True))
            return self.hierarchy.levels(node_of, self.sizes)
        known = places != NOWHERE
        loads = np.bincount(places[known], self.problem.load[known], self.problem.n) / self.problem.capacity
        return tuple(float(round(load, 4)) for load in loads)

    def spread(self, places: Ints) -> float:
        """Return the largest difference of the relative mean loads of open nodes under a plan, (m,)."""
        return spread(self.problem, places)


def notice(state: State, world: World, settings: Control) -> State:
    """Return the state that knows of a lasting change of rates or costs, if the newest periods show one."""
    names, plan = unit_names(world.network), world.plan
    nodes = [plan.node_of.get(names[operator.name], NOWHERE) for operator in world.network.order]
    told = columns_of(state.window, world.network)
    capacity = left(plan.nodes, settings, state)
    return state.notice(node_costs(told, world.network, np.array(nodes, dtype=np.int64), capacity))


def look(state: State, world: World, settings: Control) -> View:
    """Return the view of the last periods, as many as a window has, since the load has changed."""
    periods = tuple(period for period in state.window.periods if period.number >= state.since)
    recent = Window(state.window.length, periods[-settings.window :])
    profile, names = settle(world.network, list(_said(recent, state.window, world.network))), unit_names(world.network)
    factor = _trusted(state, recent, world.network, settings)
    problem = problem_of(
        profile,
        left(world.plan.nodes, settings, state),
        series=measured_series(recent, profile, names, factor=factor),
        current=world.plan,
        state=_sizes(state.window, names),
    )
    problem = with_instances(problem, recent, world.plan, world.network)
    usable = np.array([node not in world.closed for node in range(problem.n)])
    if world.open:
        problem = replace(problem, allowed=np.tile(usable, (problem.m, 1)), pinned=_pinned(problem, settings, world))
    tree = world.hierarchy
    return View(problem, profile, tree, () if tree is None else tree.sizes(state.window, world.network))


def _trusted(state: State, recent: Window, network: Network, settings: Control) -> Floats | None:
    """Return, (operators,), what costs from before a change say of the loads since then, or None; see `trust`."""
    if not state.unsettled(settings.window):
        return None
    first = state.known if state.known < state.since else 0  # before that, the load was yet another one
    known = tuple(period for period in state.window.periods if period.number >= first)
    return trust(columns_of(Window(state.window.length, known), network), network, len(recent.periods))


def _said(recent: Window, memory: Window, network: Network) -> Iterator[tuple[Origin, Statistics]]:
    """Yield what the last periods tell, and what only the longer memory tells of the others."""
    told = measured_in(recent, network)
    yield Origin.MEASURED, told
    quiet = {operator.name for operator in network.operators} - told.operators.keys()
    if quiet:
        periods = tuple(
            replace(period, samples={name: one for name, one in period.samples.items() if name in quiet})
            for period in memory.periods
        )
        yield Origin.MEASURED, measured_in(Window(memory.length, periods), network)


def left(nodes: int, settings: Control, state: State) -> Floats:
    """Return what submitted queries leave of the capacity of each node, (n,), in the mean of the last periods."""
    capacity = capacities(nodes, settings, state.speeds)
    herds = [herd for herd in state.herds[-settings.window :] if len(herd) == nodes]
    taken = np.mean(herds, axis=0) if herds else np.zeros(nodes)
    return np.maximum(capacity - taken, LEAST * capacity)


def capacities(nodes: int, settings: Control, speeds: Sequence[Sequence[float]] = ()) -> Floats:
    """Return the capacity of each node, (n,), 1 where nothing is said.

    If it is to be measured it is the median speed in the last periods: a node whose tasks have the processor for half
    of their time offers half a busy second per second.
    """
    if settings.capacity == MEASURED:
        known = [
            [each[i] for each in speeds[-settings.window :] if i < len(each) and each[i] > 0] for i in range(nodes)
        ]
        return np.array([min(1.0, median(values)) if values else 1.0 for values in known])
    said = [float(value) for value in settings.capacity[:nodes]]
    return np.array([*said, *[1.0] * (nodes - len(said))])


def _sizes(window: Window, names: dict[str, str]) -> dict[str, float]:
    """Return the bytes of state of each unit, as last seen."""
    sizes: dict[str, float] = {}
    for operator, unit in names.items():
        newest = next((each for period in reversed(window.periods) if (each := period.samples.get(operator))), None)
        if newest is not None:
            sizes[unit] = sizes.get(unit, 0.0) + newest.state_bytes
    return sizes


def _pinned(problem: Problem, settings: Control, world: World) -> Ints:
    """Return the pins, (m,); one to a node that is not there, or is closed, waits until it is."""
    wanted = [settings.pins.get(unit, NOWHERE) for unit in problem.units]
    there = [node if node < problem.n and node not in world.closed else NOWHERE for node in wanted]
    return np.array(there, dtype=np.int64)
