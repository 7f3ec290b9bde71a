"""Super-operators: few units, sound plans, and hardly less headroom."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.flow.schedule import make_schedule
from drover.load.links import UnitLinks
from drover.load.profile import make_profile
from drover.network.model import Network
from drover.placement import super_operators
from drover.placement.faults import faults
from drover.placement.model import problem_of
from drover.placement.policy import FROM_CURRENT, POLICIES, propose
from drover.placement.problem import PlacementProblem
from drover.placement.rules import fuse
from drover.placement.score import score
from drover.placement.super_operators import (
    ALONE,
    BY_UNIT,
    COMPARED,
    LEAST,
    LOSS,
    MANY,
    fullest,
    fuse_tiny,
    least_fullest,
    propose_fused,
    rules_of,
    shares_of_units,
)
from drover.placement.super_operators import super_operators as groups_of
from drover_lab.generate import ChainParameters, TreeParameters, chains, trees
from tests.strategies.problems import problems

EXAMPLES = int(os.environ.get("DROVER_POLICY_EXAMPLES", "25"))
ANY_SIZE = pytest.mark.usefixtures("any_size")


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small problems have super-operators, too."""
    monkeypatch.setattr(super_operators, "MANY", 0)


def row(*loads: float, links: tuple[tuple[int, int], ...] = (), **fields: object) -> PlacementProblem:
    """Units a, b, c ... on two nodes; a load of 1 is what each node would have."""
    source, target = np.array(links, dtype=np.int64).reshape(-1, 2).T
    none = np.zeros((len(links), 0))
    series = np.repeat(np.array([*loads, 2 - sum(loads)])[:, None], 2, axis=1)
    given = {
        "units": (*"abcdefghij"[: len(loads)], "rest"),
        "capacity": np.ones(2),
        "series": series,
        "links": UnitLinks(("s",) * len(links), source, target, none, none),
    }
    return PlacementProblem(**(given | fields))  # type: ignore[arg-type]  # fields by name


def named(problem: PlacementProblem, *, stay: bool = False) -> set[str]:
    """The groups of more than one unit, by name."""
    found = groups_of(problem, rules_of(problem, stay=stay))
    return {"".join(problem.units[j] for j in group) for group in found}


T = LEAST / 2.5  # a tiny load: three of it are not tiny any more


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        pytest.param(row(T, T, T, T, links=((0, 1), (2, 3))), {"abcd"}, id="along links, then with any"),
        pytest.param(row(T, T, T, T, T, T, links=((0, 3), (3, 5), (1, 2), (2, 4))), {"adf", "bce"}, id="along links"),
        pytest.param(row(T, T, T, T, T, T, readers=((0, 2, 4), (1, 3, 5))), {"ace", "bdf"}, id="by source"),
        pytest.param(row(T, 0.5, links=((0, 1),)), {"ab"}, id="with a larger unit"),
        pytest.param(row(T, 0.5), set(), id="not with a larger unit that is not linked"),
        pytest.param(row(LEAST, LEAST), set(), id="nothing tiny"),
        pytest.param(row(T, T, sticky=[True, False, False]), set(), id="sticky and floating stay apart"),
        pytest.param(row(T, T, apart=((0, 1),)), set(), id="what stays apart"),
        pytest.param(row(T, T, T, apart=((0, 2),)), set(), id="nothing joins what stays apart from another"),
        pytest.param(row(T, T, pinned=[0, 0, -1]), set(), id="pinned units"),
        pytest.param(row(T, T, allowed=[[1, 0], [1, 1], [1, 1]]), set(), id="other nodes are allowed"),
        pytest.param(row(T, T, state=[1.0, 1.0, 0.0]), set(), id="state that counts"),
        pytest.param(row(T, T, coefficients=[[0.0], [1.0], [0.0]]), set(), id="a stream that counts"),
    ],
)
def test_what_is_fused(problem: PlacementProblem, expected: set[str]) -> None:
    assert named(problem) == expected


def test_units_that_stay_are_fused_on_their_node_only() -> None:
    problem = row(T, T, T, T, links=((0, 1), (2, 3)), current=[0, 1, 0, 1, 0])
    assert named(problem) == {"abcd"}
    assert named(problem, stay=True) == {"ac", "bd"}


def test_small_problems_and_single_units_are_left_alone() -> None:
    problem = row(T, T)
    assert problem.m < MANY
    assert fuse_tiny(problem, stay=False).problem.units == problem.units


@ANY_SIZE
def test_named_units_are_in_no_super_operator() -> None:
    assert fuse_tiny(row(T, T, T), stay=False, alone={"b"}).problem.units == ("a+c", "b", "rest")
    assert fuse_tiny(row(T, T, T, together=((0, 1),)), stay=False, alone={"b"}).problem.units == ("a+b", "c", "rest")


