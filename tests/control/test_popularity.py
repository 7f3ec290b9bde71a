from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

import drover
from drover.control.popularity import ExpectedQueries, popularity_of, topics_expected
from drover.control.query_placer import QueryPlacer
from drover.errors import DroverError
from drover.network.model import Network
from tests.control.test_query_placer import topics_read


def meters() -> Network:
    net = drover.Builder("meters")
    readings = net.source(
        "readings", {"ts": "timestamp", "site": "string", "value": "double", "n": "bigint"}, time="ts"
    )
    readings.filter("hot", "value > 50").output()
    return net.build()


def test_expected_queries_become_the_topics_that_queries_read() -> None:
    given = popularity_of(
        [
            {"queries": 500, "reads": {"readings": "site = 's1'", "hot": "n = 3"}},
            ExpectedQueries(2.0, {"readings": "all"}),
        ]
    )
    assert topics_expected(meters(), given) == (
        ((("readings", "`site`", "s1"), ("hot", "`n`", 3)), 500.0),
        ((("readings", "", None),), 2.0),
    )
    assert popularity_of(None) == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param("much", "popularity is 'much', but it must be a list of expected queries", id="no list"),
        pytest.param([{"queries": True, "reads": {"hot": "all"}}], "popularity.0.queries is True", id="no number"),
        pytest.param(
            [{"queries": 1, "reads": {}}], "popularity.0.reads is .*must be a mapping of streams", id="no stream"
        ),
        pytest.param(
            [{"queries": 1, "reads": {"hut": "all"}}], "hut is unknown, .*Did you mean hot", id="unknown stream"
        ),
        pytest.param([{"queries": 1, "reads": {"hot": "n = 3 AND site = 'a'"}}], "one condition column", id="two keys"),
        pytest.param([{"queries": 1, "reads": {"hot": "value = 3.0"}}], "one condition column", id="a float"),
        pytest.param([{"queries": 1, "reads": {"hot": "m = 3"}}], "popularity.0.reads.hot is", id="unknown column"),
    ],
)
def test_faults_name_the_entry_and_the_way_out(given: Any, said: str) -> None:
    with pytest.raises(DroverError, match=said):
        topics_expected(meters(), popularity_of(given))


def test_expected_queries_go_where_all_of_their_kind_will_be() -> None:
    topics = [("s", "k", value) for value in range(4)]
    expected = [((topic,), 100.0) for topic in topics]
    placer = QueryPlacer(2, default_rng(0), expected=expected)
    placer.set_nodes(2)
    # Only topic 0 arrives at first. Without expectations, its queries would be on both nodes.
    first = placer.place(range(10), topics_read([[topics[0]]] * 10), np.ones(10))
    assert first["node"].n_unique() == 1
    later = placer.place(range(10, 400), topics_read([[topics[n % 4]] for n in range(390)]), np.ones(390))
    nodes = {n: set(later.filter((later["number"] - 10) % 4 == n)["node"]) for n in range(4)}
    assert placer.replication <= 1.5
    assert nodes[0] >= set(first["node"])
    placer.set_nodes(2, closed=[int(first["node"][0])])
    assert placer.place([500], topics_read([[topics[0]]]), np.ones(1))["node"][0] == 1 - first["node"][0]


def test_expected_queries_survive_that_unused_topics_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drover.control.query_placer.LEAST", 4)
    topics = [("s", "k", value) for value in range(20)]
    placer = QueryPlacer(2, default_rng(0), expected=[((topic,), 1.0) for topic in topics[:3]])
    placer.place(range(20), topics_read([[topic] for topic in topics]), np.ones(20))
    placer.remove(range(19))
    assert placer.place([30, 31], topics_read([[topics[0]], [topics[7]]]), np.ones(2)).height == 2
