from __future__ import annotations

import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.hierarchy.queries import placement_faults
from drover_lab.trees.scenario import TreeScenario, TreeScenarioParameters, draw_scenario


def drawn(seed: int, parameters: TreeScenarioParameters) -> TreeScenario:
    return draw_scenario(default_rng(seed), parameters)


def test_the_defaults_are_the_scenario_of_the_text() -> None:
    found = drawn(5, TreeScenarioParameters())
    assert (len(found.tree), len(found.queries)) == (15, 360)
    assert list(placement_faults(found.tree, found.queries, found.node_of.tolist())) == []
    growing = found.when < 480
    assert len(set(found.which[growing].tolist())) <= 30
    sizes = found.sizes[:, 0].copy()
    for at, which, new in zip(found.when, found.which, found.new[:, 0], strict=True):
        assert (new >= sizes[which]) if at < 480 else (1 <= new <= sizes[which])
        sizes[which] = new


def test_queries_that_merge_read_from_every_child() -> None:
    found = drawn(6, TreeScenarioParameters(merging=1.0, chain=1))
    for entries, node in zip(found.queries.entries, found.node_of.tolist(), strict=True):
        assert len(entries) == max(len(found.tree.children[node]), 1)
    assert list(placement_faults(found.tree, found.queries, found.node_of.tolist())) == []


def test_a_parameter_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ProblemError, match="chain is 0"):
        TreeScenarioParameters(chain=0)
