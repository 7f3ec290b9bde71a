"""A network on a tree of nodes: which unit can be where, and how full the nodes are.

Rule 1: a unit can only be on a node that all its inputs pass. Every plan for a tree is checked here, wherever it comes
from. Rule 2: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.control.settings import KEYS, Control
from drover.errors import DroverError, Fault, ProblemError, nearest
from drover.hierarchy.cluster import TreeCluster
from drover.hierarchy.node_state import NodeConfig
from drover.hierarchy.queries import Queries, grouped, queries_of
from drover.hierarchy.thresholds import Size, add, level
from drover.load.window import Window
from drover.network.model import Network
from drover.network.operators import Join
from drover.network.schema import known
from drover.placement.plan import Plan, unit_of, units_of
from drover.placement.starting_plans import DEFAULT_NODES, DEFAULT_PLAN

OWN: Final = frozenset({"mode", "period", "seed"})  # the only settings that have an effect on a tree


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The units of a network, j of m, on a tree of nodes, i of n."""

    cluster: TreeCluster
    units: tuple[str, ...]  # (m,)
    queries: Queries  # what each unit reads

    def complete_placement(self, node_of: Mapping[str, int]) -> dict[str, int]:
        """Return a node for every unit: the given one, or else the lowest node that all its inputs pass."""
        found = {unit: node_of[unit] for unit in self.units if unit in node_of}
        for j in self.queries.order():
            if self.units[j] not in found:
                found[self.units[j]] = self.lowest(j, found)
        return {unit: found[unit] for unit in self.units}

    def lowest(self, j: int, node_of: Mapping[str, int]) -> int:
        """Return the lowest node that all inputs of unit j pass, for the given places of its inputs."""
        inputs = (node_of[self.units[other]] for other in self.queries.inputs[j])
        return self.cluster.tree.meet((*self.queries.entries[j], *inputs))

    def objections(self, node_of: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Yield every unit on a node that its inputs do not pass, with the reason."""
        tree = self.cluster.tree
        label = self.cluster.label
        for j, unit in enumerate(self.units):
            here = node_of[unit]
            for entry in self.queries.entries[j]:
                if not tree.below(entry, here):
                    yield unit, f"{unit} reads rows that enter at {label(entry)}, and they do not pass {label(here)}"
            for other in self.queries.inputs[j]:
                there = node_of[self.units[other]]
                if not tree.below(there, here):
                    what = f"{unit} reads {self.units[other]}, on {label(there)}"
                    yield unit, f"{what}, and what is made there does not pass {label(here)}"

    def check_plan(self, plan: Plan) -> Plan:
        """Return the plan; DroverError if a unit would not get its inputs."""
        n = len(self.cluster.nodes)
        if plan.nodes != n:
            raise DroverError(
                f"the plan has {plan.nodes} nodes, but the tree has {n}. The number of nodes of a tree is fixed."
            )
        for _, reason in self.objections(plan.node_of):
            raise DroverError(f"{reason}. Put every unit where all its inputs pass, or above.")
        return plan

    def check_move(self, unit: str, node: int, node_of: Mapping[str, int]) -> None:
        """Raise DroverError if the unit, or a reader of it, would not get its inputs; say where the unit can be."""
        n = len(self.cluster.nodes)
        there = self.cluster.label(node) if 0 <= node < n else f"node {node}"
        reasons = (reason for _, reason in self.objections({**node_of, unit: node}))
        for reason in reasons if 0 <= node < n else (f"the tree has nodes 0 to {n - 1}",):
            here = [self.cluster.label(i) for i in self.nodes_for(unit, node_of)]
            raise DroverError(
                f"{unit} cannot go to {there}: {reason}. If nothing else moves, it can be on {known(here)}."
            )

    def nodes_for(self, unit: str, node_of: Mapping[str, int]) -> list[int]:
        """Return the nodes that a unit can be on if nothing else moves, lowest first."""
        tree = self.cluster.tree
        j = self.units.index(unit)
        readers = [node_of[self.units[other]] for other in self.queries.readers[j]]
        return [i for i in tree.path(self.lowest(j, node_of)) if all(tree.below(i, reader) for reader in readers)]

    def sizes(self, window: Window, network: Network) -> tuple[Size, ...]:
        """Return the size of each unit, (m,): newest bytes of state, and busy seconds per second of the last period.

        The size of a unit is the sum over its operators.
        """
        number = {unit: j for j, unit in enumerate(self.units)}
        last = window.periods[-1]
        memory = [0.0] * len(self.units)
        cpu = [0.0] * len(self.units)
        for operator in network.operators:
            j = number[unit_of(operator)]
            # An operator without rows in the last period reports no sample, but still has its state.
            newest = next(
                (each for period in reversed(window.periods) if (each := period.samples.get(operator.name))), None
            )
            memory[j] += 0.0 if newest is None else newest.state_bytes
            cpu[j] += last.samples[operator.name].busy / last.seconds if operator.name in last.samples else 0.0
        columns = {"memory": memory, "cpu": cpu}
        return tuple(zip(*(columns[each] for each in self.cluster.resources), strict=True))

    def levels(self, node_of: Mapping[str, int], sizes: Sequence[Size]) -> tuple[float, ...]:
        """Return the level of each node, (n,): the used share of the resource that the node uses most."""
        own: list[list[Size]] = [[] for _ in self.cluster.nodes]
        for unit, size in zip(self.units, sizes, strict=True):
            own[node_of[unit]].append(size)
        nothing = (0.0,) * len(self.cluster.resources)
        return tuple(
            round(level(add(mine, nothing), has), 4) for mine, has in zip(own, self.cluster.capacity, strict=True)
        )

    def node_configs(self) -> list[NodeConfig]:
        """Return the configuration of each node's state machine, (n,)."""
        cluster = self.cluster
        return [
            NodeConfig(i, cluster.tree, self.queries, cluster.capacity[i], cluster.thresholds)
            for i in range(len(cluster.nodes))
        ]


def hierarchy_of(network: Network, cluster: TreeCluster) -> Hierarchy:
    """Return the network on the tree; DroverError if they do not fit together."""
    for fault in faults(network, cluster):
        raise DroverError(fault.under("cluster").text)
    return _hierarchy(network, cluster)


def _hierarchy(network: Network, cluster: TreeCluster) -> Hierarchy:
    units = units_of(network)
    number = {unit: j for j, unit in enumerate(units)}
    group_of = [number[unit_of(operator)] for operator in network.operators]
    return Hierarchy(cluster, units, grouped(queries_of(network, cluster.entries), group_of))


def faults(network: Network, cluster: TreeCluster) -> Iterator[Fault]:
    """Yield what does not fit: sources without an entry node, unknown units, units on a node without their inputs."""
    missing = [source.name for source in network.sources if source.name not in cluster.entries]
    names = [source.name for source in network.sources]
    units = units_of(network)
    for source, node in cluster.entries.items():
        if source not in names:
            path = ("tree", cluster.nodes[node], "sources")
            way_out = f"{nearest(source, missing)}Known: {known(names)}."
            yield Fault(path, repr(source), "the network has no such source", way_out)
    for name in missing:
        rule = "every source needs a node where its rows enter"
        way_out = f"Add sources: [{name}] to that node."
        yield Fault(("tree",), f"without the source {name}", rule, way_out)
    for unit in cluster.at:
        if unit not in units:
            yield Fault(
                ("at", unit), "unknown", "the network has no such unit", f"{nearest(unit, units)}Known: {known(units)}."
            )
    for operator in network.operators:
        if isinstance(operator, Join) and operator.spread is not None:
            rule = f"join {operator.name} is spread, and its instances would be where inputs do not pass"
            yield Fault(("tree",), "given", rule, "Leave spread out of the join, or run without a tree.")
    if not missing:
        yield from _place_faults(network, cluster)


def _place_faults(network: Network, cluster: TreeCluster) -> Iterator[Fault]:
    try:
        found = _hierarchy(network, cluster)
    except ProblemError as error:  # a table that closes a cycle of units
        yield Fault(("tree",), "given", str(error).rstrip("."), "Run without a tree, or use separate tables.")
        return
    placement = found.complete_placement(cluster.at)
    for unit, reason in found.objections(placement):  # only units in `at`: the others are where their inputs pass
        lowest = cluster.nodes[found.lowest(found.units.index(unit), placement)]
        way_out = f"Name {lowest} or a node above it, or leave it out."
        yield Fault(("at", unit), cluster.nodes[placement[unit]], reason, way_out)


def conflicts(
    cluster: TreeCluster, settings: Control, nodes: int | str, plan: str, takes_queries: bool
) -> Iterator[Fault]:
    """Yield the settings of a run that a tree excludes."""
    usual = Control()
    # A setting without an effect would mislead, so it is refused instead of ignored.
    for name in KEYS:
        if name not in OWN and getattr(settings, name) != getattr(usual, name):
            rule = "the nodes of a tree decide by their marks"
            yield Fault(("control", name), "given", rule, "Leave it out; see cluster.marks.")
    n = len(cluster.nodes)
    if nodes not in (DEFAULT_NODES, n):
        yield Fault(("nodes",), str(nodes), f"the tree of the cluster has {n} nodes", "Leave it out.")
    if plan != DEFAULT_PLAN:
        rule = "on a tree, units start as low as they can, or where cluster.at puts them"
        yield Fault(("plan",), plan, rule, "Leave it out.")
    if takes_queries:
        rule = "submitted queries may be on any node, but on a tree rows do not pass every node"
        yield Fault(("queries",), "given", rule, "Leave queries out, or run without a tree.")
