"""The tree of nodes in a checkpoint. Plans know nodes by number, so the numbers must keep their meaning.

Rule 1: names, parents and the entry nodes of sources must not change. Capacities and marks may change between runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyarrow.fs import FileSystem

from drover.control.settings import Control
from drover.control.tree import Hierarchy, conflicts, hierarchy_of
from drover.errors import START_ANEW, DroverError, StateError
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole
from drover.hierarchy.cluster import CLUSTER, TreeCluster, cluster_of
from drover.network.model import Network
from drover.placement.starting_plans import DEFAULT_PLAN

NAME: Final = "cluster.json"


def on_tree(
    network: Network,
    cluster: TreeCluster | Mapping[str, Any],
    settings: Control,
    nodes: int | str,
    plan: object,
    *,
    takes_queries: bool,
) -> Hierarchy:
    """Return the tree that a network runs on; DroverError if it conflicts with the other settings."""
    found = cluster_of(cluster)
    for fault in conflicts(found, settings, nodes, plan if isinstance(plan, str) else DEFAULT_PLAN, takes_queries):
        raise DroverError(fault.text)
    return hierarchy_of(network, found)


def noted_cluster(fs: FileSystem, root: str) -> TreeCluster | None:
    """Return the tree of the last run on a checkpoint, or None if it had none."""
    path = join(root, NAME)
    if not exists(fs, path):
        return None
    body, _ = unseal(path, read_whole(fs, path), 0)
    try:
        return cluster_of(json.loads(body["cluster"]))
    except (KeyError, TypeError, ValueError, DroverError) as error:
        raise StateError(path, "a tree of nodes", str(error), RESTORE) from error


def check_cluster(fs: FileSystem, root: str, hierarchy: Hierarchy | None, *, begun: bool) -> None:
    """Refuse a checkpoint that was begun on another tree, or with a tree where this run has none; write nothing."""
    before = noted_cluster(fs, root)
    if before is None:
        if begun and hierarchy is not None:
            raise DroverError(
                f"the checkpoint {root} was begun without a tree of nodes, and its plan is for none. "
                f"Leave cluster out, or {START_ANEW}."
            )
        return
    if hierarchy is None:
        raise DroverError(
            f"the checkpoint {root} was begun on a tree of {len(before.nodes)} nodes. "
            f"Give the same cluster, or {START_ANEW}."
        )
    if change := _difference(before, hierarchy.cluster):
        raise DroverError(
            f"the checkpoint {root} was begun on another tree: {change}. "
            f"Take this back, or {START_ANEW}. Capacities and marks may change."
        )


def note_cluster(fs: FileSystem, root: str, hierarchy: Hierarchy | None) -> None:
    """Write the tree of this run into the checkpoint, if it has one and the checkpoint has another."""
    if hierarchy is None or noted_cluster(fs, root) == hierarchy.cluster:
        return
    # As text, because the order of nodes is their numbering, and a sealed document sorts its keys.
    text = json.dumps(CLUSTER.write(hierarchy.cluster))
    data, _ = seal({"format": FORMAT, "batch": 0, "cluster": text})
    write_whole(fs, join(root, NAME), [data])


def _difference(before: TreeCluster, after: TreeCluster) -> str | None:
    if before.nodes != after.nodes:
        return f"its nodes were {', '.join(before.nodes)}, in this order"
    for i, name in enumerate(before.nodes):
        if before.tree.parent[i] != after.tree.parent[i]:
            return f"{name} had another parent"
    for source, node in before.entries.items():
        # A source that is new or gone may enter anywhere; only one that stays must keep its node.
        if after.entries.get(source, node) != node:
            return f"source {source} entered at {before.nodes[node]}"
    return None
