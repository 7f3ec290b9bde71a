"""Instances of spread joins: the operators that nodes run for them, and the changes of their shape.

Rule 1: an instance is a unit with a state, samples and a node of its own. The first has the join's name.
Rule 2: the plan has the live epochs, so a repeated batch distributes its rows as the first run did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.diffusion.balance import LEAST
from drover.diffusion.choose import Weights, cheapest, weights_by_row
from drover.diffusion.cost import Demand
from drover.diffusion.epochs import LEFT, RIGHT, START, Epochs, begin, instances, retire, splits_by_row
from drover.errors import START_ANEW, DroverError, nearest, shorten
from drover.flow.frames import FrameKind, FramePort
from drover.network.grid import AUTO, SPREAD_RULE, SPREAD_WAY_OUT, Epoch, Grid, Spread, SpreadLike, fits, spread_from
from drover.network.model import Network
from drover.network.operators import Join, Operator, Table
from drover.network.operators.base import Derived
from drover.network.schema import Schema
from drover.placement.plan import Instances, Plan, instance_name

SIDES: Final = ("left", "right")
SECOND: Final = 1_000_000  # microseconds
UNKNOWN: Final = Demand(1.0, 1.0, 1.0, 1.0)  # before the first measurement, both streams count as equally fast


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinInstance(Operator):
    """One instance of a spread join; it is one cell of the grid in every live epoch."""

    kind: ClassVar[str] = "join instance"

    join: Join
    number: int
    epochs: Epochs

    @property
    def ports(self) -> tuple[FramePort, FramePort]:
        """Where its rows arrive: left and right."""
        return (port_of(self.join, LEFT), port_of(self.join, RIGHT))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names under which it reads its rows, left and right; they are not streams of the network."""
        return tuple(port.reader for port in self.ports)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The stream of the join; each instance makes a part of it."""
        return (self.join.name,)

    @property
    def holds_state(self) -> bool:
        """Its windows are state."""
        return True

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return the schema of the join's stream."""
        return self.join.derive(inputs, tables)


def port_of(join: Join, side: int) -> FramePort:
    """Return the port for rows of one side of a spread join."""
    stream = join.inputs[side]
    # The reader also seeds the draws of rows. With other words here, a replayed batch would get other draws.
    return FramePort(FrameKind.JOIN_ROWS, stream, f"{stream}:{join.name}:{SIDES[side]}")


def whole_name(operator: Operator) -> str:
    """Return the operator's name in the network; for an instance, the name of its join."""
    return operator.join.name if isinstance(operator, JoinInstance) else operator.name


def spread_joins(network: Network) -> list[Join]:
    """Return the joins that may have several instances."""
    return [operator for operator in network.operators if isinstance(operator, Join) and operator.spread is not None]


def instances_of(join: Join, plan: Plan) -> Instances:
    """Return the instances of a join from the plan, or else from the network, on the nodes after the join's own."""
    if join.name in plan.instances:
        return plan.instances[join.name]
    if join.spread is None or join.spread == AUTO:
        return Instances(START)
    grid = join.spread if isinstance(join.spread, Grid) else cheapest(join.spread, UNKNOWN)
    return Instances((Epoch(0, grid, splits_by_row(grid)),), _nodes_after(plan, join.name, grid.cells))


def demand_at(join: Join, left: float, right: float) -> Demand:
    """Return the demand on a join at so many rows per second on either side."""
    return Demand(left, right, join.left_window / SECOND, join.right_window / SECOND)


def spread_of(join: Join, plan: Plan) -> Spread | None:
    """Return how a join should be spread: as requested by hand, or else as the network says."""
    asked = plan.instances[join.name].asked if join.name in plan.instances else None
    return join.spread if asked is None else asked


def explicit(plan: Plan, network: Network) -> Plan:
    """Return the same plan with the node of every instance, so that each can be moved alone.

    Without these, instances follow the first one whenever it moves.
    """
    joins = spread_joins(network)
    return replace(plan, instances={join.name: instances_of(join, plan) for join in joins})


def make_instances(join: Join, plan: Plan) -> list[tuple[JoinInstance, int]]:
    """Return the instances of a spread join, each with its node."""
    spread = instances_of(join, plan)
    return [
        (JoinInstance(name=instance_name(join.name, number), join=join, number=number, epochs=spread.epochs), node)
        for number, node in enumerate((plan.node_of[join.name], *spread.others))
    ]


