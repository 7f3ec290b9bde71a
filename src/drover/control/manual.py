"""Changes that you make by hand: a unit on another node, a join in another shape. The judge is not asked.

Rule 1: a manual change becomes a proposal like those of the loop, so it is carried out and recorded in the same way.
Before anything was measured there is no proposal. Rule 2: an impossible change is refused first.
"""

from __future__ import annotations

from collections.abc import Callable

from drover.control.context import ControlContext, Deployment
from drover.control.diffuse import demand_of, loads_after
from drover.control.outcome import make_proposal
from drover.control.record import Proposal, Reshape
from drover.control.view import view_of
from drover.diffusion.cost import Demand
from drover.errors import DroverError
from drover.flow.instances import UNKNOWN, parse_request, request_spread, spread_join
from drover.network.grid import AUTO, SpreadLike
from drover.placement.plan import Move, Plan, moves

ManualChange = Callable[[ControlContext], Proposal | None]


def check_move(unit: str, node: int, deployment: Deployment) -> None:
    """Raise DroverError if the unit does not exist, or cannot be on that node."""
    plan = deployment.plan
    if deployment.hierarchy is not None and unit in plan.node_of:
        deployment.hierarchy.check_move(unit, node, plan.node_of)
    # Called for its checks: it refuses an unknown unit or node.
    plan.move(unit, node)
    if node in deployment.closed:
        raise DroverError(f"node {node} is lost or drained, so {unit} cannot go there. Choose another node.")


def propose_manual_move(unit: str, node: int, context: ControlContext) -> Proposal | None:
    """Return the proposal to move one unit; None if it is already there, or if nothing was measured."""
    plan = context.deployment.plan
    check_move(unit, node, context.deployment)
    if not context.state.window.periods or plan.places[unit] == node:
        return None
    view = view_of(context)
    problem = view.problem
    j = problem.units.index(unit)
    places = problem.current.copy()
    places[j] = node
    move = Move(unit, plan.places[unit], node, float(problem.state[j]))
    return make_proposal(context, view, [move], "moved by hand", view.loads(places), id=f"m{plan.number}")


def spread_join_as(plan: Plan, join: str, spread: SpreadLike, context: ControlContext) -> Plan:
    """Return the plan with a join spread as given; DroverError if that is impossible."""
    deployment = context.deployment
    if deployment.hierarchy is not None:
        raise DroverError(
            f"join {join} cannot be spread on a tree of nodes: its instances would be where inputs do not pass. "
            "Run without a tree."
        )
    return request_spread(plan, deployment.network, join, spread, _measured_demand(join, context), deployment.closed)


def propose_manual_spread(join: str, spread: SpreadLike, context: ControlContext) -> Proposal | None:
    """Return the proposal to spread a join; None if it is already spread so, or if nothing was measured."""
    plan = context.deployment.plan
    after = spread_join_as(plan, join, spread, context)
    if not context.state.window.periods or after.number == plan.number:
        return None
    wanted = parse_request(spread)
    present = plan.instances[join].epochs[-1].grid
    grid = after.instances[join].epochs[-1].grid
    shape = Reshape(join, present, grid, asked=wanted)
    if wanted == AUTO:
        reason = f"left to the control loop by hand (auto), {grid} as it is"
    elif grid == present:
        reason = f"spread by hand ({wanted}), {grid} as it is"
    else:
        reason = f"spread by hand ({wanted}), {grid} instead of {present}"
    view = view_of(context)
    nodes = (after.node_of[join], *after.instances[join].others)[: grid.cells]
    loads = loads_after(shape, nodes, context, view, _measured_demand(join, context))
    return make_proposal(context, view, moves(plan, after), reason, loads, id=f"m{plan.number}", shapes=(shape,))


def _measured_demand(join: str, context: ControlContext) -> Demand:
    """Return the measured input of a join; without measurements, both sides count as equal."""
    periods = context.state.window.periods
    if not periods:
        return UNKNOWN
    network = context.deployment.network
    found = demand_of(spread_join(network, join), periods, network)
    return found if found.left_rate + found.right_rate > 0 else UNKNOWN
