"""Joins that take more than a node has: when the loop spreads one over more nodes, over fewer, or in another grid.

Rule 1: a function of what was measured; what it proposes is carried out, or waits to be, as moves are.
Rule 2: a join grows when its load is surely above one limit and shrinks when it is surely below another, which is far
from the first; after a change it rests, and it keeps its shape while windows hold rows of the shape before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from drover.control.record import Proposal, Reshape
from drover.control.settings import Control
from drover.control.state import State
from drover.control.view import View, World
from drover.diffusion.choose import Costs, carried, cheapest, pays, size
from drover.diffusion.cost import Demand, overhead, received
from drover.flow.instances import chosen_nodes, demand_at, spread_join, spread_joins, spread_of
from drover.load.arrays import Floats
from drover.load.window import Period
from drover.network.grid import AUTO, Grid, Spread
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Move, instance_name

FULL: Final = 0.6  # of what nodes have for a join; batches wait for the slowest node, so this is below an overload
SPARE: Final = 0.3  # half of it: a join that has shrunk would have to double to grow again
WORTH: Final = 1.1  # times as much has to be carried by more nodes if none of them carry all
BETTER: Final = 0.25  # of the copies that another grid of as many cells has to save
TELLING: Final = 3  # periods, or as many as a window has
RECEIVE: Final = 2e-7  # busy seconds that an instance takes for a row without partners, as measured


@dataclass(frozen=True, slots=True)
class Burden:
    """What a join is given, and what it takes."""

    demand: Demand
    load: float  # busy seconds per second of all instances together
    error: float = 0.0  # its standard error


def shape_for(
    spread: Spread,
    present: Grid,
    burden: Burden,
    free: Sequence[float] | Floats,
    payback: float,
    certainty: float = 0.0,
) -> Grid:
    """Return the grid that a join should have; the present one if none is clearly better.

    `free` is what each node has for it, (n,) busy seconds per second, its own share included; `certainty` is how many
    standard errors the load has to be above or below a limit. A join that is to have so many instances keeps their
    number, and one that is to have a grid keeps it.
    """
    if isinstance(spread, Grid):
        return present
    demand = burden.demand
    if spread == AUTO:
        room = np.sort(np.asarray(free, dtype=np.float64))[::-1]
        surely = costs_of(max(burden.load - certainty * burden.error, 0.0), demand, present)
        more = size(demand, surely, room, fill=FULL)
        had = carried(present, demand, surely, FULL * float(room[: present.cells].sum()))
        if more.nodes > present.cells and more.carried >= WORTH * had:
            return more.grid
        at_most = costs_of(burden.load + certainty * burden.error, demand, present)
        fewer = size(demand, at_most, room, fill=SPARE)
        if fewer.carried == 1.0 and fewer.nodes < present.cells:
            return fewer.grid
    best = cheapest(present.cells, demand)
    saves = overhead(best, demand) < (1 - BETTER) * overhead(present, demand)
    return best if saves and pays(present, best, demand, payback) else present


def costs_of(load: float, demand: Demand, grid: Grid) -> Costs:
    """Return what rows and pairs cost if a join in that grid takes so much.

    Both are not told apart by one load. Receiving a row costs about the same in every join, and what is left is of
    pairs, which are divided among cells whatever the predicate is; receiving is never more than half.
    """
    rows = received(grid, demand)
    if rows == 0 or demand.operations == 0:
        return Costs(load / rows if rows else 0.0, 0.0)
    receive = min(RECEIVE, load / (2 * rows))
    return Costs(receive, (load - rows * receive) / demand.operations)


def diffuse(state: State, world: World, settings: Control, view: View) -> Proposal | None:
    """Return the proposal to change the shape of a join, the heaviest first; None if all are as they should be."""
    if not state.placed and len(state.window.periods) < settings.warm_up:
        return None
    for join in sorted(_ready(state, world, settings), key=lambda each: -float(_series(view, world, each).mean())):
        if (found := _wanted(state, world, settings, view, join)) is not None:
            return found
    return None


def no_longer(state: State, world: World, settings: Control, view: View, proposal: Proposal) -> str | None:
    """Return in words why a proposal to change shapes does not hold any more, or None."""
    for shape in proposal.shapes:
        join = next((each for each in spread_joins(world.network) if each.name == shape.join), None)
        found = None if join is None else _wanted(state, world, settings, view, join)
        if found is None or found.shapes[0].after != shape.after:
            return f"the load does not call for {shape} any more"
    return None


def _ready(state: State, world: World, settings: Control) -> Iterator[Join]:
    """Yield the joins whose shape may change now."""
    resting = state.resting(settings.cool_down)
    for join in spread_joins(world.network):
        spread = world.plan.instances.get(join.name)
        if spread is not None and len(spread.epochs) == 1 and join.name not in resting:
            yield join


def _periods(state: State, settings: Control) -> list[Period]:
    return [period for period in state.window.periods if period.number >= state.since][-settings.window :]


def _series(view: View, world: World, join: Join) -> Floats:
    """Return the load of all instances of a join together, (h,)."""
    return np.asarray(view.problem.series[_units(view, world, join)].sum(axis=0))


def _elsewhere(view: View, world: World, join: Join) -> Floats:
    """Return what each node does besides a join, (n,) busy seconds per second."""
    others = view.problem.load.copy()
    others[_units(view, world, join)] = 0.0
    return np.bincount(view.problem.current, others, view.problem.n).astype(np.float64)


def _units(view: View, world: World, join: Join) -> list[int]:
    names = {instance_name(join.name, k) for k in range(1 + len(world.plan.instances[join.name].others))}
    return [j for j, unit in enumerate(view.problem.units) if unit in names]


def _wanted(state: State, world: World, settings: Control, view: View, join: Join) -> Proposal | None:
    """Return the proposal to give a join another shape, or None."""
    periods = _periods(state, settings)
    if len(periods) < min(settings.window, TELLING):
        return None
    series, problem = _series(view, world, join), view.problem
    burden = Burden(
        demand_of(join, periods, world.network), float(series.mean()), float(series.std()) / len(series) ** 0.5
    )
    loads = _elsewhere(view, world, join)
    closed = np.isin(np.arange(problem.n), list(world.closed))
    free = np.where(closed, 0.0, np.maximum(problem.capacity - loads, 0.0))
    present = world.plan.instances[join.name].epochs[-1].grid
    spread = spread_of(join, world.plan) or present
    wanted = shape_for(spread, present, burden, free, settings.payback, settings.certainty)
    if wanted == present:
        return None
    nodes, weights = chosen_nodes(world.plan, join, wanted, free.tolist())
    shape = Reshape(join.name, present, wanted, weights)
    moves = tuple(
        Move(instance_name(join.name, k), None, nodes[k]) for k in range(present.cells, wanted.cells)
    )  # of its state nothing is moved: a new instance begins empty
    before = view.loads(problem.current)
    after = _after(loads, problem.capacity, shape, nodes, burden)
    reason = reason_for(shape, burden, [float(free[node]) for node in nodes], nodes)
    return Proposal(
        f"p{state.period}", state.period, world.plan.number, world.plan.nodes, moves, reason,
        max(before) - max(after), state.price.of(moves), before, after, (), view.measured, shapes=(shape,),
    )  # fmt: skip


def demand_of(join: Join, periods: Sequence[Period], network: Network) -> Demand:
    """Return the mean rates of both sides in these periods, and the windows."""
    makers = {stream: operator.name for operator in network.operators for stream in operator.outputs}
    seconds = sum(period.seconds for period in periods)

    def rate(stream: str) -> float:
        if stream not in makers:
            return sum(period.sources.get(stream, 0.0) for period in periods) / seconds
        made = (period.samples.get(makers[stream]) for period in periods)
        return sum(sample.rows_out.get(stream, 0.0) for sample in made if sample is not None) / seconds

    return demand_at(join, rate(join.left), rate(join.right))


def loads_after(shape: Reshape, nodes: Sequence[int], view: View, world: World, demand: Demand) -> tuple[float, ...]:
    """Return the load of each node over its capacity if a join gets another shape, with its cells on these nodes."""
    join = spread_join(world.network, shape.join)
    burden = Burden(demand, float(_series(view, world, join).mean()))
    return _after(_elsewhere(view, world, join), view.problem.capacity, shape, nodes, burden)


def _after(loads: Floats, capacity: Floats, shape: Reshape, nodes: Sequence[int], burden: Burden) -> tuple[float, ...]:
    """Return the load of each node over its capacity once a join has its new shape."""
    costs = costs_of(burden.load, burden.demand, shape.before)
    work = burden.demand.operations * costs.pair + received(shape.after, burden.demand) * costs.receive
    rows, columns = (
        np.array(each) if sum(each) else np.ones(parts) for each, parts in zip(shape.weights, shape.after, strict=True)
    )
    shares = np.outer(rows / rows.sum(), columns / columns.sum()).ravel()  # (cells,)
    found = (loads + np.bincount(nodes, work * shares, len(loads))) / capacity
    return tuple(float(round(load, 4)) for load in found)


def reason_for(shape: Reshape, burden: Burden, free: Sequence[float], nodes: Sequence[int]) -> str:
    """Return in words why a join changes its shape; `free` is what each of its `nodes` has for it."""
    name, before, after, demand = shape.join, shape.before, shape.after, burden.demand
    takes = f"join {name} takes {burden.load:.3g} busy seconds per second"
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
