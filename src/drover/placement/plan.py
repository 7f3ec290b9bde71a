"""Plans: which node runs which unit.

Rule 1: this module does not know how a plan was found. Rule 2: a plan is immutable; every change returns a new one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from drover.errors import DroverError
from drover.network.grid import Epoch, Spread
from drover.network.model import Network
from drover.network.operators import Operator


@dataclass(frozen=True, slots=True)
class Instances:
    """How the pairs of a join are spread: its live epochs, oldest first, and the nodes of its instances.

    Instance 0 is on the node of the join itself; `others` has the nodes of instances 1, 2, and so on. `weights` are
    those of the rows and columns of the current grid, by which streams are split; empty weights are equal. If each row
    of the grid has columns of its own, there is a weight for every cell instead of one for every column. `asked` is the
    spread that a user requested instead of the one in the network.
    """

    epochs: tuple[Epoch, ...]
    others: tuple[int, ...] = ()
    weights: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    asked: Spread | None = None

    def __post_init__(self) -> None:
        """Refuse instances without a node."""
        cells = max((epoch.grid.cells for epoch in self.epochs), default=0)
        if not cells or len(self.others) + 1 != cells:
            raise DroverError(
                f"there are nodes for {len(self.others) + 1} instances, but the largest live grid has {cells} cells. "
                "Set one node for each instance but the first."
            )


def instance_name(join: str, number: int) -> str:
    """Return the unit name of an instance of a join: the first instance has the name of the join."""
    return f"{join}[{number}]" if number else join


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan `number` for nodes 0 to nodes - 1; `node_of` has every unit of its network.

    `instances` has the joins that are spread over nodes otherwise than the network says.
    """

    number: int
    nodes: int
    node_of: Mapping[str, int]
    instances: Mapping[str, Instances] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Freeze the mappings; refuse nodes that do not exist."""
        if self.nodes < 1:
            raise DroverError(f"nodes is {self.nodes}, but a plan has at least one node. Use 1 or more.")
        for unit, node in (*self.node_of.items(), *self._others()):
            if not 0 <= node < self.nodes:
                raise DroverError(
                    f"unit {unit!r} is on node {node}, but the nodes are 0 to {self.nodes - 1}. Move it, or add nodes."
                )
        # Copies, so that a caller who keeps the dictionary cannot change the plan.
        object.__setattr__(self, "node_of", MappingProxyType(dict(self.node_of)))
        object.__setattr__(self, "instances", MappingProxyType(dict(self.instances)))

    def __reduce__(self) -> tuple[type[Plan], tuple[int, int, dict[str, int], dict[str, Instances]]]:
        """Pickle the mappings as dictionaries, because a MappingProxyType cannot be pickled."""
        return (Plan, (self.number, self.nodes, dict(self.node_of), dict(self.instances)))

    def _others(self) -> Iterator[tuple[str, int]]:
        """Yield all instances of joins but the first, with their nodes."""
        for join, spread in self.instances.items():
            yield from ((instance_name(join, index + 1), node) for index, node in enumerate(spread.others))

    @property
    def places(self) -> dict[str, int]:
        """The node of every unit, including instances of joins."""
        return {**self.node_of, **dict(self._others())}

    def move(self, unit: str, node: int) -> Plan:
        """Return the next plan, with `unit`, which may be an instance of a join, on `node`."""
        places = self.places
        if unit not in places:
            raise DroverError(f"there is no unit {unit!r} in plan {self.number}. Units: {', '.join(places)}.")
        return self.placed({**places, unit: node})

    def placed(self, places: Mapping[str, int]) -> Plan:
        """Return the next plan, with all units, including instances of joins, on these nodes."""
        return self._with(self.nodes, places)

    def _with(self, nodes: int, places: Mapping[str, int]) -> Plan:
        """Return the next plan for this number of nodes, with every unit in its place."""
        names = {
            join: [instance_name(join, index + 1) for index in range(len(spread.others))]
            for join, spread in self.instances.items()
        }
        others = {unit for units in names.values() for unit in units}
        instances = {
            join: replace(spread, others=tuple(places[unit] for unit in names[join]))
            for join, spread in self.instances.items()
        }
        node_of = {unit: node for unit, node in places.items() if unit not in others}
        return Plan(self.number + 1, nodes, node_of, instances)

    def scale(self, nodes: int) -> Plan:
        """Return the next plan for another number of nodes; units of removed nodes are distributed in turn."""
        if nodes < 1:
            raise DroverError(f"nodes is {nodes}, but a plan has at least one node. Use 1 or more.")
        places = self.places
        # Only the units of removed nodes move: every other move would cost state.
        orphaned = [unit for unit, node in places.items() if node >= nodes]
        dealt = {unit: index % nodes for index, unit in enumerate(orphaned)}
        return self._with(nodes, {**places, **dealt})


@dataclass(frozen=True, slots=True)
class Move:
    """A unit that changes its node, and the bytes of state that move with it; `source` is None for a new unit."""

    unit: str
    source: int | None
    target: int
    bytes: float = 0.0

    def __str__(self) -> str:
        start = "new" if self.source is None else f"node {self.source}"
        return f"{self.unit}: {start} -> node {self.target}"


def moves(before: Plan, after: Plan, state: Mapping[str, float] | None = None) -> tuple[Move, ...]:
    """Return the moves from one plan to another, in the order of the units; `state` has bytes by unit."""
    sizes = state or {}
    were = before.places
    return tuple(
        Move(unit, were.get(unit), node, sizes.get(unit, 0.0) if unit in were else 0.0)
        for unit, node in after.places.items()
        if were.get(unit) != node
    )


def apply(plan: Plan, changes: Iterable[Move]) -> Plan:
    """Return the next plan with these moves applied; a move must start where its unit is."""
    places = plan.places
    for move in changes:
        # The plan may have changed since the moves were computed.
        if places.get(move.unit) != move.source:
            raise DroverError(
                f"the move {move} starts on node {move.source}, but plan {plan.number} has the unit on "
                f"{places.get(move.unit)}. Compute the moves again from this plan."
            )
        places[move.unit] = move.target
    return plan.placed(places)


def unit_of(operator: Operator) -> str:
    """Return the name of an operator's unit: its own name, or that of its table."""
    return operator.name if operator.table is None else f"table:{operator.table}"


def units_of(network: Network) -> tuple[str, ...]:
    """Return the names of a network's units, in the order of their first operators."""
    return tuple(dict.fromkeys(unit_of(operator) for operator in network.operators))


def round_robin(network: Network, nodes: int) -> Plan:
    """Return the plan that assigns the units to the nodes in turn."""
    return Plan(1, nodes, {unit: index % max(nodes, 1) for index, unit in enumerate(units_of(network))})


def by_hash(network: Network, nodes: int) -> Plan:
    """Return the plan that assigns each unit by a hash of its name, as Spark does with keys."""
    return Plan(1, nodes, {unit: zlib.crc32(unit.encode()) % max(nodes, 1) for unit in units_of(network)})
