"""Which nodes may not be used: drained nodes, and one for every slot that Spark has lost.

Rule 1: at least one node always stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass


def closed_nodes(nodes: int, drained: Collection[int], now: int = 1, most: int = 1) -> frozenset[int]:
    """Return which of the nodes 0 to nodes - 1 may not be used.

    Spark has `now` slots and had `most` of them before. The same share of nodes is closed, the last ones first.

    >>> sorted(closed_nodes(4, {1}, now=1, most=2))
    [1, 2, 3]
    >>> sorted(closed_nodes(2, {0, 1}))
    [1]
    """
    # Rounded up: nodes share slots, so a part of a slot is no reason to close a node.
    left = max(1, -(-nodes * now // most))
    closed = {node for node in drained if node < nodes} | set(range(left, nodes))
    # Something has to run, even if every node is drained or lost (rule 1).
    return frozenset(closed if len(closed) < nodes else closed - {0})


@dataclass(slots=True)
class SlotWatch:
    """The slots that Spark has now, and the most that it had since `watch`; `count` is None if they cannot be lost."""

    count: Callable[[], int] | None
    most: int = 0

    def watch(self) -> None:
        """Take the slots that exist now as complete."""
        self.most = self.count() if self.count else 0

    def closed(self, nodes: int, drained: Collection[int]) -> frozenset[int]:
        """Return the nodes that may not be used."""
        if self.count is None or not self.most:
            return closed_nodes(nodes, drained)
        now = self.count()
        self.most = max(self.most, now)
        return closed_nodes(nodes, drained, now, self.most)
