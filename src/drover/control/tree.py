"""A network on a tree of nodes: which unit can be where, and how full the nodes are.

Rule 1: a unit can be only where all its inputs pass; whoever makes a plan for a tree is asked here, whatever made it.
Rule 2: nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from drover.control.settings import KEYS, Control
from drover.errors import DroverError, Fault, ProblemError, nearest
from drover.hierarchy.cluster import Cluster
from drover.hierarchy.memory import Place
from drover.hierarchy.queries import Queries, grouped, queries_of
from drover.hierarchy.thresholds import Size, add, level
from drover.load.window import Window
from drover.network.model import Network
from drover.network.operators import Join
from drover.network.schema import known
from drover.placement.plan import Plan, unit_of, units_of

USUAL_NODES: Final = 4  # what a run has that says nothing
USUAL_PLAN: Final = "round-robin"
OWN: Final = frozenset(
    {"mode", "period", "seed"}
)  # settings that count on a tree; of all others nodes decide themselves


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The units of a network, j of m, on a tree of nodes, i of n."""

    cluster: Cluster
    units: tuple[str, ...]  # (m,)
    queries: Queries  # what units read

    def settle(self, node_of: Mapping[str, int]) -> dict[str, int]:
        """Return places for all units: those that are given, and of others the lowest that all inputs pass."""
        found = {unit: node_of[unit] for unit in self.units if unit in node_of}
        for j in self.queries.order():
            if self.units[j] not in found:
                found[self.units[j]] = self.lowest(j, found)
        return {unit: found[unit] for unit in self.units}

    def lowest(self, j: int, node_of: Mapping[str, int]) -> int:
        """Return the lowest node that all inputs of unit j pass, with its inputs where they are."""
        inputs = (node_of[self.units[other]] for other in self.queries.inputs[j])
        return self.cluster.tree.meet((*self.queries.entries[j], *inputs))

    def objections(self, node_of: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Yield units that are where their inputs do not pass, each with the reason."""
        tree, called = self.cluster.tree, self.cluster.called
        for j, unit in enumerate(self.units):
            here = node_of[unit]
            for entry in self.queries.entries[j]:
                if not tree.below(entry, here):
                    yield unit, f"{unit} reads rows that enter at {called(entry)}, and they do not pass {called(here)}"
            for other in self.queries.inputs[j]:
                there = node_of[self.units[other]]
                if not tree.below(there, here):
                    what = f"{unit} reads {self.units[other]}, on {called(there)}"
                    yield unit, f"{what}, and what is made there does not pass {called(here)}"

    def demand(self, plan: Plan) -> Plan:
        """Return a plan that can be run; DroverError if a unit would not have its inputs."""
        n = len(self.cluster.nodes)
        if plan.nodes != n:
            raise DroverError(f"the plan has {plan.nodes} nodes, but the tree has {n}. A tree keeps its nodes.")
        for _, reason in self.objections(plan.node_of):
            raise DroverError(f"{reason}. Put every unit where all its inputs pass, or above.")
        return plan

    def demand_move(self, unit: str, node: int, node_of: Mapping[str, int]) -> None:
        """Refuse to move a unit where it, or who reads it, would not have its inputs, and say where it can be."""
        n = len(self.cluster.nodes)
        there = self.cluster.called(node) if 0 <= node < n else f"node {node}"
        reasons = (reason for _, reason in self.objections({**node_of, unit: node}))
        for reason in reasons if 0 <= node < n else (f"the tree has nodes 0 to {n - 1}",):
            here = [self.cluster.called(i) for i in self.nodes_for(unit, node_of)]
            raise DroverError(
                f"{unit} cannot go to {there}: {reason}. With all else where it is, it can be on {known(here)}."
            )

    def nodes_for(self, unit: str, node_of: Mapping[str, int]) -> list[int]:
        """Return the nodes that a unit can be on with all others where they are, from below."""
        tree, j = self.cluster.tree, self.units.index(unit)
        readers = [node_of[self.units[other]] for other in self.queries.readers[j]]
        return [i for i in tree.path(self.lowest(j, node_of)) if all(tree.below(i, reader) for reader in readers)]

    def sizes(self, window: Window, network: Network) -> tuple[Size, ...]:
        """Return the size of each unit, (m,): bytes of state as last seen, busy seconds per second of the last period.

        A unit is as large as its operators together.
        """
        number, last = {unit: j for j, unit in enumerate(self.units)}, window.periods[-1]
        memory, cpu = [0.0] * len(self.units), [0.0] * len(self.units)
        for operator in network.operators:
            j = number[unit_of(operator)]
            newest = next(
                (each for period in reversed(window.periods) if (each := period.samples.get(operator.name))), None
            )
            memory[j] += 0.0 if newest is None else newest.state_bytes
            cpu[j] += last.samples[operator.name].busy / last.seconds if operator.name in last.samples else 0.0
        columns = {"memory": memory, "cpu": cpu}
        return tuple(zip(*(columns[each] for each in self.cluster.resources), strict=True))

    def levels(self, node_of: Mapping[str, int], sizes: Sequence[Size]) -> tuple[float, ...]:
        """Return the share of its capacity that each node has in use, (n,), of the resource that it uses most."""
        own: list[list[Size]] = [[] for _ in self.cluster.nodes]
        for unit, size in zip(self.units, sizes, strict=True):
            own[node_of[unit]].append(size)
        nothing = (0.0,) * len(self.cluster.resources)
        return tuple(
            round(level(add(mine, nothing), has), 4) for mine, has in zip(own, self.cluster.capacity, strict=True)
        )

    def places(self) -> list[Place]:
        """Return what the machine of each node is told, (n,)."""
        cluster = self.cluster
        return [
            Place(i, cluster.tree, self.queries, cluster.capacity[i], cluster.thresholds)
            for i in range(len(cluster.nodes))
        ]


def hierarchy_of(network: Network, cluster: Cluster) -> Hierarchy:
    """Return a network on a tree; DroverError if it does not fit."""
    for fault in faults(network, cluster):
        raise DroverError(fault.under("cluster").text)
    return _hierarchy(network, cluster)


def _hierarchy(network: Network, cluster: Cluster) -> Hierarchy:
    units = units_of(network)
    number = {unit: j for j, unit in enumerate(units)}
    group_of = [number[unit_of(operator)] for operator in network.operators]
    return Hierarchy(cluster, units, grouped(queries_of(network, cluster.entries), group_of))


def faults(network: Network, cluster: Cluster) -> Iterator[Fault]:
    """Yield what does not fit: sources that enter nowhere, units that are not there, or that have no node to run on."""
    missing = [source.name for source in network.sources if source.name not in cluster.entries]
    names, units = [source.name for source in network.sources], units_of(network)
    for source, node in cluster.entries.items():
        if source not in names:
            path, way_out = (
                ("tree", cluster.nodes[node], "sources"),
                f"{nearest(source, missing)}Known: {known(names)}.",
            )
            yield Fault(path, repr(source), "the network has no such source", way_out)
    for name in missing:
        rule, way_out = "every source enters somewhere", f"Add sources: [{name}] to the node where its rows come in."
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


def _place_faults(network: Network, cluster: Cluster) -> Iterator[Fault]:
    try:
        found = _hierarchy(network, cluster)
    except ProblemError as error:  # a table that is read and written around a loop of others
        yield Fault(("tree",), "given", str(error).rstrip("."), "Run without a tree, or keep such tables apart.")
        return
    settled = found.settle(cluster.at)
    for unit, reason in found.objections(settled):  # of those that `at` names: others are where their inputs pass
        way_out = (
            f"Name {cluster.nodes[found.lowest(found.units.index(unit), settled)]} or a node above it, or leave it out."
        )
        yield Fault(("at", unit), cluster.nodes[settled[unit]], reason, way_out)


def conflicts(cluster: Cluster, settings: Control, nodes: int, plan: str, takes_queries: bool) -> Iterator[Fault]:
    """Yield what else is said of a run that a tree leaves no room for."""
    usual = Control()
    for name in KEYS:
        if name not in OWN and getattr(settings, name) != getattr(usual, name):
            rule = "nodes of a tree decide by their marks"
            yield Fault(("control", name), "given", rule, "Leave it out; see cluster.marks.")
    n = len(cluster.nodes)
    if nodes not in (USUAL_NODES, n):
        yield Fault(("nodes",), str(nodes), f"the tree of the cluster has {n}", "Leave it out.")
    if plan != USUAL_PLAN:
        rule = "units of a tree begin as low as they can, or as cluster.at says"
        yield Fault(("plan",), plan, rule, "Leave it out.")
    if takes_queries:
        rule = "submitted queries are placed on any node, and on a tree rows do not pass everywhere"
        yield Fault(("queries",), "given", rule, "Leave queries out, or run without a tree.")
