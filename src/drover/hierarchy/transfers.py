"""The transfers that are open to a node: which operators can go to which neighbour, and which must go together.

Rule 1: this is the prose of [Kots14], section 3.2, and its three scenarios; the printed helper functions forget to
return the destination and to look at the operator's own inputs.
Rule 2: a transfer that is open keeps every operator where its inputs pass, whichever other transfers with other
operators are made from this node at the same time, and whether or not they come about.
Rule 3: a node asks only about its own operators and about which child a stream comes from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree


@dataclass(frozen=True, slots=True)
class Transfer:
    """Operators that can go to a neighbour together."""

    operators: tuple[int, ...]  # ascending
    receiver: int  # node


def open_transfers(tree: Tree, queries: Queries, node: int, here: Collection[int]) -> Iterator[Transfer]:
    """Yield the transfers open to a node with the operators `here`: for each operator up, then down."""
    parent = tree.parent[node]
    for operator in sorted(here):
        if parent != ROOT:
            yield Transfer(_downstream(queries, operator, here), parent)
        chain = _upstream(queries, operator, here)
        child = _feeder(tree, queries, node, chain)
        if child is not None:
            yield Transfer(tuple(sorted(chain)), child)


def _downstream(queries: Queries, operator: int, here: Collection[int]) -> tuple[int, ...]:
    """Return an operator and everything downstream of it on this node: its rows flow up, never back."""
    found = [operator]
    known = {operator}
    for each in found:  # grows while it is walked
        fresh = [reader for reader in queries.readers[each] if reader in here and reader not in known]
        known.update(fresh)
        found += fresh
    return tuple(sorted(found))


def _upstream(queries: Queries, operator: int, here: Collection[int]) -> list[int]:
    """Return an operator and those before it on this node, as long as each has a single input; else nothing."""
    chain = [operator]
    while True:
        first = chain[-1]
        inputs = queries.inputs[first]
        if len(inputs) + len(queries.entries[first]) != 1:
            return []
        if not inputs or inputs[0] not in here:
            return chain
        chain.append(inputs[0])


def _feeder(tree: Tree, queries: Queries, node: int, chain: list[int]) -> int | None:
    """Return the child that feeds a chain; None if there is no chain, or its source enters at this very node.

    All rows of an operator enter below the node that it runs on. So if it runs below this one, any of them shows
    through which child its output comes.
    """
    if not chain:
        return None
    first = chain[-1]
    (origin, *_) = queries.origins[queries.inputs[first][0]] if queries.inputs[first] else queries.entries[first]
    return tree.branch(node, origin)
