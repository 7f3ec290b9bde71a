"""A network on a tree: where its units can be, what fits, and what neighbours decide on what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import drover
from drover.control.by_hand import demand_move
from drover.control.climb import climb
from drover.control.explain import explain
from drover.control.loop import step
from drover.control.offer import offer
from drover.control.record import Kind, Record, record_of, to_json
from drover.control.settings import Control, control_of
from drover.control.state import State
from drover.control.tree import Hierarchy, conflicts, faults, hierarchy_of
from drover.control.view import World
from drover.errors import DroverError
from drover.hierarchy.cluster import Cluster, cluster_of
from drover.load.sample import Sample
from drover.load.window import Window
from drover.network.model import Network
from drover.placement.plan import Plan, apply

COLUMNS = {"ts": "timestamp", "key": "int", "amount": "bigint"}
TREE: dict[str, Any] = {
    "tree": {
        "city": {"memory": 1000},
        "west": {"parent": "city", "memory": 100, "sources": ["a"]},
        "east": {"parent": "city", "memory": 100, "sources": ["b"]},
    }
}
CITY, WEST, EAST = range(3)
AUTO = control_of("auto")


def two_sides() -> Network:
    """Two sums over each of two sources, and one over both."""
    net = drover.Builder("sides")
    sums = []
    for name in ("a", "b"):
        rows = net.source(name, COLUMNS, time="ts").filter(f"{name}-some", "key > 0")
        sums += [rows.aggregate(f"{name}-{length}", {"n": "count(*)"}, size=f"{length} s") for length in (1, 2)]
    sums[0].union("both", sums[2]).aggregate("all", {"n": "sum(n)"}, size="4 s").output()
    for each in (sums[1], sums[3]):
        each.output()
    return net.build()


def on(network: Network, given: dict[str, Any] = TREE) -> Hierarchy:
    return hierarchy_of(network, cluster_of(given))


def measured(network: Network, state: dict[str, int], busy: dict[str, float] | None = None) -> State:
    """What the loop remembers after one period of two seconds."""
    samples = [
        Sample(each.name, {}, {}, (busy or {}).get(each.name, 0.0), state.get(each.name, 0))
        for each in network.operators
    ]
    return State(window=Window(60).push(1, 2.0, {"a": 10, "b": 10}, samples))


def first(tree: Hierarchy) -> Plan:
    return Plan(1, len(tree.cluster.nodes), tree.settle(tree.cluster.at))


def test_units_begin_as_low_as_all_their_inputs_pass() -> None:
    found = on(two_sides()).settle({})
    low = {"a-some": WEST, "a-1": WEST, "a-2": WEST, "b-some": EAST, "b-1": EAST, "b-2": EAST}
    assert found == {**low, "both": CITY, "all": CITY}
    raised = on(two_sides(), {**TREE, "at": {"a-1": "city"}})
    assert raised.settle(raised.cluster.at) == {**low, "a-1": CITY, "both": CITY, "all": CITY}


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
    world = World(network, first(tree), frozenset({CITY}), tree)
    with pytest.raises(DroverError, match=words):
        demand_move(unit, node, world)
    with pytest.raises(DroverError, match="reads"):
        tree.demand(world.plan.move(unit, node))
    demand_move("a-2", CITY, world)  # nodes of a tree are never closed
    assert tree.nodes_for("a-2", world.plan.node_of) == [WEST, CITY]


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
    assert tree.settle({}) == {"table:latest": CITY}


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


FULL = {"a-1": 50, "a-2": 20, "b-1": 45, "all": 400}  # west is at 70 %, east at 45 %, the city at 40 %


def test_a_full_node_hands_a_unit_to_its_parent_and_says_why() -> None:
    network = two_sides()
    tree = on(network)
    world, state = World(network, first(tree), hierarchy=tree), measured(network, FULL)
    after, record = step(state, world, AUTO)
    assert record.kind is Kind.MOVED
    assert record.loads == (0.4, 0.7, 0.45)
    assert record.proposal is not None
    assert [str(move) for move in record.proposal.moves] == ["a-2: node 1 -> node 0"]
    assert record.proposal.after == (0.42, 0.5, 0.45)
    assert record.reason == "west is at 70%, above 60%, and hands a-2 to city, which is at 40%"
    assert after.moved == {"a-2": 1}
    moved = replace(world, plan=apply(world.plan, record.proposal.moves))
    told = explain("a-2", after, moved, AUTO, [record])
    assert "a-2 is on node 0 (city)" in told.text
    assert "could also be on node 1 (west), at 50%" in told.text
    assert "hands a-2 to city" in told.decisions[0]


def test_units_that_go_together_have_each_a_reason_of_its_own() -> None:
    network = two_sides()
    tree = on(network)
    world, state = World(network, first(tree), hierarchy=tree), measured(network, {"a-some": 60, "a-1": 30, "a-2": 30})
    after, record = step(state, world, AUTO)
    assert record.reason == "west is at 120%, above 60%, and hands a-1 and a-2 to city, which is at 0%"
    assert record.proposal is not None
    told = "west is at 120%, above 60%, and hands a-2 and 1 more to city, which is at 0%"
    assert dict(record.proposal.reasons)["a-2"] == told
    assert record_of(to_json(record)) == record
    assert explain("a-2", after, world, AUTO, [record]).decisions == (
        f"in period 1 moved (a-2: node 1 -> node 0), {told}",
    )


def test_modes_on_a_tree() -> None:
    network = two_sides()
    tree = on(network)
    world, state = World(network, first(tree), hierarchy=tree), measured(network, FULL)
    same, watched = step(state, world, control_of("observe"))
    assert (same, watched.kind) == (state, Kind.WATCHED)
    assert watched.reason.endswith("1 node above 60%: west at 70%")
    waiting, proposed = step(state, world, control_of("propose"))
    assert proposed.kind is Kind.PROPOSED
    assert waiting.waiting == proposed.proposal
    later = replace(waiting, window=waiting.window.push(2, 2.0, {}, waiting.window.periods[0].samples.values()))
    again, still = step(later, world, control_of("propose"))
    assert (again.waiting, still.reason) == (waiting.waiting, "p1 waits to be applied")
    calm = replace(waiting, window=measured(network, {"a-1": 50}).window)
    assert step(calm, world, control_of("propose"))[0].waiting is None
    asked = offer(state, world, control_of("observe"))
    assert asked.proposal is not None
    assert [move.unit for move in asked.proposal.moves] == ["a-2"]


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        pytest.param({"a-1": 50, "a-2": 20, "a-some": 3}, True, id="it is a little fuller"),
        pytest.param({"a-1": 12, "a-2": 15, "a-some": 45}, True, id="neighbours would agree on something else"),
        pytest.param({"a-1": 15, "a-2": 55}, False, id="its giver would have too little"),
        pytest.param({"a-1": 4, "a-2": 30, "a-some": 36, "all": 580}, False, id="its taker would have too much"),
    ],
)
def test_what_waits_keeps_its_name_while_it_can_be_done_and_helps(sizes: dict[str, int], kept: bool) -> None:
    network = two_sides()
    tree = on(network)
    world, propose = World(network, first(tree), hierarchy=tree), control_of("propose")
    waiting, _ = step(measured(network, FULL), world, propose)
    assert waiting.waiting is not None
    assert [move.unit for move in waiting.waiting.moves] == ["a-2"]
    after, _ = step(replace(waiting, window=measured(network, sizes).window), world, propose)
    assert after.waiting is not None
    assert (after.waiting == waiting.waiting) == kept
    moved = World(network, apply(world.plan, waiting.waiting.moves), hierarchy=tree)
    assert step(waiting, moved, propose)[0].waiting is None, "it has been applied"


def test_nobody_moves_where_nothing_fits() -> None:
    network = two_sides()
    tree = on(network)
    state = measured(network, {**FULL, "all": 590})
    kind, reason = told(step(state, World(network, first(tree), hierarchy=tree), AUTO)[1])
    assert (kind, reason) == (Kind.STEADY, "nothing is handed over; 1 node above 60%: west at 70%")


def told(record: Record) -> tuple[Kind, str]:
    return record.kind, record.reason


@given(
    sizes=st.lists(st.integers(0, 90), min_size=8, max_size=8),
    raised=st.lists(st.booleans(), min_size=8, max_size=8),
    memory=st.integers(50, 400),
)
def test_no_plan_that_comes_of_a_period_leaves_a_unit_without_its_inputs(
    sizes: list[int], raised: list[bool], memory: int
) -> None:
    network = two_sides()
    units = [each.name for each in network.operators]
    given = {**TREE["tree"], "city": {"memory": memory}}
    tree = on(network, {"tree": given, "at": _upwards(network, dict(zip(units, raised, strict=True)))})
    state = measured(network, dict(zip(units, sizes, strict=True)))
    world = World(network, first(tree), hierarchy=tree)
    _, record = climb(state, world, Control(mode=AUTO.mode), tree)
    if record.proposal is None:
        return
    found = apply(world.plan, record.proposal.moves)
    assert list(tree.objections(found.node_of)) == []
    before, after = (tree.levels(plan.node_of, tree.sizes(state.window, network)) for plan in (world.plan, found))
    for node in range(3):
        assert after[node] <= max(before[node], tree.cluster.thresholds.upper)
    assert record.proposal.after == after


def _upwards(network: Network, raised: dict[str, bool]) -> dict[str, str]:
    """Raise operators to the city, with all that read them."""
    found: set[str] = set()
    for operator in network.order:
        if raised[operator.name] or any(stream in found for stream in operator.inputs):
            found.add(operator.name)
    return dict.fromkeys(sorted(found), "city")


def test_a_cluster_may_stand_for_itself() -> None:
    assert isinstance(cluster_of(cluster_of(TREE)), Cluster)
