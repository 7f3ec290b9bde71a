from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import ProblemError
from drover.hierarchy.tree import ROOT, Tree, balanced
from tests.hierarchy.worlds import trees


@given(trees(most=12), st.data())
def test_every_question_is_answered_as_a_climb_would(tree: Tree, data: st.DataObject) -> None:
    node, top = (data.draw(st.integers(0, len(tree) - 1)) for _ in range(2))
    climb = list(tree.path(node))
    assert climb[-1] == tree.root
    assert tree.depth[node] == len(climb) - 1
    assert tree.below(node, top) == (top in climb)
    above = climb.index(top) if top in climb else 0
    assert tree.branch(top, node) == (climb[above - 1] if above else None)
    shared = next(each for each in climb if each in list(tree.path(top)))
    assert tree.meet((node, top)) == tree.meet((top, node)) == shared


@given(trees(most=12))
def test_neighbours_are_parent_and_children(tree: Tree) -> None:
    for node in range(len(tree)):
        for other in tree.neighbours(node):
            assert node in tree.neighbours(other)
            assert node in {tree.parent[other], tree.parent[node]} - {ROOT} or other == tree.parent[node]
    assert sum(len(tree.neighbours(node)) for node in range(len(tree))) == 2 * (len(tree) - 1)


def test_the_tree_of_the_text_has_fifteen_nodes_on_four_levels() -> None:
    tree = balanced(15)
    assert [tree.depth.count(level) for level in range(4)] == [1, 2, 4, 8]
    assert tree.neighbours(1) == (0, 3, 4)


@pytest.mark.parametrize(
    ("parent", "words"),
    [
        pytest.param((), "has 0 roots, but must have one", id="no node"),
        pytest.param((ROOT, ROOT), "has 2 roots, but must have one", id="two roots"),
        pytest.param((2, ROOT, 0), "node 0 does not lead to the root 1: it is on a cycle", id="a cycle"),
        pytest.param((ROOT, 1), "node 1 does not lead to the root 0", id="a node below itself"),
        pytest.param((ROOT, 2), "parent of node 1 is 2, but nodes are 0 to 1", id="no such node"),
        pytest.param((ROOT, -2), "parent of node 1 is -2, but nodes are 0 to 1", id="a negative number"),
    ],
)
def test_what_is_no_tree_is_refused(parent: tuple[int, ...], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        Tree(parent)


def test_a_deep_tree_needs_no_deep_stack() -> None:
    tree = balanced(100_000, fan_out=1)
    assert tree.depth[-1] == 99_999
    assert tree.branch(0, 99_999) == 1


@pytest.mark.parametrize(("nodes", "fan_out"), [(0, 2), (3, 0)])
def test_a_balanced_tree_has_a_node_and_a_fan_out(nodes: int, fan_out: int) -> None:
    with pytest.raises(ProblemError, match=f"nodes and fan_out are {nodes} and {fan_out}, but must be at least 1"):
        balanced(nodes, fan_out)


def test_a_single_node_is_a_balanced_tree() -> None:
    assert balanced(1) == Tree((ROOT,))
