from __future__ import annotations

from drover.control.context import ControlContext, Deployment
from drover.control.settings import Control, Mode
from drover.control.state import ControlState
from drover.placement.plan import round_robin
from tests.control.trees import first, on, two_sides

NETWORK = two_sides()
PLAN = round_robin(NETWORK, 3)


def test_closed_nodes_are_not_open() -> None:
    assert Deployment(NETWORK, PLAN).open == 3
    assert Deployment(NETWORK, PLAN, frozenset({0, 2})).open == 1


def test_nodes_of_a_tree_are_never_closed() -> None:
    tree = on(NETWORK)
    deployment = Deployment(NETWORK, first(tree), frozenset({1}), tree)
    assert deployment.closed == frozenset()
    assert deployment.open == 3


def test_a_context_is_changed_by_making_another() -> None:
    context = ControlContext(ControlState(), Deployment(NETWORK, PLAN), Control())
    placed = context.with_state(placed=True)
    assert placed.state == ControlState(placed=True)
    assert placed.deployment is context.deployment
    auto = context.with_settings(mode=Mode.AUTO, trial=0)
    assert auto.settings == Control(mode=Mode.AUTO, trial=0)
    assert auto.state is context.state
    assert context == ControlContext(ControlState(), Deployment(NETWORK, PLAN), Control())
