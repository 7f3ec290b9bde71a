"""The hand-over, step by step; `test_exhaustive.py` tries it in every order of events."""

from __future__ import annotations

import pytest

from drover.hierarchy.durable_state import replay
from drover.hierarchy.handover import close, decide, decide_promised, decide_taking, hand_over, repeat_handovers
from drover.hierarchy.machine import initial_snapshot
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    Closed,
    DemandReply,
    Handover,
    HandoverReply,
    Start,
    StepEffects,
    Stop,
    TookIn,
)
from drover.hierarchy.node_state import NodeConfig, NodeState, Phase
from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import ROOT, Tree

ROUND = (1, 1, 1)
OTHER_ROUND = (0, 1, 1)
QUERIES = Queries(((),) * 4, ((2,),) * 4)
CONFIG = NodeConfig(1, Tree((ROOT, 0, 1)), QUERIES, (100.0,))


def bundle(operator: int, size: float) -> Bundle:
    return Bundle((operator,), ((size,),))


def node(sizes: dict[int, float], phase: Phase = Phase.IDLE) -> NodeState:
    durable = replay([initial_snapshot({operator: (size,) for operator, size in sizes.items()})])
    return NodeState(CONFIG, durable, phase=phase)


def offered(serial: int, *bundles: Bundle, sender: int = 0) -> Handover:
    return Handover(sender, 1, OTHER_ROUND, serial, bundles)


def test_operators_stop_before_they_are_sent_and_stay_owned() -> None:
    giver = node({0: 30.0, 1: 40.0})
    assert hand_over(giver, ROUND, {2: [bundle(0, 30.0)]}, now=5.0) is Phase.GIVING
    assert giver.actions == [Stop((0,))]
    assert giver.messages == [Handover(1, 2, ROUND, 1, (bundle(0, 30.0),))]
    assert set(giver.durable.sizes) == {0, 1}
    assert giver.due == 5.0 + CONFIG.timing.patience


def test_a_hand_over_ends_what_the_round_waited_for() -> None:
    giver = node({0: 30.0, 1: 40.0})
    giver.promise = giver.replies[2] = DemandReply(1, 2, ROUND)
    giver.asked = {0: Clear(1, 0, ROUND)}
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)]}, now=5.0)
    left: list[object] = [giver.round, giver.promise, giver.asked, giver.replies]
    assert left == [ROUND, None, {}, {}]


def test_hand_overs_of_one_round_have_numbers_of_their_own() -> None:
    giver = node({0: 30.0, 1: 40.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)], 0: [bundle(1, 40.0)]}, now=5.0)
    sent = [each for each in giver.messages if isinstance(each, Handover)]
    assert [(each.receiver, each.serial, each.operators) for each in sent] == [(2, 1, (0,)), (0, 2, (1,))]


def test_a_hand_over_repeats_unchanged_until_it_is_answered() -> None:
    giver = node({0: 30.0, 1: 40.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)]}, now=0.0)
    (sent,) = giver.flush().messages
    assert repeat_handovers(giver, None, 1.0) is Phase.GIVING
    assert giver.flush().messages == (sent,)
    assert giver.due == 1.0 + CONFIG.timing.patience


@pytest.mark.parametrize(
    ("sender", "serial"),
    [pytest.param(2, 0, id="an earlier hand-over"), pytest.param(0, 1, id="a hand-over to somebody else")],
)
def test_an_answer_to_something_else_ends_no_hand_over(sender: int, serial: int) -> None:
    giver = node({0: 30.0, 1: 40.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)]}, now=0.0)
    giver.flush()
    assert close(giver, HandoverReply(sender, 1, ROUND, serial, (0,)), 1.0) is Phase.GIVING
    assert giver.flush() == StepEffects()


def test_a_giver_keeps_what_was_not_taken_of_several() -> None:
    giver = node({0: 30.0, 1: 40.0, 2: 5.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0), bundle(1, 40.0)]}, now=0.0)
    giver.flush()
    assert close(giver, HandoverReply(2, 1, ROUND, 1, (1, 3)), 1.0) is Phase.IDLE
    assert giver.flush() == StepEffects((Closed(2, 1, (1,)),), (Start((0,)),))
    assert set(giver.durable.sizes) == {0, 2}


@pytest.mark.parametrize(
    ("taken", "owned", "started"),
    [
        pytest.param((0,), {1}, [], id="all was taken"),
        pytest.param((), {0, 1}, [Start((0,))], id="nothing was taken"),
    ],
)
def test_what_was_not_taken_starts_again(taken: tuple[int, ...], owned: set[int], started: list[Start]) -> None:
    giver = node({0: 30.0, 1: 40.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)]}, now=0.0)
    giver.flush()
    assert close(giver, HandoverReply(2, 1, ROUND, 1, taken), 1.0) is Phase.IDLE
    assert set(giver.durable.sizes) == owned
    assert giver.actions == started


