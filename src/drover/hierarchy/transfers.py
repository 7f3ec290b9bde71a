"""The open transfers of a node: which operators can move to which neighbour, and which must move together.

Rule 1: this follows the prose of [Kots14], section 3.2, and its three scenarios. The printed helper functions neither
return the destination nor check the operator's own inputs.
Rule 2: an open transfer keeps every operator where its inputs pass. This holds for any combination of transfers with
different operators from this node, whether or not all of them succeed.
Rule 3: a node needs to know only its own operators, and through which child each stream arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Transfer:
    """Operators that can move to a neighbour together."""

    operators: tuple[int, ...]  # ascending
    receiver: int  # node


def open_transfers(tree: Tree, queries: Queries, node: int, here: Collection[int]) -> Iterator[Transfer]:
    """Yield the open transfers of a node with the operators `here`: for each operator upwards, then downwards."""
    parent = tree.parent[node]
    for operator in sorted(here):
        if parent != ROOT:
            yield Transfer(_downstream(queries, operator, here), parent)
        chain = _upstream(queries, operator, here)
        child = _feeder(tree, queries, node, chain)
        if child is not None:
            yield Transfer(tuple(sorted(chain)), child)


def _downstream(queries: Queries, operator: int, here: Collection[int]) -> tuple[int, ...]:
    """Return an operator and all operators downstream of it on this node: its output never flows back down."""
    found = [operator]
    known = {operator}
    for each in found:  # the list grows while the loop runs
        fresh = [reader for reader in queries.readers[each] if reader in here and reader not in known]
        known.update(fresh)
        found += fresh
    return tuple(sorted(found))


def _upstream(queries: Queries, operator: int, here: Collection[int]) -> list[int]:
    """Return an operator and its upstream operators on this node if each has one input; otherwise an empty list."""
    chain = [operator]
    while True:
        first = chain[-1]
        inputs = queries.inputs[first]
        # Two inputs may arrive through different children, so the operator could follow only one of them down.
        if len(inputs) + len(queries.entries[first]) != 1:
            return []
        if not inputs or inputs[0] not in here:
            return chain
        chain.append(inputs[0])


def _feeder(tree: Tree, queries: Queries, node: int, chain: list[int]) -> int | None:
    """Return the child that feeds a chain; None for an empty chain, or if its source enters at this node.

    All rows of an operator enter below the node that it runs on. So if that is below this node, any one of its origins
    shows through which child its output arrives.
    """
    if not chain:
        return None
    first = chain[-1]
    (origin, *_) = queries.origins[queries.inputs[first][0]] if queries.inputs[first] else queries.entries[first]
    return tree.branch(node, origin)
