"""Queries on nodes: topics together, closed nodes empty, and the same again after a restart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.pasture import Pasture
from drover.errors import DroverError

TOPICS = [("s", "k", value) for value in range(6)]


def members(count: int, start: int = 0) -> tuple[list[int], list[list[tuple[str, str, int]]]]:
    numbers = list(range(start, start + count))
    return numbers, [[TOPICS[number % len(TOPICS)]] for number in numbers]


def place(pasture: Pasture, count: int, start: int = 0) -> pl.DataFrame:
    numbers, topics = members(count, start)
    return pasture.place(numbers, topics, np.ones(count))


def test_queries_of_one_topic_are_mostly_together_and_nodes_are_even() -> None:
    pasture = Pasture(2, np.random.default_rng(0))
    nodes = place(pasture, 600)["node"]
    assert nodes.n_unique() == 2
    assert abs(int((nodes == 0).sum()) - 300) < 60
    assert 1 <= pasture.replication < 1.6


def test_a_closed_node_gets_nothing_and_an_emptied_one_loses_all() -> None:
    pasture = Pasture(3, np.random.default_rng(0), closed=[1])
    first = place(pasture, 60)
    assert set(first["node"]) == {0, 2}
    moved = pasture.settle(3, closed=[1, 2])
    assert sorted(moved["number"]) == sorted(first.filter(node=2)["number"])
    assert set(moved["node"]) == {0}
    assert pasture.settle(3, closed=[1, 2]).height == 0
    assert set(place(pasture, 6, 60)["node"]) == {0}


def test_more_nodes_are_used() -> None:
    pasture = Pasture(1, np.random.default_rng(0))
    place(pasture, 60)
    assert set(pasture.settle(3)["node"]) == {0, 1, 2}


@given(seed=st.integers(0, 99), gone=st.sets(st.integers(0, 2), max_size=2))
def test_a_restored_herd_knows_where_everybody_is(seed: int, gone: set[int]) -> None:
    before = Pasture(3, np.random.default_rng(seed))
    placed = place(before, 30)
    after = Pasture(3, np.random.default_rng(seed), closed=gone)
    numbers, topics = members(30)
    after.restore(numbers, topics, placed["node"])
    moved = after.settle(3, gone)
    assert sorted(moved["number"]) == sorted(placed.filter(pl.col("node").is_in(list(gone)))["number"])
    assert not set(moved["node"]) & gone
    after.leave(numbers[:10])
    after.leave(numbers[:10])  # who is gone is gone
    assert not set(place(after, 12, 30)["node"]) & gone
    after.measure({TOPICS[0]: 5.0, "nobody's": 1.0})
    assert after.replication >= 1


def test_who_is_moved_by_hand_counts_where_it_is() -> None:
    pasture = Pasture(2, np.random.default_rng(0))
    nodes = dict(place(pasture, 60).iter_rows())
    before = pasture.replication
    for number, node in nodes.items():
        pasture.move(number, 1 - node)  # everybody: the same again, the other way round
    assert dict(pasture.nodes_of(list(nodes)).iter_rows()) == {number: 1 - node for number, node in nodes.items()}
    assert pasture.replication == before
    for number in nodes:
        pasture.move(number, 1)
    assert pasture.replication == 1
    assert set(place(pasture, 40, 60)["node"]) == {0}  # there is room
    assert sorted(pasture.settle(2, closed=[1])["number"]) == sorted(nodes)


@pytest.mark.parametrize(
    ("number", "node", "said"),
    [
        pytest.param(9, 0, "is gone or parked", id="nobody"),
        pytest.param(0, 3, "the nodes are 0 to 2", id="no node"),
        pytest.param(0, -1, "the nodes are 0 to 2", id="before the first"),
        pytest.param(0, 1, "node 1 is lost or is being emptied", id="a closed node"),
    ],
)
def test_a_bad_move_moves_nobody(number: int, node: int, said: str) -> None:
    pasture = Pasture(3, np.random.default_rng(0), closed=[1])
    with pytest.raises(DroverError, match="is gone or parked"):
        pasture.move(number, node)
    placed = place(pasture, 6)
    with pytest.raises(DroverError, match=said):
        pasture.move(number, node)
    assert pasture.nodes_of(range(6)).equals(placed)


@given(seed=st.integers(0, 99), most=st.integers(0, 20))
def test_refinement_moves_few_and_rows_travel_less(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    pasture = Pasture(3, rng)
    assert pasture.refine(most) == []
    numbers = place(pasture, 60)["number"].to_list()
    for number in numbers:
        pasture.move(number, int(rng.integers(3)))
    before, nodes = pasture.replication, dict(pasture.nodes_of(numbers).iter_rows())
    moved = pasture.refine(most)
    after = dict(pasture.nodes_of(numbers).iter_rows())
    assert len(moved) <= most
    assert sorted(moved) == sorted(number for number in numbers if nodes[number] != after[number])
    assert pasture.replication < before if moved else pasture.replication == before


@given(seed=st.integers(0, 1000))
def test_topics_that_nobody_wants_are_forgotten_and_nothing_else_changes(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drover.control.pasture.LEAST", 8)
        _compare_with_one_that_remembers(np.random.default_rng(seed))


def _compare_with_one_that_remembers(rng: np.random.Generator) -> None:
    forgets, remembers = (Pasture(3, np.random.default_rng(0)) for _ in range(2))
    remembers._many = 10**9
    here: list[int] = []
    for turn in range(12):
        numbers = list(range(10 * turn, 10 * turn + 10))
        topics = [[("s", "k", int(value)) for value in rng.integers(0, 15, 2) + 15 * turn] for _ in numbers]
        placed = [pasture.place(numbers, topics, np.ones(10)) for pasture in (forgets, remembers)]
        assert placed[0].equals(placed[1])
        here = [*here, *numbers]
        gone = rng.choice(here, min(len(here) - 3, 10), replace=False).tolist()
        here = [number for number in here if number not in gone]
        for pasture in (forgets, remembers):
            pasture.measure({topic: 1.0 + topic[2] % 3 for wanted in topics for topic in wanted})
            pasture.leave(gone)
        assert forgets.nodes_of(here).equals(remembers.nodes_of(here))
        assert forgets.replication == remembers.replication
    assert len(forgets._topics) < len(remembers._topics)
