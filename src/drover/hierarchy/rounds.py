"""A round: an overloaded node offers operators to its neighbours, or an underloaded node asks them for operators.

Rule 1: a node is in one round at a time. A node in another round replies that it is busy, which costs it nothing.
Rule 2: no function here changes the owner of an operator. A round ends in hand-overs, or without any effect.
Rule 3: a node sends no empty offers, and a reply without bundles is not a promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drover.hierarchy.handover import hand_over
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    DemandReply,
    DemandRequest,
    Handover,
    OfferReply,
    OfferRequest,
    Reply,
    Request,
    Round,
    Take,
)
from drover.hierarchy.node_state import NodeState, Phase
from drover.hierarchy.thresholds import add, less


def check_level(node: NodeState, _event: object, now: float) -> Phase:
    """Begin a round if the node's own level is beyond a threshold [Kots14, listing 3]."""
    use = node.use()
    marks = node.config.thresholds
    level = node.level(use)
    # The life makes rounds unique across restarts, at which the count of rounds starts again.
    round_ = (node.node, node.durable.life, node.rounds + 1)
    if level > marks.upper:
        asked = list(_offers(node, round_))
        phase = Phase.OFFERING
    elif level < marks.lower:
        room = less(tuple(marks.target * each for each in node.config.capacity), use)
        asked = [DemandRequest(node.node, each, round_, room) for each in node.config.neighbours]
        phase = Phase.DEMANDING
    else:
        return Phase.IDLE
    if not asked:
        return Phase.IDLE
    node.rounds += 1
    node.round = round_
    node.asked = {each.receiver: each for each in asked}
    node.tries = 1
    node.messages += asked
    return node.await_answer(now, phase)


def _offers(node: NodeState, round_: Round) -> Iterator[Request]:
    use = node.use()
    for neighbour in node.config.neighbours:
        bundles = [node.bundle(transfer.operators) for transfer in node.transfers_to(neighbour)]
        fitting = tuple(each for each in bundles if node.worth_giving(each) and node.may_drop_to(less(use, each.total)))
        if fitting:
            yield OfferRequest(node.node, neighbour, round_, fitting)


def answer_offer(node: NodeState, request: OfferRequest, now: float) -> Phase:
    """Reply which bundles of an offer this node would take [Kots14, listing 4]."""
    use = node.use()
    # A receiver that is underloaded itself is served first: one hand-over then helps both.
    urgent = node.level(use) <= node.config.thresholds.lower
    found: list[Bundle] = []
    known: set[int] = set()
    for bundle in request.bundles:
        more = add(bundle.sizes, use)
        # Bundles of one offer can overlap: one operator may be able to move alone and together with others.
        if known.isdisjoint(bundle.operators) and node.may_fill_to(more):
            use = more
            known.update(bundle.operators)
            found.append(bundle)
    return _send_promise(node, OfferReply(node.node, request.sender, request.round, tuple(found), urgent), now)


def answer_demand(node: NodeState, request: DemandRequest, now: float) -> Phase:
    """Reply which bundles this node would give to the asking neighbour [Kots14, listing 8]."""
    use = node.use()
    urgent = node.level(use) > node.config.thresholds.upper
    bundles = [node.bundle(transfer.operators) for transfer in node.transfers_to(request.sender)]
    found = tuple(
        bundle
        for bundle in bundles
        if node.worth_giving(bundle)
        and node.may_drop_to(less(use, bundle.total))
        and all(a <= b for a, b in zip(bundle.total, request.room, strict=True))
    )
    return _send_promise(node, DemandReply(node.node, request.sender, request.round, found, urgent), now)


def _send_promise(node: NodeState, reply: Reply, now: float) -> Phase:
    node.messages.append(reply)
    # Without bundles there is nothing to wait for: the node stays free for other rounds.
    if not reply.bundles:
        return node.end_round()
    node.round = reply.round
    node.promise = reply
    node.due = now + node.config.timing.promise
    return Phase.PROMISED


def yield_to_offer(node: NodeState, request: OfferRequest, now: float) -> Phase:
    """End the own demand and answer the offer: two nodes that ask each other would otherwise both be busy."""
    _send_clear(node, (*node.asked, *(sender for sender, reply in node.replies.items() if reply.bundles)))
    node.end_round()
    return answer_offer(node, request, now)


def repeat_reply(node: NodeState, request: Request, now: float) -> Phase:
    """Repeat a promise that got lost, answer a newer round of the same neighbour, or reply busy to others."""
    if request.round == node.round and node.promise is not None:
        node.messages.append(node.promise)
        return Phase.PROMISED
    # The neighbour has begun a later round, so it no longer waits in the promised one.
    if node.promise is not None and request.sender == node.promise.receiver and request.round > node.promise.round:
        node.end_round()
        return (
            answer_offer(node, request, now) if isinstance(request, OfferRequest) else answer_demand(node, request, now)
        )
    return reply_busy(node, request, now)


def reply_busy(node: NodeState, request: Request, _now: float) -> Phase:
    """Reply that this node is in another round."""
    # A busy reply is not a promise, so the node keeps its phase.
    kind = OfferReply if isinstance(request, OfferRequest) else DemandReply
    node.messages.append(kind(node.node, request.sender, request.round, busy=True))
    return node.phase


def record_reply(node: NodeState, reply: Reply, now: float) -> Phase:
    """Record a reply; the last one concludes the round."""
    if reply.round != node.round or reply.sender not in node.asked:
        return release_neighbour(node, reply, now)
    del node.asked[reply.sender]
    node.replies[reply.sender] = reply
    return node.phase if node.asked else conclude_round(node, now)


