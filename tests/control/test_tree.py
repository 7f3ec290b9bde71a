"""A network on a tree: where its units can be, what fits, and what neighbours decide on what was measured."""

from __future__ import annotations

from typing import Any

import pytest

import drover
from drover.control.context import Deployment
from drover.control.manual import check_move
from drover.control.settings import control_of
from drover.control.tree import conflicts, faults
from drover.errors import DroverError
from drover.hierarchy.cluster import TreeCluster, cluster_of
from drover.hierarchy.node_state import NodeConfig
from drover.hierarchy.thresholds import TreeThresholds
from drover.load.sample import Sample
from drover.network.model import Network
from drover.placement.plan import Plan
from tests.control.trees import AUTO, CITY, COLUMNS, EAST, TREE, WEST, first, measured, on, two_sides


def test_units_begin_as_low_as_all_their_inputs_pass() -> None:
    found = on(two_sides()).complete_placement({})
    low = {"a-some": WEST, "a-1": WEST, "a-2": WEST, "b-some": EAST, "b-1": EAST, "b-2": EAST}
    assert found == {**low, "both": CITY, "all": CITY}
    raised = on(two_sides(), {**TREE, "at": {"a-1": "city"}})
    assert raised.complete_placement(raised.cluster.at) == {**low, "a-1": CITY, "both": CITY, "all": CITY}


@pytest.mark.parametrize(
    ("unit", "node", "words"),
    [
        pytest.param("a-some", EAST, r"enter at node 1 \(west\).*it can be on node 1 \(west\)", id="not to a cousin"),
        pytest.param("a-some", CITY, r"a-1 reads a-some, on node 0 .*it can be on node 1", id="not above its readers"),
        pytest.param("both", WEST, r"both reads b-1, on node 2 .*it can be on node 0", id="not below its inputs"),
    ],
)
def test_a_unit_goes_nowhere_without_its_inputs(unit: str, node: int, words: str) -> None:
    network = two_sides()
    tree = on(network)
    deployment = Deployment(network, first(tree), frozenset({CITY}), tree)
    with pytest.raises(DroverError, match=words):
        check_move(unit, node, deployment)
    with pytest.raises(DroverError, match="reads"):
        tree.check_plan(deployment.plan.move(unit, node))
    check_move("a-2", CITY, deployment)  # nodes of a tree are never closed
    assert tree.nodes_for("a-2", deployment.plan.node_of) == [WEST, CITY]


def test_the_words_for_a_unit_without_its_inputs() -> None:
    tree = on(two_sides())
    node_of = first(tree).node_of
    reads = "a-some reads rows that enter at node 1 (west), and they do not pass node 2 (east)"
    made = "both reads a-1, on node 1 (west), and what is made there does not pass node 2 (east)"
    below = "a-1 reads a-some, on node 0 (city), and what is made there does not pass node 1 (west)"
    also = "a-2 reads a-some, on node 0 (city), and what is made there does not pass node 1 (west)"
    assert list(tree.objections({**node_of, "a-some": CITY})) == [("a-1", below), ("a-2", also)]
    assert ("both", made) in list(tree.objections({**node_of, "both": EAST}))
    said = {}
    for node in (EAST, -1, 3):
        with pytest.raises(DroverError) as caught:
            tree.check_move("a-some", node, node_of)
        said[node] = str(caught.value)
    can = "If nothing else moves, it can be on node 1 (west)."
    assert said[EAST] == f"a-some cannot go to node 2 (east): {reads}. {can}"
    assert said[-1] == f"a-some cannot go to node -1: the tree has nodes 0 to 2. {can}"
    assert said[3] == f"a-some cannot go to node 3: the tree has nodes 0 to 2. {can}"
    with pytest.raises(DroverError) as caught:
        tree.check_plan(first(tree).move("a-some", EAST))
    assert str(caught.value) == f"{reads}. Put every unit where all its inputs pass, or above."


def test_a_plan_has_as_many_nodes_as_the_tree() -> None:
    tree = on(two_sides())
    plan = first(tree)
    assert tree.check_plan(plan) is plan
    with pytest.raises(DroverError, match=r"the plan has 4 nodes, but the tree has 3\. The number of nodes of a"):
        tree.check_plan(Plan(1, 4, plan.node_of))


def test_every_node_gets_its_part_of_the_tree() -> None:
    tree = on(two_sides(), {**TREE, "marks": {"lower": 0.3}})
    cluster = tree.cluster
    assert tree.node_configs() == [
        NodeConfig(i, cluster.tree, tree.queries, (size,), TreeThresholds(0.3, 0.6, least=0.01))
        for i, size in enumerate([1000.0, 100.0, 100.0])
    ]


def with_tables() -> Network:
    """A table that is written from one source and read from another."""
    net = drover.Builder("tables")
    table = net.table("latest", {"ts": "timestamp", "key": "int", "amount": "bigint"}, key="key")
    a = net.source("a", COLUMNS, time="ts")
    b = net.source("b", {"key": "int"})
    a.write_table("remember", table)
    b.read_table("recall", table, on="key", columns="amount").output()
    return net.build()


