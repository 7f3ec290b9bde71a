"""Plans: valid when made, and never changed."""

from __future__ import annotations

import pickle

import pytest

import drover
from drover.errors import DroverError
from drover.network.model import Network
from drover.placement.plan import Move, Plan, apply, by_hash, moves, round_robin, units_of


def network() -> Network:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "string"}, time="ts")
    table = net.table("t", {"k": "string", "ts": "timestamp"}, key="k")
    for index in range(5):
        source.filter(f"f{index}", "k = 'a'").output()
    source.write_table("keep", table)
    return net.build()


def test_operators_that_share_a_table_are_one_unit() -> None:
    assert units_of(network()) == ("f0", "f1", "f2", "f3", "f4", "table:t")


def test_round_robin_deals_out_in_turn() -> None:
    assert list(round_robin(network(), 4).node_of.values()) == [0, 1, 2, 3, 0, 1]


def test_a_hash_depends_on_the_name_alone() -> None:
    assert by_hash(network(), 7).node_of == by_hash(network(), 7).node_of
    assert set(by_hash(network(), 2).node_of.values()) == {0, 1}


def test_a_move_makes_a_new_plan() -> None:
    plan = round_robin(network(), 4)
    moved = plan.move("f0", 3)
    assert (plan.node_of["f0"], moved.node_of["f0"], moved.number) == (0, 3, plan.number + 1)
    assert pickle.loads(pickle.dumps(moved)) == moved


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param(2, [0, 1, 0, 1, 0, 1], id="units of removed nodes are dealt out in turn"),
        pytest.param(9, [0, 1, 2, 3, 0, 1], id="new nodes start empty"),
    ],
)
def test_scaling(nodes: int, expected: list[int]) -> None:
    scaled = round_robin(network(), 4).scale(nodes)
    assert (scaled.nodes, list(scaled.node_of.values())) == (nodes, expected)


def test_unknown_units_and_nodes_are_refused_by_name() -> None:
    plan = round_robin(network(), 2)
    with pytest.raises(DroverError, match=r"unit 'f0' is on node 2, but the nodes are 0 to 1"):
        plan.move("f0", 2)
    with pytest.raises(DroverError, match=r"no unit 'g'.*Units: f0, f1"):
        plan.move("g", 0)
    with pytest.raises(DroverError, match="at least one node"):
        plan.scale(0)
    with pytest.raises(DroverError, match="at least one node"):
        Plan(1, 0, {})


def test_moves_lead_from_plan_to_plan() -> None:
    before = Plan(4, 3, {"a": 0, "b": 1})
    after = Plan(9, 3, {"a": 2, "b": 1, "c": 0})
    found = moves(before, after, {"a": 10.0, "c": 7.0})
    assert found == (Move("a", 0, 2, 10.0), Move("c", None, 0, 0.0))
    assert apply(before, found) == Plan(5, 3, after.node_of)
    assert str(found[0]) == "a: node 0 -> node 2"
    with pytest.raises(Exception, match="Compute the moves again"):
        apply(after, found)
