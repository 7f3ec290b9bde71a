"""The view of one period: the placement problem that the last periods pose, and the capacity of the nodes.

Rule 1: nothing is decided here. Rule 2: periods from before the last change of load are left out; see
`change_detection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from drover.control.capacity import modelled_capacity, recent_periods, remaining_capacity
from drover.control.change_detection import node_costs
from drover.control.context import ControlContext
from drover.control.critical import relative_loads
from drover.control.cut_costs import cut_costs
from drover.control.instances import divide_spread_joins
from drover.control.lateness import pace_of
from drover.control.state import ControlState
from drover.control.tree import Hierarchy
from drover.hierarchy.thresholds import Size
from drover.load.arrays import Flags, Floats, Ints
from drover.load.columns import columns_of, measured_in
from drover.load.cost_carryover import carryover_factors
from drover.load.profile import Origin, Profile, make_profile
from drover.load.series import measured_series
from drover.load.statistics import Statistics
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.model import problem_of, unit_names
from drover.placement.problem import NOWHERE, PlacementProblem
from drover.placement.search.fewest_moves import spread


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The placement problem of the last periods, starting from the current plan, and the profile behind it."""

    problem: PlacementProblem
    profile: Profile
    hierarchy: Hierarchy | None = None  # of a run on a tree of nodes
    sizes: tuple[Size, ...] = ()  # on a tree: (m,) sizes in the last period, in the order of its units
    share: float = 1.0  # of the time for which a node can be busy if all work; its capacity is for that case
    late: bool = False  # whether batches are too long because of what nodes do

    @property
    def measured(self) -> float:
        """The share of the costs that were measured, not assumed."""
        origins = self.profile.origins["costs"].values()
        return sum(origin is Origin.MEASURED for origin in origins) / len(origins) if origins else 1.0

    def overloaded(self, errors: float) -> bool:
        """Return whether a node, or all nodes together, have a mean load that many standard errors above capacity.

        Nodes that share cores have more than their share while others are idle, but all together no more than there is.
        Batches that are too long because of their nodes count, too.
        """
        if self.late:
            return True
        problem = self.problem
        known = problem.current != NOWHERE
        each = relative_loads(problem.series[known], problem.current[known], problem.capacity)
        together = (each * problem.capacity[:, None]).sum(axis=0, keepdims=True) / problem.capacity.sum()
        return bool(self.overloaded_nodes(errors).any() or _is_above_one(together, errors).any())

    def overloaded_nodes(self, errors: float) -> Flags:
        """Return, (n,), which nodes have a mean load that many standard errors above capacity."""
        problem = self.problem
        known = problem.current != NOWHERE
        each = relative_loads(problem.series[known], problem.current[known], problem.capacity)
        return _is_above_one(each * self.share, errors)

    def loads(self, places: Ints) -> tuple[float, ...]:
        """Return the mean load of each node over its capacity under a plan, (m,); on a tree, the node's level."""
        if self.hierarchy is not None:
            node_of = dict(zip(self.problem.units, places.tolist(), strict=True))
            return self.hierarchy.levels(node_of, self.sizes)
        known = places != NOWHERE
        loads = np.bincount(places[known], self.problem.load[known], self.problem.n) / self.problem.capacity
        return tuple(float(round(load, 4)) for load in loads)

    def spread(self, places: Ints) -> float:
        """Return the largest difference between the relative mean loads of two open nodes under a plan, (m,)."""
        return spread(self.problem, places)


def _is_above_one(loads: Floats, errors: float) -> Flags:
    """Return which rows of relative loads, (any, h), have a mean that many standard errors above 1."""
    scatter = loads.std(axis=1) / np.sqrt(loads.shape[1])
    return np.asarray(loads.mean(axis=1) > 1 + errors * scatter)


