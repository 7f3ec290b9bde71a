from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from drover.hierarchy.durable_state import DurableState, replay
from drover.hierarchy.messages import (
    Bundle,
    Closed,
    Decision,
    HandedOut,
    Handover,
    JournalSnapshot,
    Record,
    TookIn,
)

START = JournalSnapshot(2, 5, ((0, (1.0,)), (1, (2.0,)), (2, (4.0,))))
HANDOVER = Handover(1, 7, (1, 2, 3), 6, (Bundle((1, 2), ((2.0,), (4.0,))),))


def test_a_pending_operator_is_owned_but_does_not_run() -> None:
    state = replay([START, HandedOut(HANDOVER)])
    assert (state.life, state.serial) == (2, 6)
    assert set(state.sizes) == {0, 1, 2}
    assert state.stopped == {1, 2}
    assert state.running == (0,)


def test_an_ended_hand_over_takes_away_only_what_was_taken() -> None:
    state = replay([START, HandedOut(HANDOVER), Closed(7, 6, (2,))])
    assert state.pending == {}
    assert state.running == (0, 1)


def test_a_decision_is_kept_with_the_operators_that_it_brings() -> None:
    state = replay([START, TookIn(9, 3, (Bundle((8,), ((0.5,),)),))])
    assert state.sizes[8] == (0.5,)
    assert state.decided == {9: Decision(9, 3, (8,))}


def test_a_refusal_is_kept_too_and_the_last_decision_counts() -> None:
    state = replay([START, TookIn(9, 3, (Bundle((8,), ((0.5,),)),)), TookIn(9, 4, ())])
    assert state.decided == {9: Decision(9, 4, ())}
    assert 8 in state.sizes


@given(cut=st.integers(0, 4))
def test_a_snapshot_stands_for_all_earlier_records(cut: int) -> None:
    records: list[Record] = [
        START,
        HandedOut(HANDOVER),
        TookIn(9, 3, (Bundle((8,), ((0.5,),)),)),
        Closed(7, 6, (1, 2)),
        TookIn(9, 4, ()),
    ]
    state = DurableState()
    for record in records[:cut]:
        state.apply(record)
    assert replay([state.snapshot(), *records[cut:]]) == replay(records)
