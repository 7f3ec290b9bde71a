"""Which nodes may not be used: those that somebody wants empty, and as many as Spark has lost slots for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


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


@dataclass(slots=True)
class Slots:
    """How many slots Spark has, and had at best since `watch`; `count` is None where nobody can tell."""

    count: Callable[[], int] | None
    most: int = 0

    def watch(self) -> None:
        """Take what is there now for what there should be."""
        self.most = self.count() if self.count else 0

    def closed(self, nodes: int, drained: Collection[int]) -> frozenset[int]:
        """Return the nodes that may not be used."""
        if self.count is None or not self.most:
            return closed_nodes(nodes, drained)
        now = self.count()
        self.most = max(self.most, now)
        return closed_nodes(nodes, drained, now, self.most)
