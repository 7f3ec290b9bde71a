"""Networks of one load and many shapes, in which few operators use a core."""

from __future__ import annotations

import pytest

from drover.load.profile import Origin, make_profile
from drover.load.statistics import Statistics
from drover.network.operators import Synthetic
from drover_lab.engine.saturation_networks import LOAD, RATE, SHAPES, network_of


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_has_the_load_that_is_asked_for_and_two_nodes_of_ten_burn(shape: str) -> None:
    network = network_of(shape, 3, 10)
    rates = Statistics({source.name: RATE for source in network.sources})
    loads = make_profile(network, [(Origin.GIVEN, rates)]).loads()
    assert sum(map(float, loads.values())) == pytest.approx(10 * LOAD, rel=0.25), "joins are estimated"
    synthetic = [one for one in network.operators if isinstance(one, Synthetic)]
    burnt = sum(float(loads[one.name]) for one in synthetic if one.cost)
    assert 0.05 < burnt / (10 * LOAD) < 0.35
    assert not any(one.cost and one.wait for one in synthetic)
    assert len(network.operators) >= 30


def test_equal_seeds_give_equal_networks() -> None:
    assert network_of("uneven", 1, 10) == network_of("uneven", 1, 10)
    assert network_of("uneven", 1, 10) != network_of("uneven", 2, 10)