def release_neighbour(node: NodeState, reply: Reply, _now: float) -> Phase:
    """End a neighbour's promise if it belongs to a round that is over."""
    if reply.bundles and reply.round != node.round:
        node.messages.append(Clear(node.node, reply.sender, reply.round))
    return node.phase


def repeat_requests(node: NodeState, _event: object, now: float) -> Phase:
    """Send unanswered requests again; after the last try, conclude the round without them."""
    if node.tries >= node.config.timing.tries:
        return conclude_round(node, now)
    node.tries += 1
    node.messages += node.asked.values()
    return node.await_answer(now, node.phase)


def conclude_round(node: NodeState, now: float) -> Phase:
    """Choose among the replies, urgent ones first, and send Clear to all other neighbours."""
    assert node.round is not None
    replies = sorted(
        node.replies.values(), key=lambda reply: not reply.urgent
    )  # the sort is stable: equals stay in order of arrival
    # Neighbours that did not reply are left out. Clear ends the promise of a reply that may still be on its way.
    chosen = _choose_offers(node, replies) if node.phase is Phase.OFFERING else _choose_takes(node, replies)
    _send_clear(
        node, (*node.asked, *(reply.sender for reply in replies if reply.bundles and reply.sender not in chosen))
    )
    if not chosen:
        return node.end_round()
    if node.phase is Phase.OFFERING:
        return hand_over(node, node.round, chosen, now)
    wants = {sender: Take(node.node, sender, node.round, tuple(bundles)) for sender, bundles in chosen.items()}
    node.asked = dict(wants)
    node.replies = {}
    node.tries = 1
    node.messages += wants.values()
    return node.await_answer(now, Phase.TAKING)


def _choose_offers(node: NodeState, replies: list[Reply]) -> dict[int, list[Bundle]]:
    """Return the bundles for each receiver, until the excess is covered; no operator goes twice [Kots14, listing 5]."""
    use = node.use()
    gone = set[int]()
    chosen = dict[int, list[Bundle]]()
    for reply in replies:
        bundles = node.givable(reply.sender, reply.bundles, use, gone)
        if bundles:
            chosen[reply.sender] = bundles
            for bundle in bundles:
                use = less(use, bundle.total)
    return chosen


def _choose_takes(node: NodeState, replies: list[Reply]) -> dict[int, list[Bundle]]:
    """Return the bundles to take from each sender, up to the target; no operator comes twice [Kots14, listing 9]."""
    use = node.use()
    chosen = dict[int, list[Bundle]]()
    for reply in replies:
        known: set[int] = set()
        for bundle in reply.bundles:
            more = add(bundle.sizes, use)
            if known.isdisjoint(bundle.operators) and node.may_request_to(more):
                use = more
                known.update(bundle.operators)
                chosen.setdefault(reply.sender, []).append(bundle)
    return chosen


def hand_over_taken(node: NodeState, want: Take, now: float) -> Phase:
    """Hand over the chosen bundles of a promise, as far as this node can still give them."""
    if want.round != node.round or not isinstance(node.promise, DemandReply):
        return refuse_take(node, want, now)
    promised = {bundle.operators for bundle in node.promise.bundles}
    # The message may ask for more than was promised.
    wanted = [bundle for bundle in want.bundles if bundle.operators in promised]
    bundles = node.givable(want.sender, wanted, node.use(), set())
    if bundles:
        return hand_over(node, want.round, {want.sender: bundles}, now)
    refuse_take(node, want, now)
    return node.end_round()


def refuse_take(node: NodeState, want: Take, _now: float) -> Phase:
    """Send Clear to a neighbour that waits for operators: none will come."""
    node.messages.append(Clear(node.node, want.sender, want.round))
    return node.phase


def repeat_handover(node: NodeState, want: Take, now: float) -> Phase:
    """Repeat the hand-over to a neighbour that has not received it."""
    pending: Handover | None = node.durable.pending.get(want.sender)
    if pending is None or pending.round != want.round:
        return refuse_take(node, want, now)
    node.messages.append(pending)
    return Phase.GIVING


def repeat_takes(node: NodeState, _event: object, now: float) -> Phase:
    """Send the choices again; after the last try, stop waiting. A later hand-over is still decided on when it comes."""
    if node.tries >= node.config.timing.tries:
        # The givers would otherwise wait until their promises expire.
        _send_clear(node, node.asked)
        return node.end_round()
    node.tries += 1
    node.messages += node.asked.values()
    return node.await_answer(now, Phase.TAKING)


def drop_take(node: NodeState, clear: Clear, _now: float) -> Phase:
    """Stop waiting for operators of one neighbour; the round ends with the last one."""
    if clear.round == node.round:
        node.asked.pop(clear.sender, None)
    return Phase.TAKING if node.asked else node.end_round()


def cancel_promise(node: NodeState, clear: Clear, _now: float) -> Phase:
    """End the promise if the neighbour has ended this round."""
    return node.end_round() if clear.round == node.round else Phase.PROMISED


def expire_promise(node: NodeState, _event: object, _now: float) -> Phase:
    """End the promise: the asking neighbour has had time to repeat its request."""
    return node.end_round()


def ignore(node: NodeState, _event: object, _now: float) -> Phase:
    """Do nothing: the event belongs to a round that is over, or comes in a phase that has no use for it."""
    return node.phase


def _send_clear(node: NodeState, neighbours: Iterable[int]) -> None:
    assert node.round is not None
    node.messages += [Clear(node.node, each, node.round) for each in neighbours]
