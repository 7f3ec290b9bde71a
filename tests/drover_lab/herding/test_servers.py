from __future__ import annotations

from itertools import pairwise

from numpy.random import default_rng

from drover_lab.herding.generate import Workload, churn, generate
from drover_lab.herding.servers import watch_servers


def test_servers_join_and_leave_one_at_a_time_and_no_query_is_lost() -> None:
    problem = generate(Workload(queries=600, servers=4), default_rng(1))
    events = churn(problem.n, 1e12, default_rng(2))
    found = list(watch_servers(problem, "least-cost", events, default_rng(3), 30.0))
    assert len(found) >= 15
    assert {abs(after.servers - before.servers) for before, after in pairwise(found)} == {1}
    assert min(each.servers for each in found) >= 1
    assert found[-1].live == problem.n


def test_without_changes_there_is_one_snapshot() -> None:
    problem = generate(Workload(queries=50, servers=2), default_rng(1))
    events = churn(problem.n, 1e12, default_rng(2))
    (only,) = watch_servers(problem, "least-cost", events, default_rng(3), 1e9)
    assert (only.live, only.servers) == (50, 2)
