"""A network of two sides on a tree of three nodes, for tests."""

from __future__ import annotations

from typing import Any

import drover
from drover.control.settings import control_of
from drover.control.state import ControlState
from drover.control.tree import Hierarchy, hierarchy_of
from drover.hierarchy.cluster import cluster_of
from drover.load.sample import Sample
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.plan import Plan

COLUMNS = {"ts": "timestamp", "key": "int", "amount": "bigint"}
TREE: dict[str, Any] = {
    "tree": {
        "city": {"memory": 1000},
        "west": {"parent": "city", "memory": 100, "sources": ["a"]},
        "east": {"parent": "city", "memory": 100, "sources": ["b"]},
    }
}
CITY, WEST, EAST = range(3)
AUTO = control_of("auto")


def two_sides() -> Network:
    """Two sums over each of two sources, and one over both."""
    net = drover.Builder("sides")
    sums = []
    for name in ("a", "b"):
        rows = net.source(name, COLUMNS, time="ts").filter(f"{name}-some", "key > 0")
        sums += [rows.aggregate(f"{name}-{length}", {"n": "count(*)"}, size=f"{length} s") for length in (1, 2)]
    sums[0].union("both", sums[2]).aggregate("all", {"n": "sum(n)"}, size="4 s").output()
    for each in (sums[1], sums[3]):
        each.output()
    return net.build()


def on(network: Network, given: dict[str, Any] = TREE) -> Hierarchy:
    return hierarchy_of(network, cluster_of(given))


def measured(network: Network, state: dict[str, int], busy: dict[str, float] | None = None) -> ControlState:
    """What the loop remembers after one period of two seconds."""
    samples = [
        Sample(each.name, {}, {}, (busy or {}).get(each.name, 0.0), state.get(each.name, 0))
        for each in network.operators
    ]
    return ControlState(window=Window(60).push(1, 2.0, {"a": 10, "b": 10}, samples))


def first(tree: Hierarchy) -> Plan:
    return Plan(1, len(tree.cluster.nodes), tree.complete_placement(tree.cluster.at))
