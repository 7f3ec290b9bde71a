"""Typed trees: what they know about themselves, however their nodes are shared."""

from __future__ import annotations

import pickle

import pytest

from drover.network.expressions import Call, ColumnRef, Literal, parse, parse_pair
from drover.network.types import INT

X = ColumnRef(INT, "x")
ONE = Literal(INT, 1)


@pytest.mark.parametrize(
    ("text", "depth", "weight"),
    [
        pytest.param("x", 1, 1, id="a column"),
        pytest.param("1", 1, 1, id="a literal"),
        pytest.param("x + 1", 2, 3, id="a call and its arguments"),
        pytest.param("abs(x + 1)", 3, 4, id="a call of a call"),
        pytest.param("floor(x)", 2, 4, id="a function that mentions its argument three times"),
    ],
)
def test_depth_and_weight(text: str, depth: int, weight: int) -> None:
    tree = parse(text, {"x": INT})
    assert (tree.depth, tree.weight) == (depth, weight)


def test_the_columns_in_use() -> None:
    assert parse("x + y * x", dict.fromkeys("xyz", INT)).columns == {("", "x"), ("", "y")}
    assert parse_pair("left.x < right.x", {"x": INT}, {"x": INT}).columns == {("left", "x"), ("right", "x")}
    assert ONE.columns == frozenset()


def test_a_shared_node_is_walked_once() -> None:
    tree: Call = Call(INT, "+", (X, ONE))
    for _ in range(60):  # 2^60 paths lead to the column
        tree = Call(INT, "+", (tree, tree))
    assert tree.columns == {("", "x")}
    assert len(tree.children) == 2
    assert X.children == ()


def test_trees_are_values() -> None:
    tree = parse("abs(x) + 1", {"x": INT})
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert {tree, pickle.loads(pickle.dumps(tree))} == {tree}
    assert Call(INT, "abs", (X,), 7, 7) == Call(INT, "abs", (X,))  # the size follows from the rest
    assert ColumnRef(INT, "x", "left") != X
