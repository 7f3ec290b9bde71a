from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.hierarchy.queries import Queries, placement_faults
from drover.hierarchy.transfers import Transfer, open_transfers
from drover.hierarchy.tree import ROOT, Tree
from tests.hierarchy.worlds import placed, trees

PATH = Tree((ROOT, 0, 1))  # 2 -> 1 -> 0, the middle one has a parent and a child
FORK = Tree((ROOT, 0, 1, 1))  # 2 and 3 -> 1 -> 0


@pytest.mark.parametrize(
    ("tree", "queries", "expected"),
    [
        pytest.param(PATH, Queries(((),), ((2,),)), {((0,), 0), ((0,), 2)}, id="first scenario: up, or down"),
        pytest.param(
            PATH,
            Queries(((), (0,)), ((2,), ())),
            {((0, 1), 0), ((0,), 2), ((1,), 0), ((0, 1), 2)},
            id="second scenario: both or one, up or down",
        ),
        pytest.param(FORK, Queries(((),), ((2, 3),)), {((0,), 0)}, id="third scenario: two inputs go up alone"),
        pytest.param(
            FORK,
            Queries(((), (0,)), ((2, 3), ())),
            {((0, 1), 0), ((1,), 0)},
            id="behind two inputs nothing goes down, since the first would have to come along",
        ),
        pytest.param(
            PATH, Queries(((),), ((1,),)), {((0,), 0)}, id="a source that enters here does not pass the child"
        ),
        pytest.param(
            PATH,
            Queries(((), (0,), (0,)), ((2,), (), ())),
            {((0, 1, 2), 0), ((0,), 2), ((1,), 0), ((0, 1), 2), ((2,), 0), ((0, 2), 2)},
            id="two readers go up with what they read, and down without each other",
        ),
    ],
)
def test_the_scenarios_of_the_text(tree: Tree, queries: Queries, expected: set[tuple[tuple[int, ...], int]]) -> None:
    found = list(open_transfers(tree, queries, 1, range(len(queries))))
    assert {(each.operators, each.receiver) for each in found} == expected


def test_the_child_that_feeds_a_chain_is_the_one_its_rows_come_through() -> None:
    queries = Queries(((), (0,)), ((3,), ()))  # operator 0 below, on node 3
    assert list(open_transfers(FORK, queries, 1, {1})) == [Transfer((1,), 0), Transfer((1,), 3)]


def test_readers_on_other_nodes_stay_there() -> None:
    queries = Queries(((), (0,), (0,), (1, 2)), ((2,), (), (), ()))  # operator 2 above, on node 0
    found = list(open_transfers(PATH, queries, 1, {0, 1}))
    assert found == [Transfer((0, 1), 0), Transfer((0,), 2), Transfer((1,), 0), Transfer((0, 1), 2)]


@given(trees(), st.data())
def test_transfers_of_distinct_operators_keep_a_placement_sound(tree: Tree, data: st.DataObject) -> None:
    queries, node_of = data.draw(placed(tree))
    assert list(placement_faults(tree, queries, node_of)) == []
    node = data.draw(st.sampled_from(node_of))
    found = list(open_transfers(tree, queries, node, {j for j, at in enumerate(node_of) if at == node}))
    moved: set[int] = set()
    for transfer in data.draw(st.permutations(found)):
        assert transfer.receiver in tree.neighbours(node)
        if moved.isdisjoint(transfer.operators):
            moved.update(transfer.operators)
            for j in transfer.operators:
                node_of[j] = transfer.receiver
            assert list(placement_faults(tree, queries, node_of)) == []


@given(trees(), st.data())
def test_an_operator_that_reads_one_thing_can_leave_towards_every_node_that_can_run_it(
    tree: Tree, data: st.DataObject
) -> None:
    queries, node_of = data.draw(placed(tree))
    for j, node in enumerate(node_of):
        assert tree.below(queries.lowest(tree, j), node)
        ways = {each.receiver for each in open_transfers(tree, queries, node, {j}) if j in each.operators}
        assert (tree.parent[node] in ways) == (node != tree.root)
