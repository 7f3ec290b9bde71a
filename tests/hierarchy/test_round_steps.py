"""The steps of a round, one by one, of the middle node of a path. Its capacity is 100, so sizes are percent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from drover.hierarchy import rounds
from drover.hierarchy.durable_state import replay
from drover.hierarchy.handover import hand_over
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    DemandReply,
    DemandRequest,
    Handover,
    JournalSnapshot,
    OfferReply,
    OfferRequest,
    Reply,
    Request,
    Take,
)
from drover.hierarchy.node_state import NEVER, NodeConfig, NodeState, Phase
from drover.hierarchy.queries import Queries
from drover.hierarchy.thresholds import TreeThresholds
from drover.hierarchy.tree import ROOT, Tree

PATH = Tree((ROOT, 0, 1))
ROUND = (1, 1, 1)
FROM_BELOW = (2, 1, 1)
MOVABLE = Queries(((),) * 4 + ((), (4,)), ((2,),) * 4 + ((2,), ()))  # operator 5 reads operator 4; both can move alike


def single(operator: int, size: float) -> Bundle:
    return Bundle((operator,), ((size,),))


def middle(sizes: dict[int, float], phase: Phase = Phase.IDLE, **round_: Any) -> NodeState:  # Any: fields by name
    """Return the middle node with these operators; further arguments are fields of the round that it is in."""
    config = NodeConfig(1, PATH, MOVABLE, (100.0,))
    durable = replay([JournalSnapshot(1, sizes=tuple((j, (size,)) for j, size in sizes.items()))])
    return NodeState(config, durable, phase=phase, **round_)


def promise_of(node: NodeState) -> tuple[Reply | None, float]:
    return node.promise, node.due


def test_an_overloaded_node_offers_what_it_can_give_to_every_neighbour() -> None:
    node = middle({0: 10.0, 1: 56.0}, rounds=4)
    assert rounds.check_level(node, None, 3.0) is Phase.OFFERING
    begun = (1, 1, 5)
    offers = [OfferRequest(1, each, begun, (single(0, 10.0),)) for each in (0, 2)]
    assert node.messages == offers
    assert (node.round, node.rounds, node.tries, node.due) == (begun, 5, 1, 3.5)
    assert node.asked == {0: offers[0], 2: offers[1]}


def test_an_underloaded_node_asks_every_neighbour_for_what_it_lacks_to_its_target() -> None:
    node = middle({0: 10.0})
    assert rounds.check_level(node, None, 3.0) is Phase.DEMANDING
    assert node.messages == [DemandRequest(1, each, ROUND, (40.0,)) for each in (0, 2)]
    assert (node.round, node.rounds, node.tries, node.due) == (ROUND, 1, 1, 3.5)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param({0: 60.0}, id="at the upper threshold"),
        pytest.param({0: 40.0}, id="at the lower threshold"),
        pytest.param({0: 90.0}, id="nothing can be given"),
    ],
)
def test_without_anything_to_ask_no_round_begins(sizes: dict[int, float]) -> None:
    node = middle(sizes)
    assert rounds.check_level(node, None, 3.0) is Phase.IDLE
    assert (node.messages, node.round, node.rounds, node.due) == ([], None, 0, NEVER)


@pytest.mark.parametrize(
    ("use", "offered", "taken", "urgent"),
    [
        pytest.param(40.0, [10.0, 10.0], [0], True, id="at the lower threshold, to the margin"),
        pytest.param(41.0, [9.0, 9.0], [0, 1], False, id="several"),
        pytest.param(41.0, [30.0, 9.0], [1], False, id="a smaller one after one that does not fit"),
        pytest.param(59.0, [10.0], [], False, id="a full node"),
    ],
)
def test_what_a_node_would_take(use: float, offered: list[float], taken: list[int], urgent: bool) -> None:
    node = middle({3: use})
    bundles = tuple(single(j, size) for j, size in enumerate(offered))
    phase = rounds.answer_offer(node, OfferRequest(2, 1, FROM_BELOW, bundles), 3.0)
    reply = OfferReply(1, 2, FROM_BELOW, tuple(bundles[j] for j in taken), urgent)
    assert node.messages == [reply]
    if taken:
        assert phase is Phase.PROMISED
        assert (node.round, node.promise, node.due) == (FROM_BELOW, reply, 3.0 + node.config.timing.promise)
    else:
        assert phase is Phase.IDLE
        assert (node.round, node.promise, node.due) == (None, None, NEVER)


def test_an_operator_that_is_offered_alone_and_with_another_is_taken_once() -> None:
    node = middle({3: 30.0})
    both = Bundle((4, 5), ((5.0,), (5.0,)))
    rounds.answer_offer(node, OfferRequest(2, 1, FROM_BELOW, (single(4, 5.0), both, single(5, 5.0))), 0.0)
    assert node.promise is not None
    assert node.promise.bundles == (single(4, 5.0), single(5, 5.0))


@pytest.mark.parametrize(
    ("sizes", "room", "given", "urgent"),
    [
        pytest.param({0: 10.0, 3: 50.0}, 10.0, [0], False, id="as much as the neighbour lacks"),
        pytest.param({0: 10.0, 3: 50.0}, 9.9, [], False, id="not more"),
        pytest.param({0: 10.0, 3: 49.0}, 20.0, [], False, id="not below the own target"),
        pytest.param({0: 10.0, 1: 10.0, 3: 50.0}, 20.0, [0, 1], True, id="either of two, from an overloaded node"),
    ],
)
def test_what_a_node_would_give(sizes: dict[int, float], room: float, given: list[int], urgent: bool) -> None:
    node = middle(sizes)
    rounds.answer_demand(node, DemandRequest(2, 1, FROM_BELOW, (room,)), 3.0)
    assert node.messages == [DemandReply(1, 2, FROM_BELOW, tuple(single(j, sizes[j]) for j in given), urgent)]


def test_small_operators_are_not_worth_a_transfer() -> None:
    thresholds = TreeThresholds(least=0.05)
    node = middle({0: 4.0, 1: 5.0, 3: 60.0})
    node.config = replace(node.config, thresholds=thresholds)
    rounds.answer_demand(node, DemandRequest(2, 1, FROM_BELOW, (20.0,)), 3.0)
    rounds.check_level(node, None, 3.0)
    assert node.messages == [
        DemandReply(1, 2, FROM_BELOW, (single(1, 5.0),), urgent=True),
        *(OfferRequest(1, each, ROUND, (single(1, 5.0),)) for each in (0, 2)),
    ]


def test_who_yields_to_an_offer_releases_everybody_it_has_asked() -> None:
    asked = DemandRequest(1, 2, ROUND, (40.0,))
    promises = DemandReply(0, 1, ROUND, (single(1, 5.0),))
    node = middle({3: 10.0}, Phase.DEMANDING, round=ROUND, asked={2: asked}, replies={0: promises})
    offer = OfferRequest(2, 1, FROM_BELOW, (single(0, 5.0),))
    assert rounds.yield_to_offer(node, offer, 3.0) is Phase.PROMISED
    reply = OfferReply(1, 2, FROM_BELOW, offer.bundles, urgent=True)
    assert node.messages == [Clear(1, 2, ROUND), Clear(1, 0, ROUND), reply]
    assert (node.round, node.promise, node.asked, node.replies) == (FROM_BELOW, reply, {}, {})


def test_a_neighbour_that_promised_nothing_needs_no_release() -> None:
    node = middle({3: 10.0}, Phase.DEMANDING, round=ROUND, replies={0: DemandReply(0, 1, ROUND)})
    rounds.yield_to_offer(node, OfferRequest(2, 1, FROM_BELOW, ()), 3.0)
    assert [type(each) for each in node.messages] == [OfferReply]


PROMISE = OfferReply(1, 2, (2, 1, 5), (single(0, 5.0),), urgent=True)


@pytest.mark.parametrize(
    ("request_", "reply", "phase"),
    [
        pytest.param(OfferRequest(2, 1, (2, 1, 5), ()), PROMISE, Phase.PROMISED, id="the promise is repeated"),
        pytest.param(
            OfferRequest(2, 1, (2, 1, 6), ()), OfferReply(1, 2, (2, 1, 6), urgent=True), Phase.IDLE, id="a later offer"
        ),
        pytest.param(
            DemandRequest(2, 1, (2, 2, 1), (5.0,)), DemandReply(1, 2, (2, 2, 1)), Phase.IDLE, id="in another life"
        ),
        pytest.param(
            OfferRequest(2, 1, (2, 1, 4), ()), OfferReply(1, 2, (2, 1, 4), busy=True), Phase.PROMISED, id="an old offer"
        ),
        pytest.param(
            DemandRequest(0, 1, (9, 1, 9), (5.0,)),
            DemandReply(1, 0, (9, 1, 9), busy=True),
            Phase.PROMISED,
            id="from somebody else",
        ),
    ],
)
def test_requests_to_a_node_that_has_promised(request_: Request, reply: Reply, phase: Phase) -> None:
    node = middle({3: 10.0}, Phase.PROMISED, round=PROMISE.round, promise=PROMISE, due=9.0)
    assert rounds.repeat_reply(node, request_, 3.0) is phase
    assert node.messages == [reply]
    assert (node.promise, node.due) == ((PROMISE, 9.0) if phase is Phase.PROMISED else (None, NEVER))


@pytest.mark.parametrize(
    ("reply", "released"),
    [
        pytest.param(OfferReply(0, 1, (1, 1, 9), (single(0, 5.0),)), True, id="a promise for another round"),
        pytest.param(OfferReply(0, 1, (1, 1, 9)), False, id="no promise"),
        pytest.param(OfferReply(0, 1, ROUND, (single(0, 5.0),)), False, id="a repeated promise for this round"),
    ],
)
def test_a_late_promise_is_released(reply: Reply, released: bool) -> None:
    waiting = OfferRequest(1, 2, ROUND, ())
    node = middle({3: 70.0}, Phase.OFFERING, round=ROUND, asked={2: waiting})
    assert rounds.record_reply(node, reply, 3.0) is Phase.OFFERING
    assert node.messages == ([Clear(1, 0, reply.round)] if released else [])
    assert (node.asked, node.replies) == ({2: waiting}, {})


def test_a_round_ends_with_the_last_reply() -> None:
    asked = {each: OfferRequest(1, each, ROUND, ()) for each in (0, 2)}
    node = middle({0: 10.0, 3: 55.0}, Phase.OFFERING, round=ROUND, asked=dict(asked))
    assert rounds.record_reply(node, OfferReply(0, 1, ROUND), 3.0) is Phase.OFFERING
    assert node.asked == {2: asked[2]}
    assert rounds.record_reply(node, OfferReply(2, 1, ROUND, (single(0, 10.0),)), 3.0) is Phase.GIVING
    assert node.messages == [Handover(1, 2, ROUND, 1, (single(0, 10.0),))]


def test_requests_are_repeated_and_then_given_up() -> None:
    asked = OfferRequest(1, 2, ROUND, ())
    node = middle({3: 70.0}, Phase.OFFERING, round=ROUND, asked={2: asked}, tries=1)
    for tries in (2, 3):
        assert rounds.repeat_requests(node, None, float(tries)) is Phase.OFFERING
        assert (node.messages, node.tries, node.due) == ([asked], tries, tries + 0.5)
        node.flush()
    assert rounds.repeat_requests(node, None, 9.0) is Phase.IDLE
    assert node.messages == [Clear(1, 2, ROUND)]


def test_an_offer_goes_to_urgent_neighbours_first_and_everybody_else_is_released() -> None:
    replies: dict[int, Reply] = {
        0: OfferReply(0, 1, ROUND, (single(0, 10.0),)),
        2: OfferReply(2, 1, ROUND, (single(0, 10.0),), urgent=True),
    }
    node = middle({0: 10.0, 3: 55.0}, Phase.OFFERING, round=ROUND, replies=replies)
    assert rounds.conclude_round(node, 3.0) is Phase.GIVING
    assert node.messages == [Clear(1, 0, ROUND), Handover(1, 2, ROUND, 1, (single(0, 10.0),))]
    assert node.due == 3.5


def test_an_offer_ends_at_the_target() -> None:
    replies: dict[int, Reply] = {
        0: OfferReply(0, 1, ROUND, (single(0, 10.0),)),
        2: OfferReply(2, 1, ROUND, (single(1, 10.0), single(2, 10.0))),
    }
    node = middle({0: 10.0, 1: 10.0, 2: 10.0, 3: 45.0}, Phase.OFFERING, round=ROUND, replies=replies)
    rounds.conclude_round(node, 3.0)
    assert node.durable.stopped == {0, 1}


def test_a_demand_is_filled_to_the_target_from_several_neighbours() -> None:
    both = Bundle((4, 5), ((5.0,), (5.0,)))
    replies: dict[int, Reply] = {
        0: DemandReply(0, 1, ROUND, (single(0, 20.0), single(1, 20.0))),
        2: DemandReply(2, 1, ROUND, (single(4, 5.0), both), urgent=True),
    }
    node = middle({3: 25.0}, Phase.DEMANDING, round=ROUND, replies=replies, tries=3)
    assert rounds.conclude_round(node, 3.0) is Phase.TAKING
    takes = [Take(1, 2, ROUND, (single(4, 5.0),)), Take(1, 0, ROUND, (single(0, 20.0),))]
    assert node.messages == takes
    assert (node.asked, node.replies) == ({2: takes[0], 0: takes[1]}, {})
    assert (node.tries, node.due) == (1, 3.5)


def test_a_round_without_a_choice_releases_all_promises() -> None:
    asked = DemandRequest(1, 0, ROUND, (40.0,))
    replies: dict[int, Reply] = {2: DemandReply(2, 1, ROUND, (single(0, 60.0),))}
    node = middle({3: 10.0}, Phase.DEMANDING, round=ROUND, asked={0: asked}, replies=replies)
    assert rounds.conclude_round(node, 3.0) is Phase.IDLE
    assert node.messages == [Clear(1, 0, ROUND), Clear(1, 2, ROUND)]
    assert (node.round, node.asked, node.replies) == (None, {}, {})


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        pytest.param((single(0, 10.0),), (single(0, 10.0),), id="what was promised"),
        pytest.param((single(0, 10.0), single(1, 10.0)), (single(0, 10.0),), id="but nothing else"),
        pytest.param((single(1, 10.0),), (), id="only something else"),
    ],
)
def test_a_promise_is_kept(wanted: tuple[Bundle, ...], given: tuple[Bundle, ...]) -> None:
    promise = DemandReply(1, 2, FROM_BELOW, (single(0, 10.0),))
    node = middle({0: 10.0, 1: 10.0, 3: 60.0}, Phase.PROMISED, round=FROM_BELOW, promise=promise)
    phase = rounds.hand_over_taken(node, Take(2, 1, FROM_BELOW, wanted), 3.0)
    if given:
        assert phase is Phase.GIVING
        assert node.messages == [Handover(1, 2, FROM_BELOW, 1, given)]
        assert (node.round, node.due) == (FROM_BELOW, 3.5)
    else:
        assert phase is Phase.IDLE
        assert node.messages == [Clear(1, 2, FROM_BELOW)]
        assert node.round is None


@pytest.mark.parametrize(
    ("round_", "promise"),
    [
        pytest.param((2, 1, 7), DemandReply(1, 2, FROM_BELOW, (single(0, 10.0),)), id="another round"),
        pytest.param(FROM_BELOW, OfferReply(1, 2, FROM_BELOW, (single(0, 10.0),)), id="a promise to take, not to give"),
    ],
)
def test_what_was_not_promised_is_not_given(round_: tuple[int, int, int], promise: Reply) -> None:
    node = middle({0: 10.0, 3: 60.0}, Phase.PROMISED, round=FROM_BELOW, promise=promise)
    assert rounds.hand_over_taken(node, Take(2, 1, round_, (single(0, 10.0),)), 3.0) is Phase.PROMISED
    assert node.messages == [Clear(1, 2, round_)]


@pytest.mark.parametrize(
    ("sender", "round_", "repeated"),
    [
        pytest.param(2, ROUND, True, id="who has not received it"),
        pytest.param(2, (2, 1, 9), False, id="in another round"),
        pytest.param(0, ROUND, False, id="who was given nothing"),
    ],
)
def test_a_hand_over_is_repeated_to(sender: int, round_: tuple[int, int, int], repeated: bool) -> None:
    node = middle({0: 10.0, 3: 60.0}, Phase.GIVING)
    hand_over(node, ROUND, {2: [single(0, 10.0)]}, 0.0)
    sent = list(node.flush().messages)
    assert rounds.repeat_handover(node, Take(sender, 1, round_, (single(0, 10.0),)), 3.0) is Phase.GIVING
    assert node.messages == (sent if repeated else [Clear(1, sender, round_)])


def test_takes_are_repeated_and_then_the_givers_are_released() -> None:
    take = Take(1, 2, ROUND, (single(0, 10.0),))
    node = middle({3: 10.0}, Phase.TAKING, round=ROUND, asked={2: take}, tries=2)
    assert rounds.repeat_takes(node, None, 3.0) is Phase.TAKING
    assert (node.messages, node.tries, node.due) == ([take], 3, 3.5)
    node.flush()
    assert rounds.repeat_takes(node, None, 4.0) is Phase.IDLE
    assert node.messages == [Clear(1, 2, ROUND)]
    assert node.round is None


def test_a_giver_that_clears_is_not_waited_for() -> None:
    takes = {each: Take(1, each, ROUND, (single(0, 10.0),)) for each in (0, 2)}
    node = middle({3: 10.0}, Phase.TAKING, round=ROUND, asked=dict(takes))
    assert rounds.drop_take(node, Clear(2, 1, (1, 1, 7)), 3.0) is Phase.TAKING
    assert set(node.asked) == {0, 2}, "a Clear of another round says nothing about this one"
    assert rounds.drop_take(node, Clear(2, 1, ROUND), 3.0) is Phase.TAKING
    assert rounds.drop_take(node, Clear(2, 1, ROUND), 3.0) is Phase.TAKING
    assert rounds.drop_take(node, Clear(0, 1, ROUND), 3.0) is Phase.IDLE


def test_a_promise_ends_with_its_round_or_with_its_time() -> None:
    node = middle({3: 10.0}, Phase.PROMISED, round=PROMISE.round, promise=PROMISE, due=9.0)
    assert rounds.cancel_promise(node, Clear(2, 1, (2, 1, 4)), 3.0) is Phase.PROMISED
    assert promise_of(node) == (PROMISE, 9.0)
    assert rounds.cancel_promise(node, Clear(2, 1, (2, 1, 5)), 3.0) is Phase.IDLE
    assert promise_of(node) == (None, NEVER)
    assert rounds.expire_promise(node, None, 9.0) is Phase.IDLE


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(OfferRequest(2, 1, (2, 1, 6), (single(0, 5.0),)), id="an offer"),
        pytest.param(DemandRequest(2, 1, (2, 1, 6), (20.0,)), id="a demand"),
    ],
)
def test_a_promise_to_a_later_round_counts_from_now(request_: Request) -> None:
    node = middle({1: 5.0, 3: 52.0}, Phase.PROMISED, round=PROMISE.round, promise=PROMISE, due=9.0)
    node.config = replace(node.config, thresholds=TreeThresholds(0.4, 0.7))
    if isinstance(request_, DemandRequest):
        node.durable.sizes[2] = (10.0,)
    assert rounds.repeat_reply(node, request_, 3.0) is Phase.PROMISED
    assert promise_of(node)[0] is not PROMISE
    assert node.due == 3.0 + node.config.timing.promise


def test_a_round_that_is_given_up_ends_with_the_replies_it_got() -> None:
    asked = OfferRequest(1, 0, ROUND, ())
    replies: dict[int, Reply] = {2: OfferReply(2, 1, ROUND, (single(0, 10.0),))}
    node = middle({0: 10.0, 3: 55.0}, Phase.OFFERING, round=ROUND, asked={0: asked}, replies=replies, tries=3)
    assert rounds.repeat_requests(node, None, 4.0) is Phase.GIVING
    assert node.messages == [Clear(1, 0, ROUND), Handover(1, 2, ROUND, 1, (single(0, 10.0),))]
    assert node.due == 4.5


def test_a_release_is_sent_after_the_other_messages_of_the_step() -> None:
    earlier = Clear(1, 0, (1, 1, 0))
    take = Take(1, 2, ROUND, (single(0, 10.0),))
    node = middle({3: 10.0}, Phase.TAKING, round=ROUND, asked={2: take}, tries=3, messages=[earlier])
    rounds.repeat_takes(node, None, 4.0)
    assert node.messages == [earlier, Clear(1, 2, ROUND)]
