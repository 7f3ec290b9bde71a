from __future__ import annotations

import pytest

from drover.network.operators import OPERATORS
from drover.network.samples import sample_network
from drover.placement.plan import units_of
from drover.placement.starting_plans import DEFAULT_NODES, DEFAULT_PLAN, STARTING_PLANS


@pytest.mark.parametrize("name", STARTING_PLANS)
def test_every_starting_plan_places_every_unit_on_a_node(name: str) -> None:
    network = sample_network(OPERATORS["join"].samples[0])
    plan = STARTING_PLANS[name](network, DEFAULT_NODES)
    assert set(plan.node_of) == set(units_of(network))
    assert all(0 <= node < DEFAULT_NODES for node in plan.node_of.values())


def test_the_default_is_one_of_them() -> None:
    assert DEFAULT_PLAN in STARTING_PLANS
