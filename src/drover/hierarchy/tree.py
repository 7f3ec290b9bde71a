"""The tree of nodes along which data flows, from leaves to the root, and never otherwise.

Rule 1: a Tree that exists is sound: one root, no cycle.
Rule 2: nothing recurses, so that a tree may be as deep as it likes.
Rule 3: what takes a walk over the tree is worked out once, so that a question's time does not grow with the tree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from drover.errors import ProblemError

ROOT: Final = -1  # what the root has for a parent


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes by number, i of n; the rest follows from who is whose parent."""

    parent: tuple[int, ...]  # (n,) where node i sends to; ROOT for the root
    root: int = field(init=False, compare=False)
    children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)  # (n,) in order of `_first`
    depth: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) 0 for the root
    _first: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) place in a walk, parents first
    _last: tuple[int, ...] = field(init=False, repr=False, compare=False)  # (n,) last place of the subtree

    def __post_init__(self) -> None:
        """Refuse what is no tree, and work out the rest."""
        n = len(self.parent)
        roots = [i for i, up in enumerate(self.parent) if up == ROOT]
        if len(roots) != 1:
            raise ProblemError(f"the tree has {len(roots)} roots, but must have one. Give all nodes but one a parent.")
        children: list[list[int]] = [[] for _ in range(n)]
        for i, up in enumerate(self.parent):
            if up != ROOT and not 0 <= up < n:
                raise ProblemError(f"the parent of node {i} is {up}, but nodes are 0 to {n - 1}. Name one of them.")
            if up != ROOT:
                children[up].append(i)
        object.__setattr__(self, "root", roots[0])
        object.__setattr__(self, "children", tuple(map(tuple, children)))
        self._walk()

    def _walk(self) -> None:
        """Give the nodes numbers so that every subtree is a range of numbers."""
        n = len(self.parent)
        first, last, depth = [-1] * n, [-1] * n, [0] * n
        stack, seen = [self.root], 0
        while stack:
            node = stack.pop()
            if node < 0:  # ~i says: the subtree of i is done
                last[~node] = seen - 1
                continue
            first[node], seen = seen, seen + 1
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
        """Return the parent, if there is one, then the children."""
        up = self.parent[node]
        return self.children[node] if up == ROOT else (up, *self.children[node])

    def below(self, node: int, top: int) -> bool:
        """Return whether `node` is `top` or below it: what enters at `node` passes `top`."""
        return self._first[top] <= self._first[node] <= self._last[top]

    def branch(self, top: int, node: int) -> int | None:
        """Return the child of `top` through which comes what enters at `node`; None if it does not come from below."""
        if node == top or not self.below(node, top):
            return None
        below = self.children[top]
        return below[bisect_right(below, self._first[node], key=self._first.__getitem__) - 1]

    def path(self, node: int) -> Iterator[int]:
        """Yield `node` and all nodes above it, up to the root."""
        while node != ROOT:
            yield node
            node = self.parent[node]

    def meet(self, nodes: Sequence[int]) -> int:
        """Return the lowest node that is passed by what enters at all of `nodes`."""
        found = nodes[0]
        for node in nodes[1:]:
            while not self.below(node, found):
                found = self.parent[found]
        return found


def balanced(nodes: int, fan_out: int = 2) -> Tree:
    """Return a tree whose levels are full, but for the last: node 0 is the root, its children come next."""
    if nodes < 1 or fan_out < 1:
        raise ProblemError(f"nodes and fan_out are {nodes} and {fan_out}, but must be at least 1. Give larger ones.")
    return Tree((ROOT, *((i - 1) // fan_out for i in range(1, nodes))))
