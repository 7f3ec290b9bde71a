"""Instances: a join that is spread, as the operators that nodes run, and the changes of its shape.

Rule 1: an instance is a unit with a state, samples and a node of its own; the first has the join's name.
Rule 2: a plan says which epochs are live, so that a batch that is run again deals its rows the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from drover.diffusion.choose import cheapest, weights_of
from drover.diffusion.cost import Demand
from drover.diffusion.epochs import LEFT, RIGHT, START, Epochs, begin, instances, retire
from drover.errors import DroverError, nearest, shorten
from drover.network.grid import AUTO, SPREAD_RULE, SPREAD_WAY_OUT, Epoch, Grid, Spread, SpreadLike, fits, spread_from
from drover.network.model import Network
from drover.network.operators import Join, Operator, Table
from drover.network.operators.base import Derived
from drover.network.schema import Schema
from drover.placement.plan import Instances, Plan, instance_name

SIDES: Final = ("left", "right")
SECOND: Final = 1_000_000  # microseconds
Weights = tuple[tuple[float, ...], tuple[float, ...]]  # of rows and of columns
UNKNOWN: Final = Demand(1.0, 1.0, 1.0, 1.0)  # before anything is measured, both streams count as equally fast


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinInstance(Operator):
    """The cells that one instance of a join is in the grids of all live epochs."""

    kind: ClassVar[str] = "join instance"

    join: Join
    number: int
    epochs: Epochs

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ports at which its rows arrive, left and right; they are no streams of the network."""
        return (port_of(self.join, LEFT), port_of(self.join, RIGHT))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The stream of the join, of which it makes a part."""
        return (self.join.name,)

    @property
    def holds_state(self) -> bool:
        """Its windows are state."""
        return True

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        """Return what the join makes."""
        return self.join.derive(inputs, tables)


def port_of(join: Join, side: int) -> str:
    """Return the port for rows of one side of a spread join: begins with the stream, whose name has no colon."""
    return f"{join.inputs[side]}:{join.name}:{SIDES[side]}"


def whole_name(operator: Operator) -> str:
    """Return the name of the network's operator that this is, or is an instance of."""
    return operator.join.name if isinstance(operator, JoinInstance) else operator.name


def spread_joins(network: Network) -> list[Join]:
    """Return the joins that are spread, or may be."""
    return [operator for operator in network.operators if isinstance(operator, Join) and operator.spread is not None]


def instances_of(join: Join, plan: Plan) -> Instances:
    """Return how a join is spread: as the plan says, or else as the network does, on the nodes after the join's own."""
    if join.name in plan.instances:
        return plan.instances[join.name]
    if join.spread is None or join.spread == AUTO:
        return Instances(START)
    grid = join.spread if isinstance(join.spread, Grid) else cheapest(join.spread, UNKNOWN)
    return Instances((Epoch(0, grid),), _nodes_after(plan, join.name, grid.cells))


def demand_at(join: Join, left: float, right: float) -> Demand:
    """Return what a join is given if so many rows per second come on either side."""
    return Demand(left, right, join.left_window / SECOND, join.right_window / SECOND)


def spread_of(join: Join, plan: Plan) -> Spread | None:
    """Return how a join is to be spread: as somebody has asked, or else as the network says."""
    asked = plan.instances[join.name].asked if join.name in plan.instances else None
    return join.spread if asked is None else asked


def explicit(plan: Plan, network: Network) -> Plan:
    """Return the same plan, which says of every join that is spread where its instances are, so that they can be moved.

    Where a plan does not say it, instances follow the first one around.
    """
    joins = spread_joins(network)
    return replace(plan, instances={join.name: instances_of(join, plan) for join in joins})


def make_instances(join: Join, plan: Plan) -> list[tuple[JoinInstance, int]]:
    """Return the instances of a join that is spread, each with its node."""
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
    """Return the next plan, with a join in another grid; `nodes` are those of the instances that are new.

    What is known of nodes stays as it is, and what is not said is dealt out after the join's own node.
    """
    before = instances_of(join, plan)
    epochs = begin(before.epochs, grid)
    count = instances(epochs)
    others = (*before.others, *nodes[: count - 1 - len(before.others)])
    others += _nodes_after(plan, join.name, count)[len(others) :]
    rows, columns = weights
    after = replace(before, epochs=epochs, others=others[: count - 1], weights=(tuple(rows), tuple(columns)))
    return replace(plan, number=plan.number + 1, instances={**plan.instances, join.name: after})


