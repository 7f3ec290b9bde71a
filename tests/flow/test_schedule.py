"""Hops: an operator runs in the first hop in which all its inputs are on its node."""

from __future__ import annotations

import pytest
from numpy.random import default_rng

import drover
from drover.flow.schedule import HopNode, make_schedule
from drover.network.model import Network
from drover.placement.plan import Plan, unit_of, units_of
from drover_lab.generate import DagParameters, dags


def chain() -> Network:
    net = drover.Builder("n")
    stream = net.source("s", {"x": "int"})
    for name in ("a", "b", "c"):
        stream = stream.filter(name, "x > 0")
    stream.output()
    return net.build()


@pytest.mark.parametrize(
    ("nodes", "hops"),
    [
        pytest.param([0, 0, 0], [0, 0, 0], id="a chain on one node is one hop"),
        pytest.param([0, 1, 1], [0, 1, 1], id="one change of node is one more hop"),
        pytest.param([0, 1, 0], [0, 1, 2], id="there and back again is two more"),
        pytest.param([1, 1, 1], [0, 0, 0], id="sources go to any node in the first hop"),
    ],
)
def test_hops_of_a_chain(nodes: list[int], hops: list[int]) -> None:
    schedule = make_schedule(chain(), Plan(1, 2, dict(zip("abc", nodes, strict=True))))
    assert [schedule.place_of[name].hop for name in "abc"] == hops
    assert schedule.hops == max(hops) + 1


def test_a_stream_goes_once_to_each_place_that_reads_it() -> None:
    net = drover.Builder("n")
    source = net.source("s", {"x": "int"})
    for index in range(4):
        source.filter(f"f{index}", "x > 0").output()
    schedule = make_schedule(net.build(), Plan(1, 3, {"f0": 0, "f1": 0, "f2": 2, "f3": 2}))
    assert schedule.routes["s"] == (HopNode(0, 0), HopNode(0, 2))
    assert all(schedule.routes[f"f{index}"] == () for index in range(4))


@pytest.mark.parametrize("seed", range(50))
def test_every_input_is_there_when_an_operator_runs(seed: int) -> None:
    rng = default_rng(seed)
    network = dags(rng, DagParameters(operators=25))
    nodes = int(rng.integers(1, 7))
    plan = Plan(1, nodes, {unit: int(rng.integers(nodes)) for unit in units_of(network)})
    schedule = make_schedule(network, plan)
    made_at = {stream: schedule.place_of[op.name] for op in network.operators for stream in op.outputs}
    for operator in network.operators:
        place = schedule.place_of[operator.name]
        assert place.node == plan.node_of[unit_of(operator)]
        for stream in operator.inputs:
            origin = made_at.get(stream)
            assert place == origin or place in schedule.routes[stream]
            if origin is not None:
                assert origin.hop + (origin.node != place.node) <= place.hop
    for place, run in schedule.runs.items():
        assert [operator for operator in network.order if operator in run] == list(run), place
