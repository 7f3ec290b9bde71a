"""What a checkpoint notes of the tree that it was run on: plans know nodes by number, so these must mean the same.

Rule 1: names, parents and where sources enter stay as they are; capacities and marks may change from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pyarrow.fs import FileSystem

from drover.control.settings import Control
from drover.control.tree import USUAL_PLAN, Hierarchy, conflicts, hierarchy_of
from drover.errors import DroverError, StateError
from drover.flow.state.documents import FORMAT, seal, unseal
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole
from drover.hierarchy.cluster import CLUSTER, Cluster, cluster_of
from drover.network.model import Network

NAME: Final = "cluster.json"


def on_tree(
    network: Network, cluster: Cluster | Mapping[str, Any], settings: Control, nodes: int, plan: object, *,
    takes_queries: bool,
) -> Hierarchy:  # fmt: skip
    """Return the tree that a network is to run on; DroverError if it does not go with what else is said."""
    found = cluster_of(cluster)
    for fault in conflicts(found, settings, nodes, plan if isinstance(plan, str) else USUAL_PLAN, takes_queries):
        raise DroverError(fault.text)
    return hierarchy_of(network, found)


def noted_cluster(fs: FileSystem, root: str) -> Cluster | None:
    """Return the tree that a checkpoint was last run on, or None if it was run on none."""
    path = join(root, NAME)
    if not exists(fs, path):
        return None
    body, _ = unseal(path, read_whole(fs, path), 0)
    try:
        return cluster_of(json.loads(body["cluster"]))
    except (KeyError, TypeError, ValueError, DroverError) as error:
        raise StateError(path, "a tree of nodes", str(error), RESTORE) from error


def check_cluster(fs: FileSystem, root: str, hierarchy: Hierarchy | None, *, begun: bool) -> None:
    """Refuse a checkpoint that was begun on another tree, on none, or on one if none is given; nothing is written."""
    before = noted_cluster(fs, root)
    if before is None:
        if begun and hierarchy is not None:
            raise DroverError(
                f"the checkpoint {root} was begun without a tree of nodes, and its plan is for none. "
                "Leave cluster out, or start with an empty checkpoint directory."
            )
        return
    if hierarchy is None:
        raise DroverError(
            f"the checkpoint {root} was begun on a tree of {len(before.nodes)} nodes. "
            "Give the same cluster, or start with an empty checkpoint directory."
        )
    if change := _difference(before, hierarchy.cluster):
        raise DroverError(
            f"the checkpoint {root} was begun on another tree: {change}. "
            "Take this back, or start with an empty checkpoint directory; capacities and marks may change."
        )


def note_cluster(fs: FileSystem, root: str, hierarchy: Hierarchy | None) -> None:
    """Write down the tree that the next batch runs on, if there is one and it is not as noted."""
    if hierarchy is None or noted_cluster(fs, root) == hierarchy.cluster:
        return
    # As a text, because the order of its nodes is their numbering, and a document keeps no order.
    text = json.dumps(CLUSTER.write(hierarchy.cluster))
    data, _ = seal({"format": FORMAT, "batch": 0, "cluster": text})
    write_whole(fs, join(root, NAME), [data])


def _difference(before: Cluster, after: Cluster) -> str | None:
    if before.nodes != after.nodes:
        return f"its nodes were {', '.join(before.nodes)}, in this order"
    for i, name in enumerate(before.nodes):
        if before.tree.parent[i] != after.tree.parent[i]:
            return f"{name} had another parent"
    for source, node in before.entries.items():
        if after.entries.get(source, node) != node:
            return f"source {source} entered at {before.nodes[node]}"
    return None
