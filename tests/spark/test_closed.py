"""Which nodes are closed when nodes are drained and executors are lost."""

from __future__ import annotations

import pytest

from drover.spark.closed import SlotWatch, closed_nodes


@pytest.mark.parametrize(
    ("nodes", "drained", "now", "most", "expected"),
    [
        pytest.param(4, set(), 2, 2, set(), id="all slots are there"),
        pytest.param(4, set(), 1, 2, {2, 3}, id="half of the slots are lost"),
        pytest.param(4, {0}, 1, 2, {0, 2, 3}, id="and a node is drained"),
        pytest.param(3, set(), 2, 3, {2}, id="one of three"),
        pytest.param(3, set(), 0, 3, {1, 2}, id="one node always stays open"),
        pytest.param(2, {0, 1}, 1, 1, {1}, id="also if all are drained"),
        pytest.param(2, {5}, 1, 1, set(), id="a drained node that is no more"),
    ],
)
def test_closed_nodes(nodes: int, drained: set[int], now: int, most: int, expected: set[int]) -> None:
    assert closed_nodes(nodes, drained, now, most) == expected


def test_lost_slots_close_nodes_until_they_are_back() -> None:
    slots = 4
    watch = SlotWatch(lambda: slots)
    watch.watch()
    assert watch.closed(4, ()) == set()
    slots = 3
    assert watch.closed(4, ()) == {3}
    slots = 8
    assert watch.closed(4, ()) == set()
    slots = 4
    assert watch.closed(4, ()) == {2, 3}  # half of the most that there were


@pytest.mark.parametrize("count", [None, lambda: 0], ids=["slots cannot be lost", "no executor yet"])
def test_without_slots_to_count_only_drained_nodes_are_closed(count: None) -> None:
    watch = SlotWatch(count)
    watch.watch()
    assert watch.closed(3, {1}) == {1}
