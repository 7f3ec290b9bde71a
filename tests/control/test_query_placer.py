"""Queries on nodes: topics stay together, closed nodes stay empty, and a restart changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.query_placer import QueryPlacer, TopicsRead
from drover.control.refinement import Refinement
from drover.errors import DroverError

Topic = tuple[str, str, int]
TOPICS = [("s", "k", value) for value in range(6)]


def topics_read(read: Sequence[Collection[Topic]]) -> TopicsRead:
    """The topics of queries, each given by its own."""
    topics = tuple(dict.fromkeys(topic for one in read for topic in one))
    numbers = [[topics.index(topic) for topic in dict.fromkeys(one)] for one in read]
    start = np.concatenate([[0], np.cumsum([len(one) for one in numbers])]).astype(np.int64)
    return TopicsRead(topics, start, np.array([number for one in numbers for number in one], dtype=np.int64))


def members(count: int, start: int = 0) -> tuple[list[int], TopicsRead]:
    numbers = list(range(start, start + count))
    return numbers, topics_read([[TOPICS[number % len(TOPICS)]] for number in numbers])


def place(placer: QueryPlacer, count: int, start: int = 0) -> pl.DataFrame:
    numbers, topics = members(count, start)
    return placer.place(numbers, topics, np.ones(count))


def test_queries_of_one_topic_are_mostly_together_and_nodes_are_even() -> None:
    placer = QueryPlacer(2, np.random.default_rng(0))
    nodes = place(placer, 600)["node"]
    assert nodes.n_unique() == 2
    assert abs(int((nodes == 0).sum()) - 300) < 60
    assert 1 <= placer.replication < 1.6


def test_a_closed_node_gets_nothing_and_an_emptied_one_loses_all() -> None:
    placer = QueryPlacer(3, np.random.default_rng(0), closed=[1])
    first = place(placer, 60)
    assert set(first["node"]) == {0, 2}
    moved = placer.set_nodes(3, closed=[1, 2])
    assert sorted(moved["number"]) == sorted(first.filter(node=2)["number"])
    assert set(moved["node"]) == {0}
    assert placer.set_nodes(3, closed=[1, 2]).height == 0
    assert set(place(placer, 6, 60)["node"]) == {0}


def test_a_node_that_joins_takes_new_queries_and_leaves_the_others() -> None:
    placer = QueryPlacer(1, np.random.default_rng(0))
    first = place(placer, 60)
    assert placer.set_nodes(3).height == 0
    assert placer.nodes_of(range(60)).equals(first)
    assert set(place(placer, 60, 60)["node"]) == {1, 2}  # until each has its share
    assert set(placer.set_nodes(3, closed=[1, 2])["node"]) == {0}


def test_queries_that_have_not_run_yet_are_placed_again_when_a_node_joins() -> None:
    placer = QueryPlacer(2, np.random.default_rng(0))
    first = place(placer, 100)
    place(placer, 40, 100)
    moved = placer.set_nodes(3, waiting=[*range(100, 140), 999])
    assert sorted(moved["number"]) == list(range(100, 140))
    assert int((moved["node"] == 2).sum()) >= 30
    assert placer.nodes_of(range(100)).equals(first)
    assert placer.set_nodes(3, waiting=range(100, 140)).height == 0, "nothing has changed"


@given(seed=st.integers(0, 99), gone=st.sets(st.integers(0, 2), max_size=2))
def test_a_restored_placer_knows_the_node_of_every_query(seed: int, gone: set[int]) -> None:
    before = QueryPlacer(3, np.random.default_rng(seed))
    placed = place(before, 30)
    after = QueryPlacer(3, np.random.default_rng(seed), closed=gone)
    numbers, topics = members(30)
    after.restore(numbers, topics, placed["node"])
    moved = after.set_nodes(3, gone)
    assert sorted(moved["number"]) == sorted(placed.filter(pl.col("node").is_in(list(gone)))["number"])
    assert not set(moved["node"]) & gone
    after.remove(numbers[:10])
    after.remove(numbers[:10])  # unknown numbers are ignored
    assert not set(place(after, 12, 30)["node"]) & gone
    after.update_rates({TOPICS[0]: 5.0, "unused": 1.0})
    assert after.replication >= 1


def test_a_moved_query_counts_on_its_new_node() -> None:
    placer = QueryPlacer(2, np.random.default_rng(0))
    nodes = dict(place(placer, 60).iter_rows())
    before = placer.replication
    for number, node in nodes.items():
        placer.move(number, 1 - node)  # all of them: the same placement with the nodes exchanged
    assert dict(placer.nodes_of(list(nodes)).iter_rows()) == {number: 1 - node for number, node in nodes.items()}
    assert placer.replication == before
    for number in nodes:
        placer.move(number, 1)
    assert placer.replication == 1
    assert set(place(placer, 40, 60)["node"]) == {0}  # node 0 is empty
    assert sorted(placer.set_nodes(2, closed=[1])["number"]) == sorted(nodes)


@pytest.mark.parametrize(
    ("number", "node", "said"),
    [
        pytest.param(9, 0, "is gone or parked", id="unknown query"),
        pytest.param(0, 3, "the nodes are 0 to 2", id="unknown node"),
        pytest.param(0, -1, "the nodes are 0 to 2", id="negative node"),
        pytest.param(0, 1, "node 1 is lost or is being emptied", id="a closed node"),
    ],
)
def test_a_refused_move_moves_nothing(number: int, node: int, said: str) -> None:
    placer = QueryPlacer(3, np.random.default_rng(0), closed=[1])
    with pytest.raises(DroverError, match="is gone or parked"):
        placer.move(number, node)
    placed = place(placer, 6)
    with pytest.raises(DroverError, match=said):
        placer.move(number, node)
    assert placer.nodes_of(range(6)).equals(placed)


@given(seed=st.integers(0, 99), most=st.integers(0, 20))
def test_refinement_moves_few_queries_and_reduces_replication(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    placer = QueryPlacer(3, rng)
    assert placer.refine(most) == Refinement()
    numbers = place(placer, 60)["number"].to_list()
    for number in numbers:
        placer.move(number, int(rng.integers(3)))
    before = placer.replication
    nodes = dict(placer.nodes_of(numbers).iter_rows())
    found = placer.refine(most)
    moved = found.numbers
    after = dict(placer.nodes_of(numbers).iter_rows())
    assert len(moved) <= most
    assert found.charge <= most
    assert sorted(moved) == sorted(number for number in numbers if nodes[number] != after[number])
    full = {node for node in range(3) if list(nodes.values()).count(node) > 60 / 3 + 10}
    if not full:  # only then may a move have another reason than less traffic
        assert found.relieved == 0
        assert placer.replication < before if moved else placer.replication == before
    assert found.relieved <= len([number for number in moved if nodes[number] in full])
    assert found.relieved >= min(most, sum(list(nodes.values()).count(node) - 30 for node in full))


@given(seed=st.integers(0, 1000))
def test_forgetting_unused_topics_changes_nothing_else(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drover.control.query_placer.LEAST", 8)
        _compare_with_a_placer_that_forgets_nothing(np.random.default_rng(seed))


def _compare_with_a_placer_that_forgets_nothing(rng: np.random.Generator) -> None:
    forgets, remembers = (QueryPlacer(3, np.random.default_rng(0)) for _ in range(2))
    remembers._many = 10**9
    here: list[int] = []
    for step in range(12):
        numbers = list(range(10 * step, 10 * step + 10))
        topics = [[("s", "k", int(value)) for value in rng.integers(0, 15, 2) + 15 * step] for _ in numbers]
        placed = [placer.place(numbers, topics_read(topics), np.ones(10)) for placer in (forgets, remembers)]
        assert placed[0].equals(placed[1])
        here = [*here, *numbers]
        gone = rng.choice(here, min(len(here) - 3, 10), replace=False).tolist()
        here = [number for number in here if number not in gone]
        for placer in (forgets, remembers):
            placer.update_rates({topic: 1.0 + topic[2] % 3 for read in topics for topic in read})
            placer.remove(gone)
        assert forgets.nodes_of(here).equals(remembers.nodes_of(here))
        assert forgets.replication == remembers.replication
    assert len(forgets._topics) < len(remembers._topics)


@given(seed=st.integers(0, 1000))
def test_some_queries_have_the_topics_they_had_among_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    read = [[TOPICS[topic] for topic in rng.permutation(6)[: rng.integers(1, 4)]] for _ in range(7)]
    chosen = rng.random(7) < 0.5
    some = topics_read(read).only(chosen)
    found = [[some.topics[t] for t in some.topic[a:b]] for a, b in zip(some.start, some.start[1:], strict=False)]
    assert found == [one for one, here in zip(read, chosen, strict=True) if here]
