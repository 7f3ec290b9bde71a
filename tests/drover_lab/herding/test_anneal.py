from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover_lab.herding.anneal import MOST, AnnealingEffort, anneal, cut_pieces, improve, layout_of, pieces_of
from drover_lab.herding.exact import assign_exactly
from drover_lab.herding.faults import faults
from drover_lab.herding.offline import draw_types
from drover_lab.herding.score import score, server_loads
from tests.strategies.herds import SEEDS, herds


@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_optimum_of_small_problems(seed: int) -> None:
    rng = default_rng(seed)
    rows = np.stack([rng.choice(10, 2, replace=False) for _ in range(24)])
    problem = HerdingProblem(
        start=np.arange(0, 49, 2), source=np.sort(rows, axis=1).ravel(), rate=np.ones(10), capacity=np.ones(3)
    )
    optimum = score(problem, assign_exactly(problem)).traffic
    assert score(problem, anneal(problem, default_rng(0), AnnealingEffort(steps=300_000))).traffic == optimum


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_an_improvement_keeps_the_limits_and_never_adds_traffic(problem: HerdingProblem, seed: int) -> None:
    start = draw_types(problem, default_rng(seed))
    found = improve(problem, start, default_rng(seed), AnnealingEffort(steps=2_000))
    assert list(faults(problem, found)) == []
    assert score(problem, found).traffic <= score(problem, start).traffic


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_a_piece_has_one_type_one_server_and_a_bounded_load(problem: HerdingProblem, seed: int) -> None:
    servers = draw_types(problem, default_rng(seed))
    piece = cut_pieces(problem, servers)
    kinds = problem.types()
    load = np.bincount(piece, problem.weight)
    for number in range(piece.max() + 1):
        members = piece == number
        assert members.any()
        assert len(set(zip(kinds[members].tolist(), servers[members].tolist(), strict=True))) == 1
        assert load[number] <= problem.limits().min() / 8 + problem.weight[members].max()


@given(problem=herds(), seed=SEEDS)
@settings(max_examples=40)
def test_a_layout_counts_what_is_on_each_server(problem: HerdingProblem, seed: int) -> None:
    servers = draw_types(problem, default_rng(seed))
    piece = cut_pieces(problem, servers)
    pieces = pieces_of(problem, piece)
    first = np.unique(piece, return_index=True)[1]
    layout = layout_of(problem, pieces, servers[first])
    assert layout.load.tolist() == pytest.approx(server_loads(problem, servers).tolist())
    assert layout.pairs.sum() == len(pieces.source)
    for j in range(problem.k):
        group = layout.crowd[layout.first[j] : layout.first[j] + layout.size[j]]
        assert sorted(group.tolist()) == np.flatnonzero(layout.server == j).tolist()


def test_a_problem_that_does_not_fit_into_memory_is_refused() -> None:
    problem = HerdingProblem(
        start=np.array([0, 1, 2]),
        source=np.array([0, 0]),
        rate=np.ones(MOST // 1000),
        capacity=np.ones(1001),
    )
    with pytest.raises(ProblemError, match=r"annealing counts at most 4e[+]08 pairs"):
        improve(problem, np.array([0, 1]), default_rng(0))
