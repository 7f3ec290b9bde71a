"""How a join is spread: by the network, by a request, by a change of shape, and what goes when epochs expire."""

from __future__ import annotations

import pytest

import drover
from drover.errors import DroverError
from drover.flow.frames import FrameKind, FramePort
from drover.flow.instances import (
    chosen_nodes,
    explicit,
    instances_of,
    make_instances,
    obsolete_instances,
    oldest_by_join,
    parse_request,
    port_of,
    request_spread,
    reshape,
    retire_epochs,
    spread_join,
    spread_joins,
    spread_of,
    whole_name,
)
from drover.network.grid import Epoch, Grid, SpreadLike
from drover.network.model import Network
from drover.network.operators import Join
from drover.placement.plan import Instances, Plan

NODES = 3


def network(spread: SpreadLike = "auto") -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, {"ts": "timestamp", "k": "bigint"}, time="ts") for name in "ab")
    a.join("j", b, within="2 s", on="k", select={"k": "left.k"}, spread=spread).output()
    a.join("plain", b, within="2 s", on="k", select={"k": "left.k"}).output()
    return net.build()


def join_of(found: Network) -> Join:
    return spread_join(found, "j")


def plan_of(found: Network) -> Plan:
    return explicit(Plan(1, NODES, {"j": 1, "plain": 0}), found)


def test_instances_follow_the_network_until_the_plan_says_otherwise() -> None:
    found = network(4)
    assert [join.name for join in spread_joins(found)] == ["j"]
    assert instances_of(join_of(found), Plan(1, NODES, {"j": 1, "plain": 0})).others == (2, 0, 1)
    made = make_instances(join_of(found), plan_of(found))
    assert [(instance.name, node) for instance, node in made] == [("j", 1), ("j[1]", 2), ("j[2]", 0), ("j[3]", 1)]
    assert {whole_name(instance) for instance, _ in made} == {"j"}
    assert made[0][0].ports == (port_of(join_of(found), 0), port_of(join_of(found), 1))
    assert made[0][0].outputs == ("j",)


def test_a_port_names_the_stream_the_join_and_the_side() -> None:
    assert port_of(join_of(network()), 1) == FramePort(FrameKind.JOIN_ROWS, "b", "b:j:right")


def test_reshaping_keeps_the_nodes_that_are_known() -> None:
    found = network()
    after = reshape(plan_of(found), join_of(found), Grid(2, 2), nodes=[0])
    assert after.number == 2
    assert after.instances["j"].epochs == (Epoch(0, Grid(1, 1)), Epoch(1, Grid(2, 2), by_row=True))
    assert after.instances["j"].others == (0, 0, 1)  # the first as given, the others after the join's own node


@pytest.mark.parametrize(
    ("spread", "grid", "others"),
    [
        pytest.param((1, 3), Grid(1, 3), (2, 0), id="a grid"),
        pytest.param(2, Grid(2, 1), (2,), id="a number of instances"),
        pytest.param("auto", Grid(1, 1), (), id="auto keeps the shape"),
    ],
)
def test_a_request_is_carried_out_and_noted(spread: SpreadLike, grid: Grid, others: tuple[int, ...]) -> None:
    found = network()
    after = request_spread(plan_of(found), found, "j", spread)
    assert after.instances["j"].epochs[-1].grid.cells == grid.cells
    assert after.instances["j"].others == others
    assert spread_of(join_of(found), after) == parse_request(spread)
    assert request_spread(after, found, "j", spread) is not after  # an equal plan, with its instances explicit
    assert request_spread(after, found, "j", spread) == after


def test_new_instances_avoid_closed_nodes_unless_all_are_closed() -> None:
    found = network()
    assert request_spread(plan_of(found), found, "j", 3, closed={2}).instances["j"].others == (0, 1)
    assert request_spread(plan_of(found), found, "j", 3, closed={0, 1, 2}).instances["j"].others == (2, 0)


@pytest.mark.parametrize(("name", "says"), [("plain", "is not a join that can be spread"), ("jj", "Did you mean j")])
def test_a_join_that_cannot_be_spread_is_refused(name: str, says: str) -> None:
    with pytest.raises(DroverError, match=says):
        request_spread(plan_of(network()), network(), name, 2)


def test_a_request_that_no_join_can_follow_is_refused() -> None:
    with pytest.raises(DroverError, match="spread is 0"):
        parse_request(0)


def test_expired_epochs_go_with_their_instances() -> None:
    found = network()
    plan = reshape(reshape(plan_of(found), join_of(found), Grid(4, 1)), join_of(found), Grid(1, 2))
    assert retire_epochs(plan, found, {"j": 0}) is plan
    after = retire_epochs(plan, found, {"j": None})
    assert after.number == plan.number + 1
    assert after.instances["j"] == Instances((Epoch(2, Grid(1, 2)),), (2,))
    units = ["j", "j[1]", "j[2]", "j[3]", "plain"]
    assert obsolete_instances(units, plan, found) == frozenset()
    assert obsolete_instances(units, after, found) == {"j[2]", "j[3]"}


def test_the_oldest_epoch_of_a_join_is_the_least_of_its_instances() -> None:
    shown = [("j", 3), ("j", None), ("j", 2), ("other", None)]
    assert oldest_by_join(shown) == {"j": 2, "other": None}


def test_new_cells_go_to_the_freest_nodes_and_weights_follow_what_is_free() -> None:
    found = network()
    nodes, (rows, columns) = chosen_nodes(plan_of(found), join_of(found), Grid(2, 1), [0.1, 0.2, 0.8])
    assert nodes == (1, 2)
    assert rows[1] / rows[0] == pytest.approx(4.0)
    assert len(columns) == 1
