"""What every herding policy guarantees, over generated problems."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.online.play import ONLINE
from drover.herding.problem import HerdingProblem
from drover_lab.herding.anneal import AnnealingEffort, anneal
from drover_lab.herding.exact import assign_exactly
from drover_lab.herding.faults import faults, online_limits
from drover_lab.herding.policy import OFFLINE, WORDS, HerdingPolicy, assign
from drover_lab.herding.score import least_traffic, score, server_traffic, subscribed_rate
from tests.strategies.herds import herds

EXAMPLES = int(os.environ.get("DROVER_HERDING_EXAMPLES", "25"))  # set it higher to look harder
QUICK = AnnealingEffort(steps=20_000)


def quick_anneal(problem: HerdingProblem, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return anneal(problem, rng, QUICK)


SOUND: dict[str, HerdingPolicy] = {
    **{name: policy for name, policy in OFFLINE.items() if name not in {"partition", "single-source", "annealed"}},
    "annealed": quick_anneal,
}


@pytest.mark.parametrize("name", SOUND)
def test_offline_policies_are_sound_and_the_same_for_a_seed(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(problem=herds())
    def check(problem: HerdingProblem) -> None:
        servers = SOUND[name](problem, default_rng(3))
        assert list(faults(problem, servers)) == []
        assert SOUND[name](problem, default_rng(3)).tolist() == servers.tolist()

    check()


@pytest.mark.parametrize("name", ONLINE)
def test_online_policies_are_sound_and_the_same_for_a_seed(name: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(problem=herds())
    def check(problem: HerdingProblem) -> None:
        servers = assign(problem, name, default_rng(3))
        assert list(faults(problem, servers, online_limits(problem))) == []
        assert assign(problem, name, default_rng(3)).tolist() == servers.tolist()

    check()


@given(problem=herds(single=True))
@settings(max_examples=EXAMPLES)
def test_single_source_is_sound(problem: HerdingProblem) -> None:
    assert list(faults(problem, assign(problem, "single-source", default_rng(0)))) == []


@given(problem=herds(max_queries=9, max_servers=3, max_sources=6))
@settings(max_examples=EXAMPLES)
def test_nobody_is_better_than_the_oracle(problem: HerdingProblem) -> None:
    best = assign_exactly(problem)
    assert list(faults(problem, best)) == []
    optimum = float(server_traffic(problem, best).sum())
    assert max(subscribed_rate(problem), least_traffic(problem)) <= optimum + 1e-9
    for policy in SOUND.values():
        traffic = float(server_traffic(problem, policy(problem, default_rng(1))).sum())
        assert optimum - 1e-9 <= traffic <= problem.k * optimum + 1e-9  # the latter is proposition 1


@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_optimum_of_small_problems(seed: int) -> None:
    rng = default_rng(seed)
    rows = np.stack([rng.choice(10, 2, replace=False) for _ in range(24)])
    problem = HerdingProblem(
        start=np.arange(0, 49, 2), source=np.sort(rows, axis=1).ravel(), rate=np.ones(10), capacity=np.ones(3)
    )
    optimum = score(problem, assign_exactly(problem)).traffic
    assert score(problem, anneal(problem, default_rng(0), AnnealingEffort(steps=300_000))).traffic == optimum


@pytest.mark.parametrize("name", [*SOUND, *ONLINE])
@pytest.mark.parametrize(
    ("n", "k"),
    [
        pytest.param(1, 1, id="one query, one server"),
        pytest.param(1, 3, id="more servers than queries"),
        pytest.param(4, 2, id="all of one type"),
        pytest.param(0, 2, id="no query"),
    ],
)
def test_edges(name: str, n: int, k: int) -> None:
    problem = HerdingProblem(
        start=np.arange(0, 2 * n + 1, 2), source=np.tile([0, 1], n), rate=np.ones(2), capacity=np.ones(k)
    )
    servers = SOUND[name](problem, default_rng(0)) if name in SOUND else assign(problem, name, default_rng(0))
    assert list(faults(problem, servers, online_limits(problem))) == []


def test_an_unknown_policy_is_told_apart() -> None:
    problem = HerdingProblem(start=np.array([0, 1]), source=np.array([0]), rate=np.ones(1), capacity=np.ones(1))
    with pytest.raises(ProblemError, match=r"policy is 'least-cots'.*Did you mean least-cost\?"):
        assign(problem, "least-cots", default_rng(0))


def test_every_policy_has_words() -> None:
    assert list(WORDS) == [*OFFLINE, *ONLINE]
