"""What somebody asks for by hand, whatever the judge would say: a unit on another node, a join in another shape.

Rule 1: what is asked for becomes a proposal like those of the loop, so that it is carried out, written down and told
like them; before anything is measured there is none. Rule 2: what cannot be is refused first.
"""

from __future__ import annotations

from collections.abc import Callable

from drover.control.diffuse import demand_of, loads_after
from drover.control.record import Proposal, Reshape
from drover.control.settings import Control
from drover.control.state import State
from drover.control.view import World, look
from drover.diffusion.cost import Demand
from drover.errors import DroverError
from drover.flow.instances import UNKNOWN, ask, asked_of, spread_join
from drover.network.grid import AUTO, SpreadLike
from drover.placement.plan import Move, Plan, moves

Proposed = Callable[[State, World, Control], Proposal | None]  # what is asked for, and what comes of it


def demand_move(unit: str, node: int, world: World) -> None:
    """Refuse to move a unit that is not there, or to where it cannot be."""
    if world.hierarchy is not None and unit in world.plan.node_of:
        world.hierarchy.demand_move(unit, node, world.plan.node_of)
    world.plan.move(unit, node)
    if node in world.closed:
        raise DroverError(f"node {node} is lost or is being emptied, so {unit} cannot go there. Choose another node.")


def move_by_hand(unit: str, node: int, state: State, world: World, settings: Control) -> Proposal | None:
    """Return the proposal to move one unit; None if it is there, or if nothing was measured."""
    demand_move(unit, node, world)
    plan = world.plan
    if not state.window.periods or plan.places[unit] == node:
        return None
    problem = (view := look(state, world, settings)).problem
    j = problem.units.index(unit)
    places = problem.current.copy()
    places[j] = node
    move = Move(unit, plan.places[unit], node, float(problem.state[j]))
    return Proposal(
        f"m{plan.number}", state.period, plan.number, plan.nodes, (move,), "moved by hand", 0.0, state.price.of([move]),
        view.loads(problem.current), view.loads(places), (), view.measured,
    )  # fmt: skip


def spread_as(plan: Plan, join: str, spread: SpreadLike, state: State, world: World) -> Plan:
    """Return the plan with a join spread as somebody wishes; DroverError if it cannot be."""
    if world.hierarchy is not None:
        raise DroverError(
            f"join {join} is to be spread, but on a tree of nodes its instances would be where inputs do not pass. "
            "Run without a tree."
        )
    return ask(plan, world.network, join, spread, _given(join, state, world), world.closed)


def spread_by_hand(join: str, spread: SpreadLike, state: State, world: World, settings: Control) -> Proposal | None:
    """Return the proposal to spread a join; None if it is spread so, or if nothing was measured."""
    plan = world.plan
    after = spread_as(plan, join, spread, state, world)
    if not state.window.periods or after.number == plan.number:
        return None
    wanted, present = asked_of(spread), plan.instances[join].epochs[-1].grid
    grid = after.instances[join].epochs[-1].grid
    shape = Reshape(join, present, grid, asked=wanted)
    if wanted == AUTO:
        reason = f"left to the control loop by hand (auto), {grid} as it is"
    elif grid == present:
        reason = f"spread by hand ({wanted}), {grid} as it is"
    else:
        reason = f"spread by hand ({wanted}), {grid} instead of {present}"
    view = look(state, world, settings)
    made = moves(plan, after)
    nodes = (after.node_of[join], *after.instances[join].others)[: grid.cells]
    return Proposal(
        f"m{plan.number}", state.period, plan.number, plan.nodes, made, reason, 0.0, state.price.of(made),
        view.loads(view.problem.current), loads_after(shape, nodes, view, world, _given(join, state, world)),
        (), view.measured, shapes=(shape,),
    )  # fmt: skip


def _given(join: str, state: State, world: World) -> Demand:
    """Return what was measured to come to a join; both sides count as equal if nothing was."""
    if not state.window.periods:
        return UNKNOWN
    found = demand_of(spread_join(world.network, join), state.window.periods, world.network)
    return found if found.left_rate + found.right_rate > 0 else UNKNOWN
