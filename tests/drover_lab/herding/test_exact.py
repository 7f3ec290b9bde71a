from __future__ import annotations

import os

import numpy as np
from hypothesis import given, settings
from numpy.random import default_rng

from drover.herding.problem import HerdingProblem
from drover_lab.herding.anneal import AnnealingEffort, anneal
from drover_lab.herding.exact import assign_exactly
from drover_lab.herding.faults import faults
from drover_lab.herding.policy import OFFLINE, HerdingPolicy
from drover_lab.herding.score import least_traffic, server_traffic, subscribed_rate
from tests.strategies.herds import herds

EXAMPLES = int(os.environ.get("DROVER_HERDING_EXAMPLES", "25"))  # set it higher to look harder


QUICK = AnnealingEffort(steps=20_000)


def quick_anneal(problem: HerdingProblem, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return anneal(problem, rng, QUICK)


SOUND: dict[str, HerdingPolicy] = {
    **{name: policy for name, policy in OFFLINE.items() if name not in {"partition", "single-source", "annealed"}},
    "annealed": quick_anneal,
}


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