def ask(
    plan: Plan,
    network: Network,
    name: str,
    spread: SpreadLike,
    demand: Demand = UNKNOWN,
    closed: Collection[int] = (),
) -> Plan:
    """Return the next plan, with a join spread as somebody wishes: a grid, so many instances, or (`auto`) as measured.

    A number of instances is put into the cheapest grid for what the join is given. With `auto` the shape stays as it is
    until measurements call for another one. New instances are dealt to the nodes after the join's own, but for `closed`
    ones, unless all are.
    """
    wanted, before = asked_of(spread), explicit(plan, network)
    join = spread_join(network, name)
    present = before.instances[name].epochs[-1].grid
    if isinstance(wanted, Grid):
        grid = wanted
    else:
        grid = present if wanted in (AUTO, present.cells) else cheapest(int(wanted), demand)
    after = before
    if grid != present:
        turn = [(before.node_of[name] + number) % before.nodes for number in range(1, before.nodes + 1)]
        turn = [node for node in turn if node not in closed] or turn
        have = len(before.instances[name].others) + 1
        after = reshape(before, join, grid, [turn[(number - 1) % len(turn)] for number in range(have, grid.cells)])
    after = as_asked(after, name, wanted)
    return before if after.instances == before.instances else replace(after, number=before.number + 1)


def as_asked(plan: Plan, name: str, spread: Spread) -> Plan:
    """Return the next plan, which says that somebody has asked for a join to be spread like that."""
    asked = replace(plan.instances[name], asked=spread)
    return replace(plan, number=plan.number + 1, instances={**plan.instances, name: asked})


def asked_of(spread: SpreadLike) -> Spread:
    """Return how a join is to be spread; DroverError if it cannot be."""
    found = spread_from(spread)
    if not fits(found):
        raise DroverError(f"spread is {shorten(spread)}, but {SPREAD_RULE}. {SPREAD_WAY_OUT}")
    return found


def spread_join(network: Network, name: str) -> Join:
    """Return the join of that name; DroverError if there is none that can be spread."""
    known = {join.name: join for join in spread_joins(network)}
    if name not in known:
        raise DroverError(
            f"{shorten(name)} is no join that can be spread. {nearest(name, known)}"
            f"Known: {', '.join(known) or 'none'}. To spread another join, write spread: auto in the network, "
            "and start with an empty checkpoint."
        )
    return known[name]


def settle_epochs(plan: Plan, network: Network, oldest: Mapping[str, int | None]) -> Plan:
    """Return the plan without epochs that are over, the same one if there are none; to be asked after every batch.

    `oldest` has, by join, the least epoch of any row that an instance keeps; None if they keep none.
    """
    changed = dict(plan.instances)
    for name, number in oldest.items():
        operator = network.operator(name)
        if name in changed and isinstance(operator, Join):
            spread = changed[name]
            epochs = retire(spread.epochs, number)
            changed[name] = replace(spread, epochs=epochs, others=spread.others[: instances(epochs) - 1])
    return plan if changed == plan.instances else replace(plan, number=plan.number + 1, instances=changed)


def oldest_by_join(samples: Iterable[tuple[str, int | None]]) -> dict[str, int | None]:
    """Return, by join, the least epoch among what its instances told; None if they keep no rows."""
    found: dict[str, int | None] = {}
    for join, oldest in samples:
        known = [number for number in (found.get(join), oldest) if number is not None]
        found[join] = min(known, default=None)
    return found


def leftovers(units: Iterable[str], plan: Plan, network: Network) -> frozenset[str]:
    """Return which of the units that have a state are instances that the plan has no more.

    What they keep are copies, made for epochs that are over: nobody misses them, and the next commit can drop them.
    """
    joins = spread_joins(network)
    alive = {instance.name for join in joins for instance, _ in make_instances(join, plan)}
    spread = {join.name for join in joins}
    return frozenset(unit for unit in units if unit.partition("[")[0] in spread and unit not in alive)


def chosen_nodes(plan: Plan, join: Join, grid: Grid, free: Sequence[float]) -> tuple[tuple[int, ...], Weights]:
    """Return the node of each cell of a new grid, and weights by what nodes have for the join, (n,).

    Instances that are there stay; for others the freest nodes are taken that have none yet.
    """
    used = (plan.node_of[join.name], *instances_of(join, plan).others)
    order = sorted(range(plan.nodes), key=lambda node: (node in used, -free[node], node))
    nodes = (*used, *(order[number % len(order)] for number in range(grid.cells)))[: grid.cells]
    rows, columns = weights_of([free[node] for node in nodes], grid)
    return nodes, (tuple(rows.tolist()), tuple(columns.tolist()))


def _nodes_after(plan: Plan, join: str, cells: int) -> tuple[int, ...]:
    return tuple((plan.node_of[join] + number) % plan.nodes for number in range(1, cells))
