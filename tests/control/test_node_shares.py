from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from numpy.random import default_rng

from drover.control.node_shares import NodeShares, share_out
from drover.herding.herd import Herd
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints
from drover_lab.herding.generate import Workload, generate
from tests.strategies.herds import SEEDS, herds


def types_of(problem: HerdingProblem) -> tuple[list[Ints], Floats]:
    _, first, counts = np.unique(problem.types(), return_index=True, return_counts=True)
    return [problem.sources_of(int(q)) for q in first], counts.astype(np.float64)


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_every_expected_type_has_open_nodes_and_whole_shares(problem: HerdingProblem, seed: int) -> None:
    rng = default_rng(seed)
    types, counts = types_of(problem)
    capacity = problem.capacity.copy()
    capacity[rng.random(problem.k) < 0.3] = 0
    capacity[int(rng.integers(problem.k))] = 1.0
    shares = share_out(types, counts, problem.rate, capacity)
    for one in types:
        nodes, cumulative = shares.by_type[one.tobytes()]
        assert (capacity[nodes] > 0).all()
        assert cumulative[-1] == 1
        assert (np.diff(cumulative) > 0).all()
    preferred = shares.preferred(problem.start, problem.source, rng.random(problem.n))
    assert (preferred >= 0).all()


def test_a_draw_chooses_a_node_by_its_share_and_an_unexpected_type_prefers_none() -> None:
    shares = NodeShares({np.array([0]).tobytes(): (np.array([1, 3]), np.array([0.25, 1.0]))})
    start = np.arange(6)
    source = np.array([0, 0, 0, 0, 1])
    assert shares.preferred(start, source, np.array([0.0, 0.24, 0.25, 0.99, 0.5])).tolist() == [1, 1, 3, 3, -1]


def test_types_that_share_a_source_are_together() -> None:
    types = [np.array([0]), np.array([0, 1]), np.array([2]), np.array([2, 3])]
    shares = share_out(types, np.full(4, 10.0), np.ones(4), np.ones(2))
    nodes = [shares.by_type[one.tobytes()][0].tolist() for one in types]
    assert nodes[0] == nodes[1] != nodes[2] == nodes[3]


def test_known_popularity_saves_traffic_on_the_default_workload() -> None:
    for seed in (1, 2, 3):
        problem = generate(Workload(queries=5000, servers=5), default_rng(seed))
        shares = share_out(*types_of(problem), problem.rate, problem.capacity)
        preferred = shares.preferred(problem.start, problem.source, default_rng(5).random(problem.n))
        known = Herd(problem.rate, problem.capacity, default_rng(0))
        known.arrive_many(problem.start, problem.source, preferred=preferred)
        unknown = Herd(problem.rate, problem.capacity, default_rng(0))
        unknown.arrive_many(problem.start, problem.source)
        assert known.observe().replication < unknown.observe().replication
        assert known.loads.max() <= 1.05 * 1000 + 1e-6
