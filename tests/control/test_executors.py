"""Which executors count as lost, and which nodes are closed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.executors import (
    UNKNOWN,
    ExecutorFacts,
    ExecutorLedger,
    ExecutorStatus,
    LostExecutor,
    describe_loss,
    nodes_on,
    nodes_with_room,
)

LOST, RELEASED = ExecutorStatus.LOST, ExecutorStatus.RELEASED


def active(*names: str, slots: int = 1) -> list[ExecutorFacts]:
    return [ExecutorFacts(name, slots) for name in names]


def gone(name: str, status: ExecutorStatus = LOST, slots: int = 1) -> ExecutorFacts:
    return ExecutorFacts(name, slots, status, "it died")


def after(*looks: Sequence[ExecutorFacts], ran: Mapping[str, Sequence[int]] | None = None) -> ExecutorLedger:
    """Return the ledger after several looks at Spark."""
    ledger = ExecutorLedger()
    for found in looks:
        ledger = ledger.after(found, ran or {})
    return ledger


@pytest.mark.parametrize(
    ("looks", "lost"),
    [
        pytest.param([active("1", "2")], {}, id="all executors are there"),
        pytest.param([active("1", "2"), [gone("1"), *active("2")]], {"1": 1}, id="one is lost"),
        pytest.param([active("1", "2"), [gone("1", RELEASED), *active("2")]], {}, id="one is released"),
        pytest.param([active("1", "2"), active("2")], {"1": 1}, id="one that Spark has forgotten is lost"),
        pytest.param([active("1", "2"), [gone("1"), *active("2", "3")]], {}, id="replaced before anybody looked"),
        pytest.param([active("1"), [gone("1")], [gone("1"), *active("2")]], {}, id="replaced later"),
        pytest.param([active("1"), [gone("1")], [gone("1")]], {"1": 1}, id="lost once, however often Spark says so"),
        pytest.param([[gone("0"), *active("1")]], {}, id="lost before the run"),
        pytest.param([active("1"), [gone("2"), *active("1")]], {}, id="one that came and went unseen"),
        pytest.param(
            [active("1", "2"), [gone("1"), gone("2")], [gone("1"), gone("2"), *active("3")]],
            {"2": 1},
            id="one of two is replaced, the oldest loss first",
        ),
        pytest.param(
            [active("1", slots=4), [gone("1", slots=4), *active("2", "3")]], {"1": 2}, id="replaced by smaller ones"
        ),
        pytest.param(
            [active("1", "2"), [gone("1"), *active("2")], [gone("1"), gone("2", RELEASED)]],
            {"1": 1},
            id="a release replaces nothing",
        ),
    ],
)
def test_a_loss_counts_until_other_executors_have_its_slots(
    looks: list[list[ExecutorFacts]], lost: dict[str, int]
) -> None:
    assert {each.name: each.slots for each in after(*looks).lost} == lost


def test_a_loss_has_its_reason_and_its_nodes() -> None:
    found = after(active("1", "2"), [gone("1")], ran={"1": [0, 2]})
    assert found.lost == (LostExecutor("1", "it died", 1, (0, 2)), LostExecutor("2", UNKNOWN, 1, ()))
    assert [str(each) for each in found.lost] == [
        "executor 1 was lost: nodes 0, 2 ran on it",
        "executor 2 was lost: no node ran on it",
    ]
    assert describe_loss(found.lost[0], [2]) == "executor 1 was lost: node 2 ran on it"


@pytest.mark.parametrize(
    ("nodes", "slots", "missing", "room"),
    [
        pytest.param(4, 2, 0, 4, id="all slots are there, and nodes share them"),
        pytest.param(4, 1, 1, 2, id="half of the slots are lost"),
        pytest.param(3, 2, 1, 2, id="one of three"),
        pytest.param(3, 0, 3, 1, id="one node always stays open"),
        pytest.param(4, 8, 4, 4, id="every node still has a slot"),
        pytest.param(4, 3, 9, 3, id="slots that no node needed were lost, too"),
        pytest.param(4, 2, 1, 3, id="nodes shared three slots, and two have room for three nodes"),
        pytest.param(2, -1, 1, 2, id="there was no slot for a node before, either"),
    ],
)
def test_slots_say_how_many_nodes_stay_open(nodes: int, slots: int, missing: int, room: int) -> None:
    assert nodes_with_room(nodes, slots, missing) == room


def ledger(slots: int, *lost: tuple[int, ...]) -> ExecutorLedger:
    """Return a ledger with so many slots, and a lost executor of one slot for each group of nodes."""
    losses = tuple(LostExecutor(f"lost {number}", "", 1, nodes) for number, nodes in enumerate(lost))
    return ExecutorLedger({"rest": slots}, losses)


@pytest.mark.parametrize(
    ("nodes", "drained", "found", "readers", "expected"),
    [
        pytest.param(4, set(), ledger(2), 0, set(), id="nothing is lost"),
        pytest.param(3, set(), ledger(2, (0,)), 0, {0}, id="the node that ran there, whatever its number"),
        pytest.param(4, set(), ledger(1, (0, 2)), 0, {0, 2}, id="both nodes that ran there"),
        pytest.param(4, set(), ledger(3, (0, 1, 2)), 0, {2}, id="no more than slots are missing"),
        pytest.param(4, {1}, ledger(1, (0, 2)), 0, {0, 1, 2}, id="and a node is drained"),
        pytest.param(3, set(), ledger(2, ()), 0, set(), id="no node ran there"),
        pytest.param(2, set(), ledger(4, (1,)), 0, set(), id="enough slots are left"),
        pytest.param(2, set(), ledger(2, (1,)), 0, set(), id="a slot for each node"),
        pytest.param(2, set(), ledger(2, (1,)), 1, {1}, id="but none for a reader"),
        pytest.param(3, set(), ledger(0, (0,), (1,), (2,)), 0, {0, 1}, id="one node always stays open"),
        pytest.param(3, set(), ledger(1, (2,), (0,)), 0, {0, 2}, id="two losses"),
        pytest.param(1, set(), ledger(0, (1,)), 0, set(), id="the plan has no such node any more"),
        pytest.param(2, {0, 1}, ledger(1), 0, {1}, id="all nodes are drained"),
        pytest.param(2, {5}, ledger(1), 0, set(), id="a drained node that is no more"),
    ],
)
def test_closed_nodes(nodes: int, drained: set[int], found: ExecutorLedger, readers: int, expected: set[int]) -> None:
    assert found.closed(nodes, drained, readers) == expected


@given(
    st.integers(1, 6),
    st.integers(0, 6),
    st.lists(st.lists(st.integers(0, 6), unique=True, max_size=4).map(tuple), max_size=4),
    st.integers(0, 1),
)
def test_only_nodes_of_lost_executors_are_closed_and_never_all(
    nodes: int, slots: int, lost: list[tuple[int, ...]], readers: int
) -> None:
    found = ledger(slots, *lost)
    closed = found.closed(nodes, (), readers)
    assert closed <= {node for group in lost for node in group if node < nodes}
    assert len(closed) < nodes
    if slots - readers >= nodes:
        assert not closed


def test_the_newest_batch_says_which_nodes_ran_on_an_executor_or_else_the_one_before() -> None:
    assert nodes_on("1", {0: "1", 1: "2"}, {1: "1"}) == (0,)
    assert nodes_on("1", {0: "2", 1: "2"}, {1: "1", 0: "1"}) == (0, 1)
    assert nodes_on("3", {0: "2"}, {0: "1"}) == ()