def test_operators_of_a_table_go_together_where_all_their_inputs_pass() -> None:
    tree = on(with_tables())
    assert tree.units == ("table:latest",)
    assert tree.complete_placement({}) == {"table:latest": CITY}
    state = measured(with_tables(), {"remember": 30, "recall": 5})
    assert tree.sizes(state.window, with_tables()) == ((35.0,),)


ALONE = {"city": {"cpu": 1, "sources": ["a", "b", "c"]}}
MISFITS = [
    pytest.param(
        {"tree": {"city": {"cpu": 1, "sources": ["a"]}}},
        "tree is without the source b, but every source needs a node where its rows enter. "
        "Add sources: [b] to that node.",
        id="one enters nowhere",
    ),
    pytest.param(
        {"tree": ALONE},
        "tree.city.sources is 'c', but the network has no such source. Known: a, b.",
        id="a strange source",
    ),
    pytest.param(
        {"tree": {"city": {"cpu": 1, "sources": ["a", "bb"]}}},
        "tree.city.sources is 'bb', but the network has no such source. Did you mean b? Known: a, b.",
        id="a misspelt source",
    ),
    pytest.param(
        {**TREE, "at": {"a-11": "city"}},
        "at.a-11 is unknown, but the network has no such unit. Did you mean a-1? "
        "Known: a-some, a-1, a-2, b-some, b-1, b-2, both, all.",
        id="a strange unit",
    ),
    pytest.param(
        {**TREE, "at": {"a-1": "east"}},
        "at.a-1 is east, but a-1 reads a-some, on node 1 (west), and what is made there does not pass node 2 (east). "
        "Name west or a node above it, or leave it out.",
        id="an odd beginning",
    ),
]


@pytest.mark.parametrize(("given", "words"), MISFITS)
def test_a_tree_that_does_not_fit_says_why(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DroverError) as caught:
        on(two_sides(), given)
    assert str(caught.value) == f"cluster.{words}"


def test_all_misfits_are_found_at_once() -> None:
    given = {"tree": {"city": {"cpu": 1, "sources": ["c", "a"]}}, "at": {"x": "city", "y": "city"}}
    found = [fault.path for fault in faults(two_sides(), cluster_of(given))]
    assert found == [("tree", "city", "sources"), ("tree",), ("at", "x"), ("at", "y")]


def test_joins_that_are_spread_do_not_run_on_a_tree() -> None:
    net = drover.Builder("spread")
    a, b = (net.source(name, COLUMNS, time="ts") for name in ("a", "b"))
    a.join("pairs", b, within="1 s", on="key", select={"x": "left.amount"}, spread=2).output()
    (fault,) = faults(net.build(), cluster_of(TREE))
    assert fault.text == (
        "tree is given, but join pairs is spread, and its instances would be where inputs do not pass. "
        "Leave spread out of the join, or run without a tree."
    )


def test_what_a_tree_leaves_no_room_for_is_refused() -> None:
    cluster = cluster_of(TREE)
    said = control_of({"mode": "auto", "period": 2, "seed": 1, "pins": {"a-1": 0}, "payback": 3})
    found = [fault.field for fault in conflicts(cluster, said, 7, "hash", takes_queries=True)]
    assert found == ["control.payback", "control.pins", "nodes", "plan", "queries"]
    assert list(conflicts(cluster, AUTO, 3, "round-robin", takes_queries=False)) == []
    said = control_of({"trial": 1})
    assert [fault.text for fault in conflicts(cluster, said, 7, "hash", takes_queries=True)] == [
        "control.trial is given, but the nodes of a tree decide by their marks. Leave it out; see cluster.marks.",
        "nodes is 7, but the tree of the cluster has 3 nodes. Leave it out.",
        "plan is hash, but on a tree, units start as low as they can, or where cluster.at puts them. Leave it out.",
        (
            "queries is given, but submitted queries may be on any node, but on a tree rows do not pass every node. "
            "Leave queries out, or run without a tree."
        ),
    ]


def test_a_unit_is_as_large_as_its_state_and_its_share_of_the_time() -> None:
    network = two_sides()
    both = {"tree": {name: {**node, "cpu": 1} for name, node in TREE["tree"].items()}}
    tree = on(network, both)
    state = measured(network, {"a-1": 30, "a-2": 10}, {"a-1": 0.5, "all": 1.0})
    sizes = dict(zip(tree.units, tree.sizes(state.window, network), strict=True))
    assert (sizes["a-1"], sizes["a-2"], sizes["all"]) == ((30.0, 0.25), (10.0, 0.0), (0.0, 0.5))
    assert tree.levels(first(tree).node_of, tree.sizes(state.window, network)) == (0.5, 0.4, 0.0)


def test_a_unit_keeps_its_newest_size_until_it_is_measured_again() -> None:
    network = two_sides()
    tree = on(network, {"tree": {name: {**node, "cpu": 1} for name, node in TREE["tree"].items()}})
    window = measured(network, {"a-1": 30, "a-2": 10}, {"a-1": 0.5}).window
    window = window.push(2, 4.0, {}, [Sample("a-2", {}, {}, 1.0, 20)])
    sizes = dict(zip(tree.units, tree.sizes(window, network), strict=True))
    assert (sizes["a-1"], sizes["a-2"]) == ((30.0, 0.0), (20.0, 0.25))


def test_a_cluster_may_stand_for_itself() -> None:
    assert isinstance(cluster_of(cluster_of(TREE)), TreeCluster)
