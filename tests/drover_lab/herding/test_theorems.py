"""What the text proves, and what it does not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover_lab.herding.exact import assign_exactly
from drover_lab.herding.offline import split_sources
from drover_lab.herding.score import least_traffic, server_traffic
from drover_lab.herding.sequences import assign_online
from tests.strategies.herds import herds


def traffic(problem: HerdingProblem, servers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    return float(server_traffic(problem, servers).sum())


@given(problem=herds(max_queries=80, max_servers=8, max_sources=20, plain=True, single=True))
@settings(max_examples=150)
def test_single_sources_take_at_most_twice_the_bound(problem: HerdingProblem) -> None:
    """Theorem 3, against sum of w ceil(n_s / C): what a source needs alone."""
    limit = np.floor(problem.limits()[0])
    bound = float(problem.rate @ np.ceil(problem.degrees() / limit))
    assert traffic(problem, split_sources(problem, default_rng(0))) <= 2 * bound


@given(problem=herds(max_queries=60, max_servers=8, max_sources=20, single=True))
@settings(max_examples=100)
def test_no_assignment_is_below_the_bound(problem: HerdingProblem) -> None:
    assert traffic(problem, split_sources(problem, default_rng(0))) >= least_traffic(problem) - 1e-9


@given(problem=herds(max_queries=9, max_servers=3, max_sources=6, plain=True, single=True))
@settings(max_examples=25)
def test_single_sources_take_at_most_twice_the_optimum(problem: HerdingProblem) -> None:
    assert traffic(problem, split_sources(problem, default_rng(0))) <= 2 * traffic(problem, assign_exactly(problem))


def test_queries_with_two_sources_are_refused_by_the_policy_for_one() -> None:
    problem = HerdingProblem(start=np.array([0, 2]), source=np.array([0, 1]), rate=np.ones(2), capacity=np.ones(2))
    with pytest.raises(ProblemError, match=r"query 0 has 2 sources, but the policy single-source .* Choose another"):
        split_sources(problem, default_rng(0))


def test_random_assignment_costs_what_proposition_2_says() -> None:
    """Expected traffic is km (1 - mean over sources of (1 - 1/k)^d_s), with a balance so loose that all are open."""
    rng = default_rng(7)
    k = 8
    m = 50
    n = 2_000
    source = np.minimum(rng.zipf(1.6, n) - 1, m - 1)
    problem = HerdingProblem(
        start=np.arange(n + 1), source=source, rate=np.ones(m), capacity=np.ones(k), slack=9.0, allowance=1e6
    )
    expected = k * (1 - (1 - 1 / k) ** problem.degrees()).sum()
    found = [traffic(problem, assign_online(problem, "random", default_rng(seed))) for seed in range(100)]
    assert np.mean(found) == pytest.approx(expected, abs=float(4 * np.std(found) / 10))


def test_lemma_3_is_false() -> None:
    """Packing types by size buys 1036 sources where 46 suffice: far more than d = 2 times as many.

    A clique on 46 sources has 1035 types with a query each; disjoint pairs have two queries each. To pack 1035 queries,
    the largest types first means the pairs. So no bound of theorem 2 is tested here.
    """
    clique = list(combinations(range(46), 2))
    pairs = [(46 + 2 * t, 47 + 2 * t) for t in range(600)]
    sizes = [(2, pair) for pair in pairs] + [(1, edge) for edge in clique]
    packed = 0
    bought = set[int]()
    for size, sources in sorted(sizes, key=lambda item: -item[0]):
        if packed >= len(clique):
            break
        packed += size
        bought |= set(sources)
    assert len(bought) == 1036 > 2 * 46
