"""Which nodes may not be used: those that somebody wants empty, and as many as Spark has lost slots for."""

from __future__ import annotations

from collections.abc import Collection


def closed_nodes(nodes: int, drained: Collection[int], now: int = 1, most: int = 1) -> frozenset[int]:
    """Return the nodes of 0 ... nodes - 1 that may not be used; one always may.

    `now` is how many slots Spark has, and `most` how many it had at best: nodes are lost in the same proportion, the
    last ones first.

    >>> sorted(closed_nodes(4, {1}, now=1, most=2))
    [1, 2, 3]
    >>> sorted(closed_nodes(2, {0, 1}))
    [1]
    """
    left = max(1, -(-nodes * now // most))
    closed = {node for node in drained if node < nodes} | set(range(left, nodes))
    return frozenset(closed if len(closed) < nodes else closed - {0})
