"""The tree of nodes. Data flows from the leaves to the root, and never in another direction.

Rule 1: every Tree object is valid: it has one root and no cycle.
Rule 2: nothing recurses, so a tree may have any depth.
Rule 3: results of a walk over the tree are computed once, so that the time of a query does not grow with the tree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from drover.errors import ProblemError

ROOT: Final = -1  # the parent of the root


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes by number, i of n; everything else follows from `parent`."""

    parent: tuple[int, ...]  # (n,) the node that node i sends to; ROOT for the root
    root: int = field(init=False, compare=False)
    children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)  # (n,) in order of `_first`
    depth: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) 0 for the root
    _first: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) place in a walk, parents first
    _last: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) last place of the subtree

    def __post_init__(self) -> None:
        """Refuse parents that do not form a tree, and compute the rest."""
        n = len(self.parent)
        roots = [i for i, up in enumerate(self.parent) if up == ROOT]
        if len(roots) != 1:
            raise ProblemError(f"the tree has {len(roots)} roots, but must have one. Give all nodes but one a parent.")
        children: list[list[int]] = [[] for _ in range(n)]
        for i, up in enumerate(self.parent):
            if up != ROOT and not 0 <= up < n:
                raise ProblemError(
                    f"the parent of node {i} is {up}, but nodes are 0 to {n - 1}. Use one of these numbers."
                )
            if up != ROOT:
                children[up].append(i)
        object.__setattr__(self, "root", roots[0])
        object.__setattr__(self, "children", tuple(map(tuple, children)))
        self._walk()

    def _walk(self) -> None:
        """Give the nodes numbers so that every subtree is a range of numbers."""
        n = len(self.parent)
        first = [-1] * n
        last = [-1] * n
        depth = [0] * n
        stack = [self.root]
        seen = 0
        while stack:
            node = stack.pop()
            if node < 0:  # ~i marks the end of the subtree of i
                last[~node] = seen - 1
                continue
            first[node] = seen
            seen = seen + 1
            # Visited again after all its children, when the end of its range is known.
            stack.append(~node)
            for child in reversed(self.children[node]):
                depth[child] = depth[node] + 1
                stack.append(child)
        if seen < n:
            lost = first.index(-1)
            raise ProblemError(
                f"node {lost} does not lead to the root {self.root}: it is on a cycle or below one. Cut the cycle."
            )
        object.__setattr__(self, "depth", tuple(depth))
        object.__setattr__(self, "_first", tuple(first))
        object.__setattr__(self, "_last", tuple(last))

    def __len__(self) -> int:
        return len(self.parent)

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Return the parent, if any, followed by the children."""
        up = self.parent[node]
        return self.children[node] if up == ROOT else (up, *self.children[node])

    def below(self, node: int, top: int) -> bool:
        """Return whether `node` is `top` or below it: rows that enter at `node` pass `top`."""
        return self._first[top] <= self._first[node] <= self._last[top]

    def branch(self, top: int, node: int) -> int | None:
        """Return the child of `top` through which rows from `node` arrive; None if `node` is not below `top`."""
        if node == top or not self.below(node, top):
            return None
        # The children are in the order of the walk, and each subtree is a range: so the last child that begins early
        # enough fits.
        below = self.children[top]
        return below[bisect_right(below, self._first[node], key=self._first.__getitem__) - 1]

    def path(self, node: int) -> Iterator[int]:
        """Yield `node` and all nodes above it, up to the root."""
        while node != ROOT:
            yield node
            node = self.parent[node]

    def meet(self, nodes: Sequence[int]) -> int:
        """Return the lowest node that rows from all of `nodes` pass."""
        found = nodes[0]
        for node in nodes[1:]:
            while not self.below(node, found):
                found = self.parent[found]
        return found


def balanced(nodes: int, fan_out: int = 2) -> Tree:
    """Return a tree with full levels, except for the last one; node 0 is the root, followed by its children."""
    if nodes < 1 or fan_out < 1:
        raise ProblemError(f"nodes and fan_out are {nodes} and {fan_out}, but must be at least 1. Use larger numbers.")
    return Tree((ROOT, *((i - 1) // fan_out for i in range(1, nodes))))
