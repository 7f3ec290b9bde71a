"""Rounds between the nodes of a small tree; `test_round_steps.py` has the steps of one node."""

from __future__ import annotations

import pytest

from drover.hierarchy.machine import Machine, initial_snapshot
from drover.hierarchy.messages import Clear, DemandReply, HandedOut, Handover, OfferReply, OfferRequest
from drover.hierarchy.node_state import NodeConfig, Phase
from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree
from tests.hierarchy.world import World, world_of

PATH = Tree((ROOT, 0, 1))


def played(world: World, first: int) -> World:
    """Let one node check its level, and deliver every message in order."""
    world.tick(first)
    while world.wire:
        world.deliver(0)
        world.check()
    return world


def world(levels: tuple[float, float, float], movable: float) -> World:
    """Return a path of three nodes; operator 0 is on the middle one and can go up and down, the others cannot move."""
    node_of = (1, 0, 1, 2)
    sizes = (movable, levels[0], levels[1] - movable, levels[2])
    queries = Queries(((), (), (), ()), ((2,), (0, 0), (1, 1), (2, 2)))
    found = world_of(PATH, queries, node_of, [(size,) for size in sizes], [(100.0,)] * 3)
    for machine in filter(None, found.machines):
        machine.state.next_check = 0.0
    return found


def phase_of(found: World, node: int) -> Phase | None:
    """Return the phase of a node; None if it is down."""
    machine = found.machines[node]
    return None if machine is None else machine.phase


@pytest.mark.parametrize(
    ("levels", "movable", "first", "to"),
    [
        pytest.param(
            (59.0, 65.0, 40.0), 10.0, 1, 2, id="figure 12 of the text: the parent is full, the child takes it"
        ),
        pytest.param((41.0, 65.0, 41.0), 10.0, 1, 0, id="of two that are alike, who answers first"),
        pytest.param((45.0, 65.0, 30.0), 10.0, 1, 2, id="who is underloaded goes first"),
        pytest.param((50.0, 65.0, 50.0), 10.0, 1, 1, id="nobody is filled beyond the upper mark"),
        pytest.param((30.0, 65.0, 30.0), 20.0, 1, 1, id="nobody gives until it is below the target"),
        pytest.param((30.0, 60.0, 45.0), 10.0, 1, 1, id="at the upper mark nothing is offered"),
        pytest.param((35.0, 60.0, 45.0), 10.0, 0, 0, id="an underloaded node asks, and gets what is above the target"),
        pytest.param((45.0, 60.0, 35.0), 10.0, 2, 2, id="from above as well"),
        pytest.param((35.0, 58.0, 45.0), 10.0, 0, 1, id="but never what its neighbour needs for its target"),
        pytest.param((41.0, 60.0, 45.0), 9.0, 0, 1, id="above the lower mark nobody asks"),
        pytest.param((39.0, 65.0, 45.0), 12.0, 0, 1, id="nor takes more than to the own target"),
    ],
)
def test_where_an_operator_goes(levels: tuple[float, float, float], movable: float, first: int, to: int) -> None:
    assert played(world(levels, movable), first).holders()[0] == [to]


def test_both_resources_count_and_the_fuller_one_decides() -> None:
    queries = Queries(((), ()), ((1,), (0, 0)))
    sizes = [(10.0, 70.0), (30.0, 5.0)]
    tree = Tree((ROOT, 0))
    node_of = (1, 0)
    capacity = [(100.0, 100.0)] * 2
    found = world_of(tree, queries, node_of, sizes, capacity)
    assert found.machines[1] is not None
    assert found.machines[1].level == 0.7
    assert played(found, 1).holders()[0] == [1], "below the target in both, it would be"
    queries = Queries(((), (), ()), ((1,), (0, 0), (1, 1)))
    sizes = [(1.0, 10.0), (30.0, 52.0), (5.0, 58.0)]
    assert played(world_of(tree, queries, (1, 0, 1), sizes, capacity), 1).holders()[0] == [1], "no room for its CPU"
    sizes = [(1.0, 10.0), (30.0, 45.0), (5.0, 58.0)]
    assert played(world_of(tree, queries, (1, 0, 1), sizes, capacity), 1).holders()[0] == [0]


def test_an_offer_goes_before_a_demand() -> None:
    found = world((30.0, 65.0, 45.0), 10.0)
    found.tick(0)  # asks
    found.tick(1)  # offers
    assert phase_of(found, 0) is Phase.DEMANDING
    request = next(each for each in found.wire if isinstance(each, OfferRequest) and each.receiver == 0)
    found.deliver(found.wire.index(request))
    assert phase_of(found, 0) is Phase.PROMISED
    assert [type(each) for each in found.wire if each.sender == 0][-2:] == [Clear, OfferReply]
    while found.wire:
        found.deliver(0)
    assert found.holders()[0] == [0]


def test_who_is_in_another_round_says_so() -> None:
    found = world((30.0, 65.0, 30.0), 10.0)
    found.tick(1)
    found.tick(0)
    while found.wire and not isinstance(found.wire[-1], DemandReply):
        found.deliver(len(found.wire) - 1)
    reply = found.wire[-1]
    assert isinstance(reply, DemandReply)
    assert reply.busy


def test_strangers_are_not_listened_to() -> None:
    place = NodeConfig(1, PATH, Queries(((),), ((2,),)), (100.0,))
    machine = Machine(place, [initial_snapshot({0: (70.0,)})], 0.0, 0.0)
    output = machine.receive(OfferRequest(7, 1, (7, 1, 1), ()), 0.0)
    assert output.messages == ()
    assert machine.receive(OfferRequest(0, 2, (0, 1, 1), ()), 0.0).messages == ()


def test_lives_and_serials_rise_over_a_crash() -> None:
    found = world((59.0, 65.0, 40.0), 10.0)
    found.tick(1)
    while not any(isinstance(each, Handover) for each in found.wire):
        found.deliver(0)
    serial = next(each.serial for each in found.wire if isinstance(each, Handover))
    found.crash(1)
    found.restart(1)
    machine = found.machines[1]
    assert machine is not None
    assert (machine.state.durable.life, machine.state.durable.serial) == (2, serial)
    assert machine.phase is Phase.GIVING, "what was handed over is still in doubt"
    assert any(isinstance(each, HandedOut) for each in found.journal[1])
    found.recover()
    assert found.holders()[0] == [2]
