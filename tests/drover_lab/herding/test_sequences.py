from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover_lab.herding.generate import Workload, churn, generate
from drover_lab.herding.score import replication
from drover_lab.herding.sequences import assign_online, rules_of, watch

PROBLEM = generate(Workload(queries=400, servers=5), default_rng(1))


def test_the_last_snapshot_without_departures_is_that_of_the_assignment() -> None:
    events = churn(PROBLEM.n, 1e12, default_rng(2))
    found = list(watch(PROBLEM, "least-cost", events, default_rng(3), looks=4))
    assert [each.live for each in found] == [100, 200, 300, 400]
    assigned = assign_online(PROBLEM, "least-cost", default_rng(3))
    assert found[-1].replication == pytest.approx(replication(PROBLEM, assigned))


def test_departures_leave_fewer_queries() -> None:
    events = churn(PROBLEM.n, 20.0, default_rng(2))
    last = list(watch(PROBLEM, "gather", events, default_rng(3)))[-1]
    assert 0 < last.live < 100
    assert last.live == int(np.where(events.arrives, 1, -1).sum())


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ProblemError, match="'least-cots', but there is no online one"):
        rules_of(PROBLEM, "least-cots")
