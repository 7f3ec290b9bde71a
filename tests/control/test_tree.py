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
from drover.network.model import Network
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            {"tree": {"city": {"cpu": 1, "sources": ["a"]}}}, "tree is without the source b", id="one enters nowhere"
        ),
        pytest.param(
            {"tree": {"city": {"cpu": 1, "sources": ["a", "b", "c"]}}},
            "tree.city.sources is 'c'",
            id="a strange source",
        ),
        pytest.param({**TREE, "at": {"a-3": "city"}}, "at.a-3 is unknown.*Did you mean a-", id="a strange unit"),
        pytest.param(
            {**TREE, "at": {"a-1": "east"}}, "at.a-1 is east, .*does not pass node 2 .*Name west", id="an odd beginning"
        ),
    ],
)
def test_a_tree_that_does_not_fit_says_why(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DroverError, match=f"cluster.{words}"):
        on(two_sides(), given)


def test_joins_that_are_spread_do_not_run_on_a_tree() -> None:
    net = drover.Builder("spread")
    a, b = (net.source(name, COLUMNS, time="ts") for name in ("a", "b"))
    a.join("pairs", b, within="1 s", on="key", select={"x": "left.amount"}, spread=2).output()
    (fault,) = faults(net.build(), cluster_of(TREE))
    assert "join pairs is spread" in fault.text


def test_what_a_tree_leaves_no_room_for_is_refused() -> None:
    cluster = cluster_of(TREE)
    said = control_of({"mode": "auto", "period": 2, "seed": 1, "pins": {"a-1": 0}, "payback": 3})
    found = [fault.field for fault in conflicts(cluster, said, 7, "hash", takes_queries=True)]
    assert found == ["control.payback", "control.pins", "nodes", "plan", "queries"]
    assert list(conflicts(cluster, AUTO, 3, "round-robin", takes_queries=False)) == []


def test_a_unit_is_as_large_as_its_state_and_its_share_of_the_time() -> None:
    network = two_sides()
    both = {"tree": {name: {**node, "cpu": 1} for name, node in TREE["tree"].items()}}
    tree = on(network, both)
    state = measured(network, {"a-1": 30, "a-2": 10}, {"a-1": 0.5, "all": 1.0})
    sizes = dict(zip(tree.units, tree.sizes(state.window, network), strict=True))
    assert (sizes["a-1"], sizes["a-2"], sizes["all"]) == ((30.0, 0.25), (10.0, 0.0), (0.0, 0.5))
    assert tree.levels(first(tree).node_of, tree.sizes(state.window, network)) == (0.5, 0.4, 0.0)


def test_a_cluster_may_stand_for_itself() -> None:
    assert isinstance(cluster_of(cluster_of(TREE)), TreeCluster)