def reshape(
    plan: Plan,
    join: Join,
    grid: Grid,
    nodes: Sequence[int] = (),
    weights: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Plan:
    """Return the next plan, with a join in another grid; `nodes` has the nodes of the new instances.

    Existing instances stay where they are. New ones without a node go to the nodes after the join's own.
    """
    before = instances_of(join, plan)
    epochs = begin(before.epochs, grid, by_row=splits_by_row(grid))
    count = instances(epochs)
    # Instances of older epochs stay until these expire, even if the new grid has fewer cells.
    others = (*before.others, *nodes[: count - 1 - len(before.others)])
    others += _nodes_after(plan, join.name, count)[len(others) :]
    rows, columns = weights
    after = replace(before, epochs=epochs, others=others[: count - 1], weights=(tuple(rows), tuple(columns)))
    return replace(plan, number=plan.number + 1, instances={**plan.instances, join.name: after})


def request_spread(
    plan: Plan,
    network: Network,
    name: str,
    spread: SpreadLike,
    demand: Demand = UNKNOWN,
    closed: Collection[int] = (),
) -> Plan:
    """Return the next plan, with a join spread as requested: a grid, a number of instances, or `auto`.

    For a number of instances, this chooses the cheapest grid for the demand. With `auto`, the shape stays until
    measurements call for another one. New instances go to the nodes after the join's own that are not `closed`; if all
    nodes are closed, they go there anyway.
    """
    wanted = parse_request(spread)
    before = explicit(plan, network)
    join = spread_join(network, name)
    present = before.instances[name].epochs[-1].grid
    if isinstance(wanted, Grid):
        grid = wanted
    else:
        grid = present if wanted in (AUTO, present.cells) else cheapest(int(wanted), demand)
    after = before
    if grid != present:
        order = [(before.node_of[name] + number) % before.nodes for number in range(1, before.nodes + 1)]
        # If every node is closed, the join has to run somewhere all the same.
        order = [node for node in order if node not in closed] or order
        have = len(before.instances[name].others) + 1
        after = reshape(before, join, grid, [order[(number - 1) % len(order)] for number in range(have, grid.cells)])
    after = with_requested_spread(after, name, wanted)
    # Reshaping and noting the request both count up; together they are one change of plan.
    return before if after.instances == before.instances else replace(after, number=before.number + 1)


def with_requested_spread(plan: Plan, name: str, spread: Spread) -> Plan:
    """Return the next plan, which notes how a join was requested to be spread."""
    requested = replace(plan.instances[name], asked=spread)
    return replace(plan, number=plan.number + 1, instances={**plan.instances, name: requested})


def with_weights(plan: Plan, name: str, weights: Weights) -> Plan:
    """Return the next plan, with other weights of a join's rows and columns.

    The rows of its windows stay where they are. Every row keeps the draw that it got when it arrived, so the pairs do
    not depend on weights.
    """
    weighted = replace(plan.instances[name], weights=weights)
    return replace(plan, number=plan.number + 1, instances={**plan.instances, name: weighted})


def parse_request(spread: SpreadLike) -> Spread:
    """Return a requested spread; DroverError if no join can be spread like that."""
    found = spread_from(spread)
    if not fits(found):
        raise DroverError(f"spread is {shorten(spread)}, but {SPREAD_RULE}. {SPREAD_WAY_OUT}")
    return found


def spread_join(network: Network, name: str) -> Join:
    """Return the join of that name; DroverError if it cannot be spread."""
    known = {join.name: join for join in spread_joins(network)}
    if name not in known:
        raise DroverError(
            f"{shorten(name)} is not a join that can be spread. {nearest(name, known)}"
            f"Known: {', '.join(known) or 'none'}. To spread another join, write spread: auto in the network, "
            f"and {START_ANEW}."
        )
    return known[name]


def retire_epochs(plan: Plan, network: Network, oldest: Mapping[str, int | None]) -> Plan:
    """Return the plan without expired epochs, or the plan itself if there are none; called after every batch.

    `oldest` has the least epoch of any row that the instances of a join hold, by join; None if they hold no rows.
    """
    changed = dict(plan.instances)
    for name, number in oldest.items():
        operator = network.operator(name)
        if name in changed and isinstance(operator, Join):
            spread = changed[name]
            epochs = retire(spread.epochs, number)
            changed[name] = replace(spread, epochs=epochs, others=spread.others[: instances(epochs) - 1])
    # This is called after every batch. A new number each time would look like a change of plan.
    return plan if changed == plan.instances else replace(plan, number=plan.number + 1, instances=changed)


def oldest_by_join(samples: Iterable[tuple[str, int | None]]) -> dict[str, int | None]:
    """Return the least epoch of any row that the instances of a join hold, by join; None if they hold no rows."""
    found: dict[str, int | None] = {}
    for join, oldest in samples:
        known = [number for number in (found.get(join), oldest) if number is not None]
        found[join] = min(known, default=None)
    return found


def obsolete_instances(units: Iterable[str], plan: Plan, network: Network) -> frozenset[str]:
    """Return the units with state that are instances which the plan no longer has.

    Their rows are copies for expired epochs, so the next commit can drop them.
    """
    joins = spread_joins(network)
    alive = {instance.name for join in joins for instance, _ in make_instances(join, plan)}
    # No operator's name has a bracket, so what is before it is the name of the join.
    spread = {join.name for join in joins}
    return frozenset(unit for unit in units if unit.partition("[")[0] in spread and unit not in alive)


def chosen_nodes(plan: Plan, join: Join, grid: Grid, free: Sequence[float]) -> tuple[tuple[int, ...], Weights]:
    """Return the node of each cell of a new grid, and the weights of its rows and columns.

    `free`, (n,), is what each node has free for the join. Existing instances stay. New ones go to the freest nodes
    without an instance.
    """
    used = (plan.node_of[join.name], *instances_of(join, plan).others)
    # Nodes with an instance come last: two instances on one node would share its capacity.
    order = sorted(range(plan.nodes), key=lambda node: (node in used, -free[node], node))
    nodes = (*used, *(order[number % len(order)] for number in range(grid.cells)))[: grid.cells]
    room = [free[node] for node in nodes]
    # Also an instance on a full node gets some rows. Otherwise nothing could be measured of it.
    least = LEAST * sum(room) / len(room)
    return nodes, weights_by_row([max(each, least) for each in room], grid)


def _nodes_after(plan: Plan, join: str, cells: int) -> tuple[int, ...]:
    return tuple((plan.node_of[join] + number) % plan.nodes for number in range(1, cells))
