from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from drover.errors import DroverError
from drover.network.model import Network
from drover.network.operators import Synthetic
from drover_lab.generate import (
    CHAINS,
    TREES,
    ChainParameters,
    TreeParameters,
    chains,
    trees,
    two_chains,
)


def loads(network: Network) -> list[Synthetic]:
    found = [operator for operator in network.operators if isinstance(operator, Synthetic)]
    assert len(found) == len(network.operators)
    return found


def test_chains_are_those_of_the_paper() -> None:
    network = chains(default_rng(1))
    assert len(network.sources) == 20
    assert len(network.operators) == 200
    assert len(network.outputs) == 20
    assert {operator.cost for operator in loads(network)} == {1e-3}


def test_each_chain_goes_from_its_source_to_its_output() -> None:
    network = chains(default_rng(1), ChainParameters(chains=2, length=3))
    assert [(operator.input, operator.name) for operator in loads(network)] == [
        ("s0", "s0-0"),
        ("s0-0", "s0-1"),
        ("s0-1", "s0-2"),
        ("s1", "s1-0"),
        ("s1-0", "s1-1"),
        ("s1-1", "s1-2"),
    ]
    assert network.outputs == ("s0-2", "s1-2")


def test_selectivities_of_chains_are_uniform() -> None:
    drawn = np.array([o.selectivity for o in loads(chains(default_rng(1), ChainParameters(chains=400)))])
    assert drawn.min() >= 0.8
    assert drawn.max() <= 1.2
    shares, _edges = np.histogram(drawn, bins=4, range=(0.8, 1.2))
    np.testing.assert_allclose(shares / len(drawn), 0.25, atol=0.03)  # four standard deviations of 4,000 draws


def test_operators_decide_by_different_seeds() -> None:
    seeds = [operator.seed for operator in loads(chains(default_rng(1)))]
    assert len(set(seeds)) == len(seeds)


def test_two_chains_are_two_pairs_of_equal_operators() -> None:
    network = two_chains(default_rng(1))
    assert [(o.input, o.name, o.cost, o.selectivity) for o in loads(network)] == [
        ("s0", "s0-0", 1e-3, 1.0),
        ("s0-0", "s0-1", 1e-3, 1.0),
        ("s1", "s1-0", 1e-3, 1.0),
        ("s1-0", "s1-1", 1e-3, 1.0),
    ]


@pytest.mark.parametrize("size", [1, 2, 5, 10, 20, 40])
def test_every_tree_has_the_same_number_of_operators(size: int) -> None:
    network = trees(default_rng(1), TreeParameters(size=size))
    roots = network.roots()
    assert Counter(min(roots[operator.name]) for operator in network.operators) == dict.fromkeys(
        (f"s{k}" for k in range(5)), size
    )


def test_every_tree_has_one_root_and_up_to_three_children_per_operator() -> None:
    network = trees(default_rng(1), TreeParameters(size=400))
    children = [len(network.readers[operator.name]) for operator in network.operators]
    assert all(len(network.readers[source.name]) == 1 for source in network.sources)
    inner = [count for count in children if count]
    shares = {count: number / len(inner) for count, number in Counter(inner).items()}
    assert shares == pytest.approx({1: 1 / 3, 2: 1 / 3, 3: 1 / 3}, abs=0.06)  # four standard deviations


def test_the_leaves_of_trees_are_given_out() -> None:
    network = trees(default_rng(1))
    assert set(network.outputs) == {
        operator.name for operator in network.operators if not network.readers[operator.name]
    }


def test_costs_and_selectivities_of_trees() -> None:
    found = loads(trees(default_rng(1), TreeParameters(size=800)))
    costs = np.array([operator.cost for operator in found])
    filtering = np.array([operator.selectivity for operator in found if operator.selectivity != 1.0])
    assert len(filtering) == len(found) / 2
    assert (costs >= 0.1e-3).all()
    assert (costs <= 1e-3).all()
    assert costs.mean() == pytest.approx(0.55e-3, rel=0.03)
    assert (filtering >= 0.5).all()
    assert filtering.mean() == pytest.approx(0.75, rel=0.02)


def test_the_unit_of_cost_is_a_parameter() -> None:
    in_ms = [operator.cost for operator in loads(trees(default_rng(1)))]
    in_us = [operator.cost for operator in loads(trees(default_rng(1), TreeParameters(unit=1e-6)))]
    assert in_us == pytest.approx([cost / 1000 for cost in in_ms])


@pytest.mark.parametrize("generate", [chains, trees, two_chains])
def test_equal_seeds_give_equal_networks(generate: Callable[[Generator], Network]) -> None:
    assert generate(default_rng(7)) == generate(default_rng(7))
    assert generate(default_rng(7)) != generate(default_rng(8))


def test_the_defaults_are_those_of_the_papers() -> None:
    assert (CHAINS.chains * CHAINS.length, CHAINS.selectivity) == (200, (0.8, 1.2))
    assert (TREES.streams, TREES.children, TREES.cost, TREES.passing) == (5, (1, 3), (0.1, 1.0), 0.5)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"chains": 0}, "chains is 0, but must be at least 1", id="no chain"),
        pytest.param({"length": 0}, "length is 0", id="no operator"),
        pytest.param({"cost": 61.0}, "cost is 61.0, but must be from 0 to 60", id="more than a minute"),
        pytest.param({"cost": float("nan")}, "cost is nan", id="no number"),
        pytest.param({"selectivity": (1.2, 0.8)}, r"selectivity\[1\] is 0.8", id="a range upside down"),
    ],
)
def test_parameters_that_make_no_network_are_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(DroverError, match=says):
        ChainParameters(**fields)  # type: ignore[arg-type]  # that it is refused is the point