def detect_change(context: ControlContext) -> ControlState:
    """Return the state; if the newest periods show a lasting change of rates or costs, the state records it."""
    network = context.deployment.network
    plan = context.deployment.plan
    names = unit_names(network)
    nodes = [plan.node_of.get(names[operator.name], NOWHERE) for operator in network.order]
    columns = columns_of(context.state.window, network)
    capacity = remaining_capacity(plan.nodes, context.settings, context.state)
    return context.state.detect_change(node_costs(columns, network, np.array(nodes, dtype=np.int64), capacity))


def view_of(context: ControlContext) -> View:
    """Return the view of the last periods: at most one window, and none from before the last change of load."""
    state = context.state
    deployment = context.deployment
    settings = context.settings
    network = deployment.network
    recent = Window(state.window.length, recent_periods(settings, state))
    profile = make_profile(network, list(_measurements(recent, state.window, network)))
    names = unit_names(network)
    factor = _cost_factors(context, recent)
    problem = problem_of(
        profile,
        remaining_capacity(deployment.plan.nodes, settings, state),
        series=measured_series(recent, profile, names, factor=factor),
        current=deployment.plan,
        state=_state_sizes(state.window, names),
        cut_costs=cut_costs(context, profile),
    )
    problem = divide_spread_joins(problem, recent, deployment.plan, network)
    usable = np.array([node not in deployment.closed for node in range(problem.n)])
    if deployment.open:
        # A problem in which every node is forbidden has no solution; then units stay, and the loop only watches.
        problem = replace(problem, allowed=np.tile(usable, (problem.m, 1)), pinned=_pinned(problem, context))
    tree = deployment.hierarchy
    found = modelled_capacity(deployment.plan.nodes, settings, state)
    share = 1.0 if found is None else found.share
    pace = pace_of(state)
    late = pace is not None and pace.is_late and pace.is_up_to_nodes
    return View(problem, profile, tree, () if tree is None else tree.sizes(state.window, network), share, late)


def _cost_factors(context: ControlContext, recent: Window) -> Floats | None:
    """Return, (operators,), the factors that `carryover_factors` finds; None without a recent change of load."""
    state = context.state
    network = context.deployment.network
    if not state.changed_recently(context.settings.window):
        return None
    # Periods before `known_from` belong to a load that was different again, so their costs do not count.
    first = state.known_from if state.known_from < state.last_change else 0
    known = tuple(period for period in state.window.periods if period.number >= first)
    return carryover_factors(columns_of(Window(state.window.length, known), network), network, len(recent.periods))


def _measurements(recent: Window, memory: Window, network: Network) -> Iterator[tuple[Origin, Statistics]]:
    """Yield what the recent periods show, then what older periods show of operators that were idle since."""
    measured = measured_in(recent, network)
    yield Origin.MEASURED, measured
    idle = {operator.name for operator in network.operators} - measured.operators.keys()
    if idle:
        periods = tuple(
            replace(period, samples={name: one for name, one in period.samples.items() if name in idle})
            for period in memory.periods
        )
        yield Origin.MEASURED, measured_in(Window(memory.length, periods), network)


def _state_sizes(window: Window, names: dict[str, str]) -> dict[str, float]:
    """Return the bytes of state of each unit, from the newest sample of each of its operators."""
    sizes: dict[str, float] = {}
    for operator, unit in names.items():
        newest = next((each for period in reversed(window.periods) if (each := period.samples.get(operator))), None)
        if newest is not None:
            # The newest sample, not the mean: a move has to carry what is there now.
            sizes[unit] = sizes.get(unit, 0.0) + newest.state_bytes
    return sizes


def _pinned(problem: PlacementProblem, context: ControlContext) -> Ints:
    """Return the pins, (m,); a pin to a missing or closed node has no effect until that node is open."""
    wanted = [context.settings.pins.get(unit, NOWHERE) for unit in problem.units]
    closed = context.deployment.closed
    usable = [node if node < problem.n and node not in closed else NOWHERE for node in wanted]
    return np.array(usable, dtype=np.int64)
