"""The steps of one node, and the table of its transitions; `test_bad_days.py` has many nodes and accidents."""

from __future__ import annotations

from typing import Any, cast

import pytest

from drover.hierarchy.diagram import diagram
from drover.hierarchy.machine import TRANSITIONS, CheckLevel, Machine, PhaseTimeout, Transition, initial_snapshot
from drover.hierarchy.messages import (
    Bundle,
    DemandRequest,
    HandedOut,
    Handover,
    JournalSnapshot,
    OfferRequest,
    Start,
    StepEffects,
)
from drover.hierarchy.node_state import NodeConfig, Phase
from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree


def test_the_table_knows_every_event_in_every_phase() -> None:
    events = {event for _, event in TRANSITIONS}
    assert len(events) == 10
    missing = {(phase, event) for phase in Phase for event in events} - set(TRANSITIONS)
    assert missing == {(Phase.IDLE, PhaseTimeout)}, "a node that waits for nothing is never late"
    assert {phase for (phase, event), rule in TRANSITIONS.items() if event is CheckLevel and len(rule.to) > 1} == {
        Phase.IDLE
    }


def test_the_drawing_has_every_arrow_of_the_table() -> None:
    drawn: Any = diagram()
    for (phase, event), each in TRANSITIONS.items():
        for to in each.to:
            if to is not phase:
                assert any(
                    f"{phase.value} --> {to.value}: " in line and event.__name__ in line for line in drawn.splitlines()
                )


# A node between its parent 0 and its child 2, with three operators that can move; its capacity is 100.
CONFIG = NodeConfig(1, Tree((ROOT, 0, 1)), Queries(((),) * 3, ((2,),) * 3), (100.0,))
SIZES = ((0, (10.0,)), (1, (20.0,)), (2, (25.0,)))
PENDING = Handover(1, 2, (1, 4, 1), 6, (Bundle((1,), ((20.0,),)),))


def test_a_node_starts_with_a_snapshot_of_its_next_life() -> None:
    machine = Machine(CONFIG, [JournalSnapshot(4, 5, SIZES)], 3.0, 7.0)
    assert machine.output == StepEffects((JournalSnapshot(5, 5, SIZES),), (Start((0, 1, 2)),))
    assert (machine.phase, machine.wake, machine.level) == (Phase.IDLE, 7.0, 0.55)


def test_a_node_that_crashed_while_it_gave_asks_again() -> None:
    machine = Machine(CONFIG, [JournalSnapshot(4, 5, SIZES), HandedOut(PENDING)], 3.0, 7.0)
    snapshot = JournalSnapshot(5, 6, SIZES, (), (PENDING,))
    assert machine.output == StepEffects((snapshot,), (Start((0, 2)),), (PENDING,))
    assert (machine.phase, machine.wake) == (Phase.GIVING, 3.5)
    assert machine.running == (0, 2)
    assert machine.tick(3.4) == StepEffects()
    assert machine.tick(3.5).messages == (PENDING,)
    assert machine.wake == 4.0


def test_a_new_node_has_never_lived() -> None:
    assert initial_snapshot(dict(SIZES)) == JournalSnapshot(0, 0, SIZES)


def test_only_own_operators_are_measured() -> None:
    machine = Machine(CONFIG, [initial_snapshot(dict(SIZES[:2]))], 0.0, 0.0)
    machine.measure({0: (15.0,), 2: (99.0,)})
    assert machine.sizes == {0: (15.0,), 1: (20.0,)}


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param(7.0, 12.0, id="in time"),
        pytest.param(8.5, 12.0, id="a little late"),
        pytest.param(11.9, 12.0, id="almost a period late"),
        pytest.param(12.0, 17.0, id="a period late"),
        pytest.param(29.0, 32.0, id="after a long pause"),
    ],
)
def test_a_node_checks_its_level_once_and_keeps_the_rhythm(now: float, due: float) -> None:
    machine = Machine(CONFIG, [initial_snapshot({0: (10.0,)})], 0.0, 7.0)
    assert machine.tick(6.9) == StepEffects()
    asked = machine.tick(now).messages
    assert [(type(each), each.receiver) for each in asked] == [(DemandRequest, 0), (DemandRequest, 2)]
    assert machine.state.next_check == due
    assert (machine.phase, machine.wake) == (Phase.DEMANDING, min(now + 0.5, due))


def test_a_message_is_handled_at_its_time() -> None:
    machine = Machine(CONFIG, [initial_snapshot({0: (10.0,)})], 0.0, 7.0)
    offer = OfferRequest(2, 1, (2, 1, 1), (Bundle((1,), ((20.0,),)),))
    (reply,) = machine.receive(offer, 3.0).messages
    assert (reply.receiver, machine.phase, machine.state.due) == (2, Phase.PROMISED, 3.0 + CONFIG.timing.promise)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(DemandRequest(2, 0, (2, 1, 1), (5.0,)), id="to somebody else"),
        pytest.param(DemandRequest(1, 1, (1, 1, 1), (5.0,)), id="from itself"),
    ],
)
def test_messages_that_are_not_from_a_neighbour_are_ignored(message: DemandRequest) -> None:
    machine = Machine(CONFIG, [initial_snapshot(dict(SIZES))], 0.0, 0.0)
    assert machine.receive(message, 0.0) == StepEffects()


def test_a_handler_that_leads_elsewhere_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(CONFIG, [initial_snapshot(dict(SIZES))], 0.0, 0.0)
    lost = Transition(lambda node, event, now: Phase.GIVING, (Phase.IDLE,))  # noqa: ARG005 - the signature of a handler
    monkeypatch.setitem(cast("dict[Any, Any]", TRANSITIONS), (Phase.IDLE, CheckLevel), lost)
    with pytest.raises(AssertionError, match=r"CheckLevel leads from Phase.IDLE to Phase.GIVING"):
        machine.tick(0.0)
