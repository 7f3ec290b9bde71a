"""Joins that need more than one node: when the loop spreads one over more nodes, over fewer, or in another grid.

Rule 1: this is a function of measurements. A reshape is carried out, or waits to be applied, just like moves.
Rule 2: a join grows when its load is surely above one limit and shrinks when it is surely below another. The two limits
are far apart. After a change a join rests, and it keeps its shape while its windows hold rows of the former shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.context import ControlContext
from drover.control.join_memory import memory_reason, room_for, shape_that_fits
from drover.control.outcome import make_proposal
from drover.control.record import Proposal, Reshape
from drover.control.view import View
from drover.diffusion.choose import JoinCosts, carried, cheapest, pays, size
from drover.diffusion.cost import Demand, overhead, received
from drover.flow.instances import chosen_nodes, demand_at, spread_join, spread_joins, spread_of
from drover.load.arrays import Floats
from drover.load.window import Period
from drover.network.grid import AUTO, Grid, Spread
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Move, Plan, instance_name

FULL: Final = 0.6  # share of the nodes' capacity for a join; below an overload, because batches wait for the slowest
SPARE: Final = 0.3  # half of FULL: a join that has shrunk would have to double before it grows again
WORTH: Final = 1.1  # factor by which more nodes must carry more of the load, if no number of nodes carries all of it
BETTER: Final = 0.25  # share of the copied rows that another grid with as many cells must save
ENOUGH: Final = 3  # periods that a decision needs, or a window if that is shorter
RECEIVE: Final = 2e-7  # busy seconds per row without partners, as measured


@dataclass(frozen=True, slots=True)
class JoinLoad:
    """The input of a join, and the load it causes."""

    demand: Demand
    load: float  # busy seconds per second of all instances together
    error: float = 0.0  # standard error of the load


def shape_for(
    spread: Spread,
    present: Grid,
    measured: JoinLoad,
    free: Sequence[float] | Floats,
    payback: float,
    certainty: float = 0.0,
) -> Grid:
    """Return the grid that a join should have; the present one if none is clearly better.

    `free`, (n,), is the capacity that each node has for the join, its present share included, in busy seconds per
    second. `certainty` is how many standard errors the load must be beyond a limit. A join with a fixed number of
    instances keeps that number, and a join with a fixed grid keeps the grid.
    """
    if isinstance(spread, Grid):
        return present
    demand = measured.demand
    if spread == AUTO:
        room = np.sort(np.asarray(free, dtype=np.float64))[::-1]
        # The low estimate of the load decides about growing and the high one about shrinking. Otherwise, noise would
        # make a join near a limit change its shape again and again.
        at_least = costs_of(max(measured.load - certainty * measured.error, 0.0), demand, present)
        more = size(demand, at_least, room, fill=FULL)
        # Nodes that carry hardly more of the load would only add copies of rows.
        had = carried(present, demand, at_least, FULL * float(room[: present.cells].sum()))
        if more.nodes > present.cells and more.carried >= WORTH * had:
            return more.grid
        at_most = costs_of(measured.load + certainty * measured.error, demand, present)
        fewer = size(demand, at_most, room, fill=SPARE)
        if fewer.carried == 1.0 and fewer.nodes < present.cells:
            return fewer.grid
    # The number of instances is right, but rates may have changed since the grid was chosen.
    best = cheapest(present.cells, demand)
    saves = overhead(best, demand) < (1 - BETTER) * overhead(present, demand)
    return best if saves and pays(present, best, demand, payback) else present


def costs_of(load: float, demand: Demand, grid: Grid) -> JoinCosts:
    """Return the cost of a row and of a pair, given the load of a join in that grid.

    One load cannot separate the two. Receiving a row costs about the same in every join, so RECEIVE is assumed, but at
    most half of the load. The rest is the cost of pairs, which cells share whatever the predicate is.
    """
    rows = received(grid, demand)
    if rows == 0 or demand.operations == 0:
        return JoinCosts(load / rows if rows else 0.0, 0.0)
    receive = min(RECEIVE, load / (2 * rows))
    return JoinCosts(receive, (load - rows * receive) / demand.operations)


def propose_reshape(context: ControlContext, view: View) -> Proposal | None:
    """Return the proposal to reshape a join, the heaviest first; None if all joins have the right shape."""
    state = context.state
    plan = context.deployment.plan
    if not state.placed and len(state.window.periods) < context.settings.warm_up:
        return None
    for join in sorted(_ready(context), key=lambda each: -float(_series(view, plan, each).mean())):
        if (found := _propose_shape(context, view, join)) is not None:
            return found
    return None


def why_obsolete(context: ControlContext, view: View, proposal: Proposal) -> str | None:
    """Return why a proposal to reshape joins no longer holds, or None if it does."""
    for shape in proposal.shapes:
        join = next((each for each in spread_joins(context.deployment.network) if each.name == shape.join), None)
        found = None if join is None else _propose_shape(context, view, join)
        # Work it out again: the load may have changed while the proposal waited.
        if found is None or found.shapes[0].after != shape.after:
            return f"the load no longer calls for {shape}"
    return None


def _ready(context: ControlContext) -> Iterator[Join]:
    """Yield the joins whose shape may change now."""
    resting = context.state.resting(context.settings.cool_down)
    for join in spread_joins(context.deployment.network):
        spread = context.deployment.plan.instances.get(join.name)
        # While an older shape has rows in a window, rows go to both shapes. A third shape would add to these copies.
        if spread is not None and len(spread.epochs) == 1 and join.name not in resting:
            yield join


def _periods(context: ControlContext) -> list[Period]:
    state = context.state
    return [period for period in state.window.periods if period.number >= state.last_change][-context.settings.window :]


def _series(view: View, plan: Plan, join: Join) -> Floats:
    """Return the load of all instances of a join together, (h,)."""
    return np.asarray(view.problem.series[_units(view, plan, join)].sum(axis=0))


def _other_load(view: View, plan: Plan, join: Join) -> Floats:
    """Return the load of each node without the join, (n,) busy seconds per second."""
    others = view.problem.load.copy()
    others[_units(view, plan, join)] = 0.0
    return np.bincount(view.problem.current, others, view.problem.n).astype(np.float64)


def _units(view: View, plan: Plan, join: Join) -> list[int]:
    names = {instance_name(join.name, k) for k in range(1 + len(plan.instances[join.name].others))}
    return [j for j, unit in enumerate(view.problem.units) if unit in names]


def _propose_shape(context: ControlContext, view: View, join: Join) -> Proposal | None:
    """Return the proposal to give a join another shape, or None if it keeps its own."""
    plan = context.deployment.plan
    settings = context.settings
    problem = view.problem
    periods = _periods(context)
    if len(periods) < min(settings.window, ENOUGH):
        return None
    series = _series(view, plan, join)
    demand = demand_of(join, periods, context.deployment.network)
    measured = JoinLoad(demand, float(series.mean()), float(series.std()) / len(series) ** 0.5)
    loads = _other_load(view, plan, join)
    closed = np.isin(np.arange(problem.n), list(context.deployment.closed))
    free = np.where(closed, 0.0, np.maximum(problem.capacity - loads, 0.0))
    present = plan.instances[join.name].epochs[-1].grid
    spread = spread_of(join, plan) or present
    quick = shape_for(spread, present, measured, free, settings.payback, settings.certainty)
    units = np.array(_units(view, plan, join))
    room = room_for(view, units, present, demand, settings.memory, context.deployment.closed)
    wanted = shape_that_fits(quick, spread, present, demand, room)
    if wanted == present:
        return None
    # A node that cannot hold the windows of an instance comes last, as if it had nothing free.
    nodes, weights = chosen_nodes(plan, join, wanted, np.where(room.nodes(wanted, demand), free, 0.0).tolist())
    shape = Reshape(join.name, present, wanted, weights)
    # These moves carry no state: a new instance starts empty.
    moves = [Move(instance_name(join.name, k), None, nodes[k]) for k in range(present.cells, wanted.cells)]
    reason = (
        reason_for(shape, measured, [float(free[node]) for node in nodes], nodes)
        if wanted == quick
        else memory_reason(join.name, present, wanted, demand, room)
    )
    after = _loads_after(loads, problem.capacity, shape, nodes, measured)
    gain = max(view.loads(problem.current)) - max(after)
    return make_proposal(context, view, moves, reason, after, gain=gain, shapes=(shape,))


def demand_of(join: Join, periods: Sequence[Period], network: Network) -> Demand:
    """Return the mean rates of both sides of a join in these periods, and its windows."""
    makers = {stream: operator.name for operator in network.operators for stream in operator.outputs}
    seconds = sum(period.seconds for period in periods)

    def rate(stream: str) -> float:
        if stream not in makers:
            return sum(period.sources.get(stream, 0.0) for period in periods) / seconds
        made = (period.samples.get(makers[stream]) for period in periods)
        return sum(sample.rows_out.get(stream, 0.0) for sample in made if sample is not None) / seconds

    return demand_at(join, rate(join.left), rate(join.right))


def loads_after(
    shape: Reshape, nodes: Sequence[int], context: ControlContext, view: View, demand: Demand
) -> tuple[float, ...]:
    """Return the load of each node over its capacity if a join gets another shape with its cells on these nodes."""
    plan = context.deployment.plan
    join = spread_join(context.deployment.network, shape.join)
    measured = JoinLoad(demand, float(_series(view, plan, join).mean()))
    return _loads_after(_other_load(view, plan, join), view.problem.capacity, shape, nodes, measured)


def _loads_after(
    loads: Floats, capacity: Floats, shape: Reshape, nodes: Sequence[int], measured: JoinLoad
) -> tuple[float, ...]:
    """Return the load of each node over its capacity; `loads`, (n,), are the loads without the join."""
    costs = costs_of(measured.load, measured.demand, shape.before)
    work = measured.demand.operations * costs.pair + received(shape.after, measured.demand) * costs.receive
    rows, columns = (
        np.array(each) if sum(each) else np.ones(parts) for each, parts in zip(shape.weights, shape.after, strict=True)
    )
    shares = np.outer(rows / rows.sum(), columns / columns.sum()).ravel()  # (cells,)
    found = (loads + np.bincount(nodes, work * shares, len(loads))) / capacity
    return tuple(float(round(load, 4)) for load in found)


def reason_for(shape: Reshape, measured: JoinLoad, free: Sequence[float], nodes: Sequence[int]) -> str:
    """Return in words why a join changes its shape; `free` is the capacity that each of its `nodes` has for it."""
    name = shape.join
    before = shape.before
    after = shape.after
    demand = measured.demand
    takes = f"join {name} takes {measured.load:.3g} busy seconds per second"
    where = f"on nodes {', '.join(map(str, nodes))}"
    if after.cells > before.cells:
        room = sum(free[: before.cells])
        return (
            f"{takes}, more than {FULL:.0%} of the {room:.3g} that its nodes have for it: "
            f"it is spread {after} instead of {before}, {where}"
        )
    if after.cells < before.cells:
        return (
            f"{takes}, less than {SPARE:.0%} of the {sum(free):.3g} that fewer nodes have for it: "
            f"it is spread {after} instead of {before}, {where}"
        )
    return (
        f"join {name} gets {demand.left_rate:.3g} and {demand.right_rate:.3g} rows per second: {after} copies "
        f"{overhead(after, demand):.3g} of them, {before} copies {overhead(before, demand):.3g}"
    )
