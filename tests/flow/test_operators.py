"""Every kind of operator has a runner, and an operator gets the one of its kind."""

from __future__ import annotations

import pytest

from drover.flow.instances import JoinInstance
from drover.flow.operators import RUNNERS, CompileContext, late_streams, make_runner
from drover.network.operators import OPERATORS
from drover.network.samples import sample_network

STATELESS = ("filter", "switch", "map", "union", "synthetic")


def test_there_is_a_runner_for_each_kind_and_for_instances_of_joins() -> None:
    assert set(RUNNERS) == {*OPERATORS, JoinInstance.kind}


@pytest.mark.parametrize("kind", STATELESS)
def test_an_operator_gets_the_runner_of_its_kind(kind: str) -> None:
    (operator, *_) = OPERATORS[kind].samples
    network = sample_network(operator)
    runner = make_runner(
        network.operator(operator.name), CompileContext(network, lambda _: None, late_streams(network))
    )
    assert type(runner) is RUNNERS[kind]
