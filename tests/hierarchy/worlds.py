"""Random trees, queries and placements."""

from __future__ import annotations

from hypothesis import strategies as st

from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree


@st.composite
def trees(draw: st.DrawFn, least: int = 1, most: int = 7) -> Tree:
    """A tree in which every node but the first hangs on an earlier one."""
    return Tree((ROOT, *(draw(st.integers(0, i - 1)) for i in range(1, draw(st.integers(least, most))))))


@st.composite
def placed(draw: st.DrawFn, tree: Tree, least: int = 1, most: int = 8) -> tuple[Queries, list[int]]:
    """Operators that read earlier ones or sources, each on a node that all its inputs pass."""
    inputs: list[tuple[int, ...]] = []
    entries: list[tuple[int, ...]] = []
    node_of: list[int] = []
    for j in range(draw(st.integers(least, most))):
        read = tuple(draw(st.lists(st.integers(0, j - 1), max_size=2, unique=True))) if j else ()
        least = 0 if read else 1
        sources = tuple(draw(st.lists(st.integers(0, len(tree) - 1), min_size=least, max_size=2 if not read else 1)))
        lowest = tree.meet([*(node_of[other] for other in read), *sources])
        node_of.append(draw(st.sampled_from(list(tree.path(lowest)))))
        inputs.append(read)
        entries.append(sources)
    return Queries(tuple(inputs), tuple(entries)), node_of
