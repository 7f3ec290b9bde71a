"""Nodes that join, leave and flap: only their own queries move at once, and others within the allowance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.control.allowance import Allowance
from drover.control.query_placer import QueryPlacer, TopicsRead
from drover.control.refinement import Refinement
from drover.herding.problem import HerdingProblem
from drover_lab.herding.generate import Workload, generate
from tests.strategies.herds import SEEDS, herds

MANY = 5000
PERIOD = 360.0  # seconds


def read_of(problem: HerdingProblem) -> TopicsRead:
    return TopicsRead(tuple(range(problem.m)), problem.start, problem.source)


def placed(problem: HerdingProblem, nodes: int, capacity: Sequence[float] = ()) -> QueryPlacer:
    placer = QueryPlacer(nodes, default_rng(0))
    placer.set_nodes(nodes, (), capacity)
    placer.place(range(problem.n), read_of(problem), problem.weight)
    placer.update_rates(dict(enumerate(problem.rate.tolist())))
    placer.update_states(range(problem.n), problem.state)
    return placer


def nodes_of(placer: QueryPlacer, count: int) -> dict[int, int]:
    return dict(placer.nodes_of(range(count)).iter_rows())


def loads(placer: QueryPlacer, problem: HerdingProblem, nodes: int) -> list[float]:
    found = [0.0] * nodes
    for number, node in nodes_of(placer, problem.n).items():
        found[node] += float(problem.weight[number])
    return found


@pytest.mark.parametrize("refine", [0.02, 0.05, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_node_that_joins_is_filled_within_the_allowance_and_rows_travel_no_further(refine: float, seed: int) -> None:
    problem = generate(Workload(queries=MANY, servers=4), default_rng(seed))
    placer = placed(problem, 4)
    before = nodes_of(placer, MANY)
    assert placer.set_nodes(5).height == 0
    assert nodes_of(placer, MANY) == before
    allowance = Allowance(refine)
    moved: list[int] = []
    found = Refinement((0,))
    for period in range(1, 1000):
        allowance = allowance.after(PERIOD, MANY)
        found = placer.refine(int(allowance.saved))
        allowance = allowance.without(found.charge)
        moved += found.numbers
        assert len(moved) <= refine * MANY * period * PERIOD / 3600 + 1e-6
        if not found.numbers:
            break
    assert found.numbers == (), "the work ends"
    anew = placed(problem, 5)
    assert placer.replication <= 1.05 * anew.replication
    assert max(loads(placer, problem, 5)) <= 1.05 * MANY / 5
    assert len(set(moved)) < 0.2 * MANY, "placing anew moves more than half"


def test_new_queries_fill_the_node_that_joins_without_an_allowance() -> None:
    problem = generate(Workload(queries=2 * MANY, servers=4), default_rng(3))
    read = read_of(problem)
    first = np.arange(problem.n) < MANY
    placer = QueryPlacer(4, default_rng(0))
    placer.place(range(MANY), read.only(first), np.ones(MANY))
    placer.set_nodes(5)
    assert placer.refine(0).numbers == ()
    later = np.arange(problem.n) >= problem.n - 800
    arrived = placer.place(range(MANY, MANY + 800), read.only(later), np.ones(800))
    assert int((arrived["node"] == 4).sum()) > 720


@pytest.mark.parametrize("refine", [0, 40])
def test_a_flapping_node_moves_its_own_queries_and_what_the_allowance_lets_return(refine: int) -> None:
    problem = generate(Workload(queries=MANY, servers=4), default_rng(4))
    placer = placed(problem, 4)
    total = 0
    for flap in range(10):
        own = sorted(number for number, node in nodes_of(placer, MANY).items() if node == 3)
        assert len(own) <= (refine if flap else 1400)
        moved = placer.set_nodes(4, closed=[3])
        assert sorted(moved["number"]) == own
        assert 3 not in moved["node"]
        assert placer.set_nodes(4).height == 0
        found = placer.refine(refine)
        assert found.charge <= refine
        total += len(moved) + len(found.numbers)
    assert total <= 1400 + 20 * refine


@given(problem=herds(max_queries=80), seed=SEEDS, steps=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_nodes_that_come_and_go_move_their_own_queries_and_no_more_than_allowed(
    problem: HerdingProblem, seed: int, steps: int
) -> None:
    rng = default_rng(seed)
    placer = placed(problem, problem.k, problem.capacity.tolist())
    nodes = problem.k
    for _ in range(steps):
        before = nodes_of(placer, problem.n)
        nodes = int(rng.integers(1, 6))
        closed = set(np.flatnonzero(rng.random(nodes) < 0.3).tolist())
        gone = closed if len(closed) < nodes else set()
        moved = placer.set_nodes(nodes, closed, rng.choice([0.5, 1.0, 3.0], nodes).tolist())
        expected = sorted(number for number, node in before.items() if node >= nodes or node in gone)
        assert sorted(moved["number"]) == expected
        most = int(rng.integers(0, 10))
        now = nodes_of(placer, problem.n)
        found = placer.refine(most)
        after = nodes_of(placer, problem.n)
        assert list(found.numbers) == [number for number in now if now[number] != after[number]]
        assert found.charge <= most * (1 + 1e-9)
        assert set(after.values()) <= set(range(nodes)) - gone


def test_a_node_with_twice_the_capacity_takes_twice_the_queries() -> None:
    problem = generate(Workload(queries=3000, servers=3, sources=1), default_rng(5))
    found = loads(placed(problem, 3, [0.5, 1.0, 0.5]), problem, 3)
    assert found[1] == pytest.approx(1500, rel=0.06)
    assert found[0] == pytest.approx(750, rel=0.06)


def test_a_small_change_of_capacity_is_noise_and_a_large_one_moves_only_what_is_allowed() -> None:
    problem = generate(Workload(queries=3000, servers=3), default_rng(6))
    placer = placed(problem, 3)
    placer.set_nodes(3, (), [1.0, 1.05, 1.0])
    assert placer._sizes.tolist() != [1, 1, 1]
    assert placer._herd is not None
    assert placer._herd.capacity.tolist() == [1, 1, 1]
    assert placer.set_nodes(3, (), [2.0, 1.0, 1.0]).height == 0
    for _ in range(200):
        if not placer.refine(50).numbers:
            break
    found = loads(placer, problem, 3)
    assert found[0] >= 1500 * 0.94
    assert max(found[1:]) <= 750 * 1.051


def test_a_query_with_a_large_state_counts_as_several_and_stays_if_others_can_go() -> None:
    problem = generate(Workload(queries=1000, servers=1, sources=1), default_rng(7))
    placer = placed(problem, 1)
    heavy = list(range(0, 1000, 4))
    placer.update_states(range(1000), np.where(np.arange(1000) % 4 == 0, 1e9, 0.0))
    placer.set_nodes(2)
    found = placer.refine(100)
    assert len(found.numbers) > 20
    assert not set(found.numbers) & set(heavy)
    placer.update_states([number for number in range(1000) if number not in heavy], np.full(750, 1e9))
    even = placer.refine(100)
    assert 0 < len(even.numbers) <= even.charge <= 100
