"""Placement problems built from networks."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.load.profile import make_profile
from drover.network.build import Builder
from drover.network.model import Network
from drover.placement.faults import faults
from drover.placement.model import problem_of
from drover.placement.plan import Plan, units_of
from drover.placement.policy import propose
from drover.placement.score import score
from drover_lab.generate import ChainParameters, chains
from tests.strategies import networks

CHAINS = chains(default_rng(1), ChainParameters(chains=2, length=2, selectivity=(0.5, 0.5)))


def test_coefficients_are_costs_times_selectivities() -> None:
    problem = problem_of(make_profile(CHAINS), np.ones(2), series={"s0": [1000.0, 3000.0]}, pins={"s1-0": 1})
    assert problem.units == ("s0-0", "s0-1", "s1-0", "s1-1")
    assert problem.coefficients == pytest.approx(1e-3 * np.array([[1, 0], [0.5, 0], [0, 1], [0, 0.5]]))
    assert problem.series == pytest.approx(np.array([[1, 3], [0.5, 1.5], [1, 1], [0.5, 0.5]]))
    assert (problem.links.source.tolist(), problem.links.target.tolist()) == ([0, 2], [1, 3])
    assert problem.pinned.tolist() == [-1, -1, 1, -1]


def test_units_that_read_one_source_are_known() -> None:
    builder = Builder("readers")
    raw = builder.source("raw", {"x": "int"})
    parts = [raw.filter(f"above{k}", f"x > {k}") for k in range(3)]
    for part in (parts[0].filter("more", "x > 9"), *parts[1:]):
        builder.output(part)
    network = builder.build()
    problem = problem_of(make_profile(network), np.ones(2))
    assert problem.readers == (tuple(problem.units.index(f"above{k}") for k in range(3)),)
    assert problem_of(make_profile(CHAINS), np.ones(2)).readers == (), "a source with one reader connects nothing"


def test_the_current_plan_counts() -> None:
    plan = Plan(3, 3, {"s0-0": 2, "s0-1": 1, "s1-0": 0, "gone": 0})
    assert problem_of(make_profile(CHAINS), np.ones(2), current=plan).current.tolist() == [-1, 1, 0, -1]


def test_an_unknown_pin_is_named() -> None:
    with pytest.raises(ProblemError, match=r"pins names 's0-9'.*Did you mean"):
        problem_of(make_profile(CHAINS), np.ones(2), pins={"s0-9": 0})


@given(network=networks())
@settings(max_examples=int(os.environ.get("DROVER_POLICY_EXAMPLES", "40")))
def test_any_network_can_be_placed(network: Network) -> None:
    series = {network.sources[0].name: [900.0, 1000.0, 1100.0]}
    problem = problem_of(make_profile(network), np.ones(3), series=series)
    assert problem.units == units_of(network)
    for name in ("resilient", "correlation", "combined", "clustered", "steady", "searched"):
        places = propose(problem, name, default_rng(0))
        assert list(faults(problem, places)) == []
        assert score(problem, places).overload >= 0
