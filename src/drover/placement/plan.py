"""Plans: which node runs which unit.

Rule 1: nothing here knows how a plan was found. Rule 2: a plan is never edited; changing it makes a new one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from drover.errors import DroverError
from drover.network.model import Network
from drover.network.operators import Operator


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan `number` for nodes 0 ... nodes - 1; `node_of` has every unit of the network it was made for."""

    number: int
    nodes: int
    node_of: Mapping[str, int]

    def __post_init__(self) -> None:
        """Freeze the mapping; refuse nodes that are not there."""
        if self.nodes < 1:
            raise DroverError(f"nodes is {self.nodes}, but a plan has at least one node. Give 1 or more.")
        for unit, node in self.node_of.items():
            if not 0 <= node < self.nodes:
                raise DroverError(
                    f"unit {unit!r} is on node {node}, but the nodes are 0 to {self.nodes - 1}. Move it, or add nodes."
                )
        object.__setattr__(self, "node_of", MappingProxyType(dict(self.node_of)))

    def __reduce__(self) -> tuple[type[Plan], tuple[int, int, dict[str, int]]]:
        """Pickle the mapping as a plain one."""
        return (Plan, (self.number, self.nodes, dict(self.node_of)))

    def move(self, unit: str, node: int) -> Plan:
        """Return the next plan, with `unit` on `node`."""
        if unit not in self.node_of:
            raise DroverError(f"there is no unit {unit!r} in plan {self.number}. Units: {', '.join(self.node_of)}.")
        return Plan(self.number + 1, self.nodes, {**self.node_of, unit: node})

    def scale(self, nodes: int) -> Plan:
        """Return the next plan for another number of nodes; units of removed nodes are dealt out in turn."""
        if nodes < 1:
            raise DroverError(f"nodes is {nodes}, but a plan has at least one node. Give 1 or more.")
        homeless = [unit for unit, node in self.node_of.items() if node >= nodes]
        dealt = {unit: index % nodes for index, unit in enumerate(homeless)}
        return Plan(self.number + 1, nodes, {**self.node_of, **dealt})


@dataclass(frozen=True, slots=True)
class Move:
    """A unit that changes its node, and the bytes of state that go with it; `source` is None for a new unit."""

    unit: str
    source: int | None
    target: int
    bytes: float = 0.0

    def __str__(self) -> str:
        start = "new" if self.source is None else f"node {self.source}"
        return f"{self.unit}: {start} -> node {self.target}"


def moves(before: Plan, after: Plan, state: Mapping[str, float] | None = None) -> tuple[Move, ...]:
    """Return what leads from one plan to another, in the order of the units; `state` has bytes by unit."""
    sizes = state or {}
    return tuple(
        Move(unit, before.node_of.get(unit), node, sizes.get(unit, 0.0) if unit in before.node_of else 0.0)
        for unit, node in after.node_of.items()
        if before.node_of.get(unit) != node
    )


def apply(plan: Plan, changes: Iterable[Move]) -> Plan:
    """Return the next plan, with these moves made; a move from where its unit is not is refused."""
    node_of = dict(plan.node_of)
    for move in changes:
        if node_of.get(move.unit) != move.source:
            raise DroverError(
                f"the move {move} starts on node {move.source}, but plan {plan.number} has the unit on "
                f"{node_of.get(move.unit)}. Work out the moves again from this plan."
            )
        node_of[move.unit] = move.target
    return Plan(plan.number + 1, plan.nodes, node_of)


def unit_of(operator: Operator) -> str:
    """Return the name of the unit an operator belongs to: its own, or its table's."""
    return operator.name if operator.table is None else f"table:{operator.table}"


def units_of(network: Network) -> tuple[str, ...]:
    """Return the names of a network's units, in order of their first operators."""
    return tuple(dict.fromkeys(unit_of(operator) for operator in network.operators))


def round_robin(network: Network, nodes: int) -> Plan:
    """Return the plan that deals the units out in turn."""
    return Plan(1, nodes, {unit: index % max(nodes, 1) for index, unit in enumerate(units_of(network))})


def by_hash(network: Network, nodes: int) -> Plan:
    """Return the plan that puts each unit where a hash of its name says: what Spark does with keys."""
    return Plan(1, nodes, {unit: zlib.crc32(unit.encode()) % max(nodes, 1) for unit in units_of(network)})