@settings(max_examples=4 * EXAMPLES)
@given(problem=problems(max_units=60), stay=st.booleans(), least=st.sampled_from([0.02, 0.1, 0.5]))
def test_fused_problems_keep_rules_and_sizes(problem: PlacementProblem, stay: bool, least: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(super_operators, "MANY", 0)
        first = fuse(problem).problem
        rules = rules_of(first, stay=stay)
        sizes = shares_of_units(first)
        for group in map(list, groups_of(first, rules, least)):
            assert len(set(rules[group].tolist())) == 1
            assert rules[group[0]] != ALONE
            assert (first.reachable()[group] == first.reachable()[group[0]]).all()
            assert len(set(first.sticky[group].tolist())) == 1
            assert not stay or len(set(first.current[group].tolist())) == 1
            # At most one unit is not tiny, and everything else together is at most twice LEAST.
            large = [j for j in group if (sizes[j] >= least).any()]
            assert len(large) <= 1
            top = sizes[large].max(axis=0, initial=0.0) if large else np.zeros(3)
            assert (sizes[group].sum(axis=0) <= np.maximum(top, least) + least + 1e-9).all()
        fused = fuse_tiny(problem, stay=stay, least=least)
        assert fused.problem.load.sum() == pytest.approx(problem.load.sum())


@pytest.mark.parametrize("name", POLICIES)
@ANY_SIZE
def test_plans_from_fused_problems_are_sound(name: str) -> None:
    @settings(max_examples=EXAMPLES // 3 if name == "searched" else EXAMPLES)
    @given(problem=problems(max_units=40))
    def check(problem: PlacementProblem) -> None:
        places = propose_fused(problem, name, default_rng(3))
        assert list(faults(problem, places)) == []
        assert propose_fused(problem, name, default_rng(3)).tolist() == places.tolist()
        if name in BY_UNIT:
            assert places.tolist() == propose(problem, name, default_rng(3)).tolist()
        fused = fuse_tiny(problem, stay=name in FROM_CURRENT, least=0.3)
        again = fused.spread(propose(fused.problem, name, default_rng(3)))
        assert list(faults(problem, again)) == []

    check()


def large(seed: int, units: int, nodes: int, kind: str) -> tuple[Network, PlacementProblem]:
    """A drawn network of about so many units, under rates that differ a lot, without noise."""
    rng = default_rng(seed)
    streams = int(rng.integers(2, 40))
    network = (
        chains(rng, ChainParameters(chains=max(units // 10, 1), length=10))
        if kind == "chains"
        else trees(rng, TreeParameters(streams=streams, size=max(units // streams, 2)))
    )
    problem = problem_of(make_profile(network), np.ones(nodes))
    rates = rng.exponential(1.0, (problem.coefficients.shape[1],)) + 0.05
    periods = rates[:, None] * rng.uniform(0.5, 1.5, (len(rates), 10))
    return network, replace(problem, rates=rates, series=problem.coefficients @ periods)


@pytest.mark.parametrize("name", ["resilient", "combined", "searched", "largest-first", "cor-se-imp"])
@pytest.mark.parametrize("kind", ["chains", "trees"])
def test_super_operators_cost_hardly_any_headroom(name: str, kind: str) -> None:
    """Up to COMPARED units, at most LOSS is lost, because the better plan counts."""

    @settings(max_examples=EXAMPLES // 5)
    @given(seed=st.integers(0, 10**6), units=st.integers(MANY + 1, COMPARED), nodes=st.integers(2, 8))
    def check(seed: int, units: int, nodes: int) -> None:
        _, problem = large(seed, units, nodes, kind)
        found = fullest(problem, propose_fused(problem, name, default_rng(0)))
        plain = fullest(problem, propose(problem, name, default_rng(0)))
        assert found * (1 - LOSS) <= max(plain, least_fullest(problem)) * (1 + 1e-9)

    check()


@pytest.mark.parametrize("name", ["resilient", "combined", "searched"])
@pytest.mark.parametrize(
    ("kind", "hops", "units"), [pytest.param("chains", 2, 200, id="chains"), pytest.param("trees", 6, 250, id="trees")]
)
def test_a_plan_of_five_thousand_operators_has_few_units_and_few_hops(
    name: str, kind: str, hops: int, units: int
) -> None:
    network, problem = large(1, 5000, 4, kind)
    assert problem.m > 4900
    assert fuse_tiny(problem, stay=False).problem.m <= units
    places = propose_fused(problem, name, default_rng(0))
    assert list(faults(problem, places)) == []
    assert make_schedule(network, problem.plan(places)).hops <= hops
    assert fullest(problem, places) <= 1.05 * least_fullest(problem)
    apart = propose(problem, "resilient", default_rng(0))
    assert make_schedule(network, problem.plan(apart)).hops >= 10
    assert score(problem, places).cut_links <= score(problem, apart).cut_links / 10
