"""What every placement policy guarantees, over generated problems."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.placement.correlation.pairwise import starting_plan
from drover.placement.faults import faults
from drover.placement.policy import POLICIES, WORDS, propose
from drover.placement.problem import PlacementProblem, no_links
from drover.placement.rules import fuse
from drover.placement.score import score
from tests.strategies.problems import problems

SEARCHES = {"searched"}  # take longer than the others
BALANCES = {"largest-first", "balanced-random", "correlation", "steady"}
EXAMPLES = int(os.environ.get("DROVER_POLICY_EXAMPLES", "25"))  # set it higher to look harder


def examples(name: str) -> int:
    return EXAMPLES // 3 if name in SEARCHES else EXAMPLES


@pytest.mark.parametrize("name", POLICIES)
def test_plans_are_sound_and_the_same_for_a_seed(name: str) -> None:
    @settings(max_examples=examples(name))
    @given(problem=problems())
    def check(problem: PlacementProblem) -> None:
        places = propose(problem, name, default_rng(3))
        assert list(faults(problem, places)) == []
        assert propose(problem, name, default_rng(3)).tolist() == places.tolist()

    check()


@pytest.mark.parametrize("name", sorted(BALANCES))
def test_policies_that_promise_balance_keep_it(name: str) -> None:
    """No node is above the mean by more than the largest unit: what dealing out to the lightest node guarantees."""

    @settings(max_examples=EXAMPLES)
    @given(problem=problems(ruled=False, equal_nodes=True))
    def check(problem: PlacementProblem) -> None:
        places = propose(problem, name, default_rng(0))
        loads = np.bincount(places, problem.load, problem.n)
        slack = 1.0 if name == "steady" else 0.0  # trades balance for variance, but not all of it
        assert loads.max() <= (1 + slack) * (loads.mean() + problem.load.max()) + 1e-9

    check()


@given(problem=problems())
@settings(max_examples=15)
def test_searched_is_never_below_resilient(problem: PlacementProblem) -> None:
    free = replace(problem, links=no_links(problem.coefficients.shape[1]))
    if not free.shares().shape[1]:
        return
    searched, resilient = (
        score(free, propose(free, name, default_rng(0))).feasible for name in ("searched", "resilient")
    )
    assert searched >= resilient * (1 - 5e-3)  # each on points of its own


@given(problem=problems())
@settings(max_examples=EXAMPLES)
def test_thrifty_keeps_to_its_budget_and_gains(problem: PlacementProblem) -> None:
    fused = fuse(problem).problem
    start = starting_plan(fused, default_rng(0))
    found = POLICIES["thrifty"](fused, default_rng(0))
    assert fused.state[start != found].sum() <= 0.1 * fused.state.sum() + 1e-9


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize(
    ("m", "n", "level"),
    [
        pytest.param(1, 1, 1.0, id="one unit, one node"),
        pytest.param(1, 3, 1.0, id="more nodes than units"),
        pytest.param(4, 2, 0.0, id="no load"),
        pytest.param(4, 2, 100.0, id="far too much load"),
        pytest.param(0, 2, 1.0, id="no unit"),
    ],
)
def test_edges(name: str, m: int, n: int, level: float) -> None:
    problem = PlacementProblem(
        units=tuple(f"u{j}" for j in range(m)),
        capacity=np.ones(n),
        coefficients=level * np.ones((m, 2)),
        rates=np.ones(2),
        series=level * np.ones((m, 3)),
    )
    assert list(faults(problem, propose(problem, name, default_rng(0)))) == []


def test_an_unknown_policy_is_refused() -> None:
    problem = PlacementProblem(units=("a",), capacity=np.ones(1))
    with pytest.raises(ProblemError, match=r"policy is 'resilent'.*Did you mean resilient\?"):
        propose(problem, "resilent", default_rng(0))


def test_every_policy_has_words() -> None:
    assert list(WORDS) == list(POLICIES)