def test_a_repeated_answer_changes_nothing() -> None:
    giver = node({0: 30.0, 1: 40.0})
    hand_over(giver, ROUND, {2: [bundle(0, 30.0)], 0: [bundle(1, 40.0)]}, now=0.0)
    giver.flush()
    answer = HandoverReply(2, 1, ROUND, 1, (0,))
    assert close(giver, answer, 1.0) is Phase.GIVING
    giver.flush()
    assert close(giver, answer, 2.0) is Phase.GIVING
    assert giver.flush().records == ()
    assert set(giver.durable.pending) == {0}


def test_a_receiver_takes_what_fits_below_the_upper_threshold() -> None:
    taker = node({3: 40.0})
    decide(taker, offered(1, bundle(0, 15.0), bundle(1, 15.0), bundle(2, 3.0)), 0.0)
    (reply,) = taker.messages
    assert reply == HandoverReply(1, 0, OTHER_ROUND, 1, (0, 2))
    assert taker.records == [TookIn(0, 1, (bundle(0, 15.0), bundle(2, 3.0)))]
    assert taker.actions == [Start((0, 2))]


def test_a_receiver_decides_once_and_repeats_its_answer() -> None:
    taker = node({3: 40.0})
    decide(taker, offered(1, bundle(0, 15.0)), 0.0)
    first = taker.flush()
    taker.durable.sizes[3] = (90.0,)  # it would refuse now
    decide(taker, offered(1, bundle(0, 15.0)), 1.0)
    again = taker.flush()
    assert again.messages == first.messages
    assert (again.records, again.actions) == ((), ())


def test_an_older_hand_over_is_not_answered() -> None:
    taker = node({3: 10.0})
    decide(taker, offered(2, bundle(0, 1.0)), 0.0)
    taker.flush()
    decide(taker, offered(1, bundle(1, 1.0)), 1.0)
    assert taker.flush().messages == ()
    assert 1 not in taker.durable.sizes


def test_a_later_hand_over_is_decided_anew() -> None:
    taker = node({3: 10.0})
    decide(taker, offered(1, bundle(0, 1.0)), 0.0)
    taker.flush()
    assert decide(taker, offered(2, bundle(1, 1.0)), 1.0) is Phase.IDLE
    assert taker.flush().messages == (HandoverReply(1, 0, OTHER_ROUND, 2, (1,)),)


def test_a_refusal_starts_nothing() -> None:
    taker = node({3: 59.0})
    decide(taker, offered(1, bundle(0, 10.0)), 0.0)
    assert taker.flush() == StepEffects((TookIn(0, 1, ()),), (), (HandoverReply(1, 0, OTHER_ROUND, 1, ()),))


def test_a_node_that_gives_refuses_and_remembers_it() -> None:
    giver = node({3: 10.0}, Phase.GIVING)
    assert decide(giver, offered(1, bundle(0, 1.0)), 0.0) is Phase.GIVING
    (reply,) = giver.messages
    assert isinstance(reply, HandoverReply)
    assert reply.taken == ()
    assert giver.durable.decided[0].serial == 1


def test_an_operator_that_is_owned_is_not_taken_again() -> None:
    taker = node({0: 10.0})
    decide(taker, offered(1, bundle(0, 1.0)), 0.0)
    assert taker.durable.decided[0].taken == ()
    assert taker.durable.sizes == {0: (10.0,)}


def test_only_the_promised_hand_over_ends_the_round() -> None:
    taker = node({3: 10.0}, Phase.PROMISED)
    taker.round = OTHER_ROUND
    late = Handover(2, 1, (2, 1, 1), 1, (bundle(1, 1.0),))
    assert decide_promised(taker, late, 0.0) is Phase.PROMISED
    assert decide_promised(taker, offered(1, bundle(0, 1.0)), 0.0) is Phase.IDLE
    assert set(taker.durable.sizes) == {0, 1, 3}


def test_a_demand_ends_with_its_last_hand_over() -> None:
    taker = node({3: 10.0}, Phase.TAKING)
    taker.round = ROUND
    taker.asked = {0: Clear(1, 0, ROUND), 2: Clear(1, 2, ROUND)}  # any message: only the neighbours count
    assert decide_taking(taker, Handover(0, 1, ROUND, 1, (bundle(0, 1.0),)), 0.0) is Phase.TAKING
    assert decide_taking(taker, Handover(2, 1, ROUND, 1, (bundle(1, 1.0),)), 0.0) is Phase.IDLE
    assert set(taker.durable.sizes) == {0, 1, 3}


def test_a_late_hand_over_does_not_stand_for_a_requested_one() -> None:
    taker = node({3: 10.0}, Phase.TAKING)
    taker.round = ROUND
    taker.asked = {0: Clear(1, 0, ROUND)}
    assert decide_taking(taker, offered(1, bundle(0, 1.0)), 0.0) is Phase.TAKING
    assert decide_taking(taker, Handover(2, 1, ROUND, 1, (bundle(1, 1.0),)), 0.0) is Phase.TAKING
    assert decide_taking(taker, Handover(0, 1, ROUND, 2, (bundle(2, 1.0),)), 0.0) is Phase.IDLE
