from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.hierarchy.queries import placement_faults
from drover.hierarchy.thresholds import TreeThresholds
from drover_lab.trees.links import Cut, LinkModel, Outage
from drover_lab.trees.outcome import TreeRun
from drover_lab.trees.run import TreeSettings, simulate_protocol, simulate_static
from drover_lab.trees.scenario import TreeScenario, TreeScenarioParameters, draw_scenario

SHORT = TreeScenarioParameters(nodes=7, operators=60, size=5.0, seconds=120.0, growing=2)


def drawn(seed: int = 0, parameters: TreeScenarioParameters = SHORT) -> TreeScenario:
    return draw_scenario(default_rng(seed), parameters)


def same(one: TreeRun, other: TreeRun) -> bool:
    return bool((one.levels == other.levels).all() and one.sent == other.sent and (one.node_of == other.node_of).all())


def test_equal_seeds_give_equal_courses() -> None:
    bad = TreeSettings(links=LinkModel(loss=0.1, doubled=0.1))
    assert same(simulate_protocol(drawn(), default_rng(1), bad), simulate_protocol(drawn(), default_rng(1), bad))
    assert not same(simulate_protocol(drawn(), default_rng(1), bad), simulate_protocol(drawn(), default_rng(2), bad))


def test_nobody_moves_where_nobody_has_reason_to() -> None:
    wide = TreeSettings(thresholds=TreeThresholds(0.0, 1.0))
    ample = replace(SHORT, capacity=10_000.0)
    outcome = simulate_protocol(drawn(parameters=ample), default_rng(1), wide)
    assert (outcome.levels == simulate_static(drawn(parameters=ample)).levels).all()
    assert (outcome.moved, outcome.rounds, dict(outcome.sent)) == (0, 0, {})


@given(st.integers(0, 10**6), st.floats(0, 0.5), st.floats(0, 0.3))
@settings(max_examples=15)
def test_whatever_the_network_does_operators_stay_where_their_inputs_pass(
    seed: int, loss: float, doubled: float
) -> None:
    before = drawn(seed)
    rng = default_rng(seed)
    cuts = tuple(Cut(node, before.tree.parent[node], 20.0, 60.0) for node in rng.integers(1, 7, size=2).tolist())
    outages = tuple(Outage(node, 30.0 + node, 70.0) for node in rng.permutation(7)[:2].tolist())
    chosen = TreeSettings(links=LinkModel((0.0, 1.0), loss, doubled, cuts), outages=outages)
    outcome = simulate_protocol(before, rng, chosen)
    assert list(placement_faults(before.tree, before.queries, outcome.node_of.tolist())) == []
    still = simulate_static(before)
    assert np.allclose(outcome.levels.sum(axis=1), still.levels.sum(axis=1)), "what is there is somewhere"


def test_a_thousand_nodes_on_a_bad_day_keep_everything_where_it_can_run() -> None:
    before = drawn(8, TreeScenarioParameters(nodes=1000, operators=10_000, size=4.0, seconds=60.0, growing=67))
    outages = tuple(Outage(node, 10.0 + node % 20, 40.0) for node in range(0, 1000, 20))
    outcome = simulate_protocol(
        before, default_rng(8), TreeSettings(links=LinkModel(loss=0.1, doubled=0.1), outages=outages)
    )
    assert list(placement_faults(before.tree, before.queries, outcome.node_of.tolist())) == []
    still = simulate_static(before)
    assert np.allclose(outcome.levels.sum(axis=1), still.levels.sum(axis=1))
    assert outcome.moved > 300
    late = outcome.times > 30
    assert outcome.overloaded(0.6)[late].sum() < 0.7 * still.overloaded(0.6)[late].sum()


def test_a_cut_link_carries_nothing_and_heals() -> None:
    before = drawn(3)
    split = tuple(Cut(node, before.tree.parent[node], 0.0, 60.0) for node in range(1, 7))
    outcome = simulate_protocol(before, default_rng(3), TreeSettings(links=LinkModel(cuts=split)))
    still = simulate_static(before)
    early = outcome.times < 60
    assert (outcome.levels[early] == still.levels[early]).all()
    assert outcome.moved > 0


def test_a_node_that_is_down_gives_and_takes_nothing() -> None:
    before = drawn(4)
    outcome = simulate_protocol(
        before, default_rng(4), TreeSettings(outages=tuple(Outage(node, 0.0, 119.0) for node in range(7)))
    )
    assert outcome.sent.get("Handover", 0) == 0
    assert (outcome.node_of == before.node_of).all()
