from __future__ import annotations

import numpy as np
import pytest

from drover.herding.problem import HerdingProblem
from drover_lab.herding.score import least_traffic, replication, score, server_loads, server_traffic, subscribed_rate

# Three queries: {0, 1}, {1}, {0}; source 2 has no subscriber.
PROBLEM = HerdingProblem(
    start=np.array([0, 2, 3, 4]), source=np.array([0, 1, 1, 0]), rate=np.array([1.0, 2.0, 4.0]), capacity=np.ones(2)
)
APART = np.array([0, 0, 1])


def test_a_server_receives_each_source_once() -> None:
    assert server_traffic(PROBLEM, APART).tolist() == [3.0, 1.0]
    assert server_traffic(PROBLEM, np.array([0, 1, 1])).tolist() == [3.0, 3.0]


def test_sources_without_subscribers_do_not_count() -> None:
    assert subscribed_rate(PROBLEM) == 3.0
    assert replication(PROBLEM, APART) == pytest.approx(4 / 3)


def test_measures_of_an_assignment() -> None:
    found = score(PROBLEM, APART)
    assert (found.traffic, found.largest) == (4.0, 3.0)
    assert server_loads(PROBLEM, APART).tolist() == [2.0, 1.0]
    assert found.imbalance == pytest.approx(2 / 1.5)
    assert least_traffic(PROBLEM) <= found.traffic
