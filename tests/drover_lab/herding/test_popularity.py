"""Known popularities: types go where they were reserved, and balance comes first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover_lab.herding.faults import faults, online_limits
from drover_lab.herding.generate import Workload, generate
from drover_lab.herding.popularity import assign_reserved, reserve
from drover_lab.herding.score import replication
from drover_lab.herding.sequences import assign_online
from tests.strategies.herds import herds


@given(problem=herds())
@settings(max_examples=40)
def test_what_is_reserved_is_sound_and_the_same_for_a_seed(problem: HerdingProblem) -> None:
    reserved = reserve(problem, default_rng(0))
    servers = assign_reserved(problem, reserved, default_rng(1))
    assert list(faults(problem, servers, online_limits(problem))) == []
    assert assign_reserved(problem, reserved, default_rng(1)).tolist() == servers.tolist()


@given(problem=herds(plain=True))
@settings(max_examples=40)
def test_without_balance_every_type_goes_where_it_was(problem: HerdingProblem) -> None:
    loose = replace(problem, allowance=1e6)
    reserved = reserve(problem, default_rng(0))
    for q, server in enumerate(assign_reserved(loose, reserved, default_rng(1)).tolist()):
        assert server in reserved.servers[problem.sources_of(q).tobytes()]


def test_a_known_popularity_helps_where_types_come_again() -> None:
    """At skew 1.5 nearly all types have been seen: a history as long as what comes saves much against LeastCost."""
    both = generate(Workload(queries=40_000, servers=50, skew=1.5), default_rng(3))
    cut = int(both.start[20_000])
    history = replace(
        both, start=both.start[:20_001], source=both.source[:cut], weight=np.ones(20_000), state=np.ones(20_000)
    )
    coming = replace(history, start=both.start[20_000:] - cut, source=both.source[cut:])
    found = replication(coming, assign_reserved(coming, reserve(history, default_rng(0), "ic"), default_rng(0)))
    assert found < 0.95 * replication(coming, assign_online(coming, "least-cost", default_rng(0)))


def test_a_reservation_for_other_servers_is_refused() -> None:
    history = generate(Workload(queries=100, servers=9), default_rng(0))
    with pytest.raises(ProblemError, match=r"there are 2 servers\. Call `reserve` again"):
        assign_reserved(replace(history, capacity=np.ones(2)), reserve(history, default_rng(0)), default_rng(0))


def test_a_new_type_is_gathered() -> None:
    nothing = HerdingProblem(
        start=np.zeros(1, dtype=int), source=np.empty(0, dtype=int), rate=np.ones(3), capacity=np.ones(2)
    )
    coming = replace(
        nothing, start=np.array([0, 1, 2, 3]), source=np.array([0, 1, 0]), weight=np.ones(3), state=np.ones(3)
    )
    assert assign_reserved(coming, reserve(nothing, default_rng(0)), default_rng(0)).tolist() == [0, 1, 0]
