from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import drover
from drover.control.by_hand import demand_move, move_by_hand
from drover.control.loop import step
from drover.control.offer import changed, find, hindrance, offer
from drover.control.record import Kind, Proposal
from drover.control.settings import Control, Mode
from drover.control.state import State
from drover.control.view import World
from drover.errors import DroverError
from drover.load.sample import Sample
from drover.network.model import Network
from drover.placement.plan import Plan

UNITS = ("a", "b", "c", "d")
ASKED = Control(mode=Mode.OBSERVE, warm_up=3, window=4)
PERIODS = 5


def network() -> Network:
    net = drover.Builder("flock")
    events = net.source("events", {"ts": "timestamp", "key": "int"}, time="ts")
    for name in UNITS:
        events.filter(name, "key <> 3").output()
    return net.build()


NETWORK = network()


def seen(loads: dict[str, float], periods: int = PERIODS, rows: float = 100.0, state: State | None = None) -> State:
    """What the loop remembers after some periods with these loads."""
    found = state or State()
    for _ in range(periods):
        samples = [Sample(name, {"events": rows}, {name: rows}, busy, 10) for name, busy in loads.items()]
        found = replace(found, window=found.window.push(found.period + 1, 1.0, {"events": rows}, samples)).notice()
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[State, World]:
    nodes = draw(st.integers(1, 3))
    places = {unit: draw(st.integers(0, nodes - 1)) for unit in UNITS}
    closed = draw(st.frozensets(st.integers(0, nodes - 1), max_size=nodes - 1))
    loads = {unit: draw(st.floats(0.01, 0.6)) for unit in UNITS}
    return seen(loads), World(NETWORK, Plan(draw(st.integers(1, 9)), nodes, places), closed)


UNEVEN = seen({"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05})
WORLD = World(NETWORK, Plan(1, 2, {"a": 0, "b": 0, "c": 1, "d": 1}))


def proposed(state: State = UNEVEN, world: World = WORLD) -> Proposal:
    found = offer(state, world, ASKED).proposal
    assert found is not None
    return found


@settings(max_examples=60)
@given(worlds())
def test_what_is_offered_is_sound_can_be_had_by_its_name_and_nothing_else(drawn: tuple[State, World]) -> None:
    state, world = drawn
    found = offer(state, world, ASKED)
    assert offer(state, world, ASKED) == found
    if found.proposal is None:
        assert found.record.reason
        return
    proposal = found.proposal
    assert find(proposal.id, {proposal.id: proposal}, state, world, ASKED, ()) == proposal
    after = changed(world.plan, proposal, world.network)
    targets = {move.unit: move.target for move in proposal.moves}
    assert after.node_of == {**world.plan.node_of, **targets}
    assert not set(after.node_of.values()) & world.closed
    assert hindrance(proposal, state, replace(world, plan=after), ASKED) is not None  # it cannot be done twice


@settings(max_examples=60)
@given(worlds(), worlds())
def test_a_name_stands_for_one_plan(one: tuple[State, World], other: tuple[State, World]) -> None:
    first, second = (offer(*drawn, ASKED).proposal for drawn in (one, other))
    if first is not None and second is not None and first.id == second.id:
        assert (first.base, first.nodes, [*map(str, first.moves)]) == (
            second.base,
            second.nodes,
            [*map(str, second.moves)],
        )


def test_what_waits_and_what_is_on_trial_is_offered_first() -> None:
    waiting = replace(proposed(), id="p3")
    found = offer(replace(UNEVEN, waiting=waiting), WORLD, ASKED)
    assert (found.proposal, found.waits) == (waiting, True)
    trying = Control(mode=Mode.AUTO, warm_up=3, window=4, trial=5)
    state, record = step(UNEVEN, WORLD, trying)
    found = offer(state, WORLD, trying, [record])
    assert (found.proposal, found.waits, found.record.kind) == (state.trial, False, Kind.TRIAL)
    elsewhere = replace(WORLD, plan=Plan(4, 2, {**WORLD.plan.node_of, "a": 1}))
    assert offer(state, elsewhere, trying).proposal != state.trial  # it was made for another plan


@pytest.mark.parametrize(
    ("world", "asked", "says"),
    [
        pytest.param(replace(WORLD, plan=Plan(1, 3, WORLD.plan.node_of)), ASKED, "there are 3 now", id="more nodes"),
        pytest.param(replace(WORLD, plan=Plan(2, 2, WORLD.plan.node_of)), ASKED, "plan 2 does now", id="a later plan"),
        pytest.param(replace(WORLD, closed=frozenset({1})), ASKED, "lost or is being emptied", id="a closed node"),
        pytest.param(WORLD, replace(ASKED, pins={"b": 0}), "unit b is pinned to node 0 now", id="a new pin"),
    ],
)
def test_a_changed_world_is_told(world: World, asked: Control, says: str) -> None:
    proposal = proposed()
    with pytest.raises(DroverError, match=says):
        find(proposal.id, {proposal.id: proposal}, UNEVEN, world, asked, ())


def test_a_load_that_has_changed_for_good_outdates_what_was_shown_but_not_what_waits() -> None:
    proposal = proposed()
    later = seen({"a": 0.4, "b": 0.25, "c": 0.05, "d": 0.05}, 3, 5_000.0, UNEVEN)
    assert later.since > proposal.period
    assert "the load has changed" in str(hindrance(proposal, later, WORLD, ASKED))
    assert hindrance(proposal, replace(later, waiting=proposal), WORLD, ASKED) is None
    assert hindrance(replace(proposal, gain=0.0), later, WORLD, ASKED) is None  # units need a node at any load


def test_what_became_of_a_proposal_is_told() -> None:
    waiting = replace(proposed(), id="p3")
    _, record = step(replace(UNEVEN, waiting=waiting), WORLD, replace(ASKED, mode=Mode.PROPOSE))
    assert record.kind is Kind.PROPOSED
    refused = replace(record, kind=Kind.REFUSED, reason="it was not worth it")
    with pytest.raises(DroverError, match="p3 was refused in period 5: it was not worth it"):
        find("p3", {}, UNEVEN, WORLD, ASKED, [record, refused])
    with pytest.raises(DroverError, match=r"there is no proposal 'p4'\. Known: none"):
        find("p4", {}, UNEVEN, WORLD, ASKED, [record])


def test_a_move_by_hand_is_a_proposal_of_one_move() -> None:
    proposal = move_by_hand("c", 0, UNEVEN, WORLD, ASKED)
    assert proposal is not None
    assert changed(WORLD.plan, proposal, WORLD.network).node_of == {**WORLD.plan.node_of, "c": 0}
    assert proposal.before == (0.65, 0.1)
    assert proposal.after == (0.7, 0.05)
    with pytest.raises(DroverError, match="plan 1 ran when it was made, and plan 7 does now"):
        changed(replace(WORLD.plan, number=7), proposal, WORLD.network)
    with pytest.raises(DroverError, match="cannot go there"):
        demand_move("c", 0, replace(WORLD, closed=frozenset({0})))
    with pytest.raises(DroverError, match="there is no unit 'z'"):
        demand_move("z", 0, WORLD)
