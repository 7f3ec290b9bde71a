"""A round: an overloaded node offers work to its neighbours, or an underloaded one asks them for some.

Rule 1: one round at a time; who is in another says so, and is no worse off for it.
Rule 2: nothing here changes the owner of an operator; a round ends in hand-overs, or in nothing.
Rule 3: who has nothing to say is not asked, and who has nothing to give or to take promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drover.hierarchy.handover import hand_over
from drover.hierarchy.memory import Memory, Phase
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
from drover.hierarchy.thresholds import add, less


def look_around(node: Memory, _event: object, now: float) -> Phase:
    """Begin a round if the own level asks for one [Kots14, listing 3]."""
    use, marks = node.use(), node.place.thresholds
    level = node.level(use)
    round_ = (node.node, node.estate.life, node.rounds + 1)
    if level > marks.upper:
        asked, phase = list(_offers(node, round_)), Phase.OFFERING
    elif level < marks.lower:
        room = less(tuple(marks.target * each for each in node.place.capacity), use)
        asked = [DemandRequest(node.node, each, round_, room) for each in node.place.neighbours]
        phase = Phase.DEMANDING
    else:
        return Phase.IDLE
    if not asked:
        return Phase.IDLE
    node.rounds += 1
    node.round, node.asked, node.tries = round_, {each.receiver: each for each in asked}, 1
    node.messages += asked
    return node.wait(now, phase)


def _offers(node: Memory, round_: Round) -> Iterator[Request]:
    use = node.use()
    for neighbour in node.place.neighbours:
        bundles = [node.bundle(transfer.operators) for transfer in node.open(neighbour)]
        fitting = tuple(each for each in bundles if node.worth(each) and node.may_fall(less(use, each.total)))
        if fitting:
            yield OfferRequest(node.node, neighbour, round_, fitting)


def weigh_offer(node: Memory, request: OfferRequest, now: float) -> Phase:
    """Say what this node would take of an offer [Kots14, listing 4]."""
    use = node.use()
    urgent = node.level(use) <= node.place.thresholds.lower
    found: list[Bundle] = []
    known: set[int] = set()
    for bundle in request.bundles:
        more = add(bundle.sizes, use)
        if known.isdisjoint(bundle.operators) and node.may_rise(more):
            use = more
            known.update(bundle.operators)
            found.append(bundle)
    return _promise(node, OfferReply(node.node, request.sender, request.round, tuple(found), urgent), now)


def weigh_demand(node: Memory, request: DemandRequest, now: float) -> Phase:
    """Say what this node would give to who asks [Kots14, listing 8]."""
    use = node.use()
    urgent = node.level(use) > node.place.thresholds.upper
    bundles = [node.bundle(transfer.operators) for transfer in node.open(request.sender)]
    found = tuple(
        bundle
        for bundle in bundles
        if node.worth(bundle)
        and node.may_fall(less(use, bundle.total))
        and all(a <= b for a, b in zip(bundle.total, request.room, strict=True))
    )
    return _promise(node, DemandReply(node.node, request.sender, request.round, found, urgent), now)


def _promise(node: Memory, reply: Reply, now: float) -> Phase:
    node.messages.append(reply)
    if not reply.bundles:
        return node.rest()
    node.round, node.promise = reply.round, reply
    node.due = now + node.place.timing.promise
    return Phase.PROMISED


def yield_to_offer(node: Memory, request: OfferRequest, now: float) -> Phase:
    """Give up asking, and listen: too much goes before too little, or each would find the other busy."""
    _clear(node, (*node.asked, *(sender for sender, reply in node.replies.items() if reply.bundles)))
    node.rest()
    return weigh_offer(node, request, now)


def answer_again(node: Memory, request: Request, now: float) -> Phase:
    """Repeat a promise to who has not heard it; begin anew with who has forgotten it; be busy for others."""
    if request.round == node.round and node.promise is not None:
        node.messages.append(node.promise)
        return Phase.PROMISED
    if node.promise is not None and request.sender == node.promise.receiver and request.round > node.promise.round:
        node.rest()
        return (
            weigh_offer(node, request, now) if isinstance(request, OfferRequest) else weigh_demand(node, request, now)
        )
    return be_busy(node, request, now)


def be_busy(node: Memory, request: Request, _now: float) -> Phase:
    """Say that this node is in another round."""
    kind = OfferReply if isinstance(request, OfferRequest) else DemandReply
    node.messages.append(kind(node.node, request.sender, request.round, busy=True))
    return node.phase


def note_reply(node: Memory, reply: Reply, now: float) -> Phase:
    """Keep a reply; the last one settles the round."""
    if reply.round != node.round or reply.sender not in node.asked:
        return release(node, reply, now)
    del node.asked[reply.sender]
    node.replies[reply.sender] = reply
    return node.phase if node.asked else settle(node, now)


def release(node: Memory, reply: Reply, _now: float) -> Phase:
    """Tell who has made a promise in a round that is over not to wait."""
    if reply.bundles and reply.round != node.round:
        node.messages.append(Clear(node.node, reply.sender, reply.round))
    return node.phase


def ask_again(node: Memory, _event: object, now: float) -> Phase:
    """Repeat what was not answered; after so many tries go on without."""
    if node.tries >= node.place.timing.tries:
        return settle(node, now)
    node.tries += 1
    node.messages += node.asked.values()
    return node.wait(now, node.phase)


def settle(node: Memory, now: float) -> Phase:
    """Choose among the replies, urgent ones first, and tell the others that it is over."""
    assert node.round is not None
    replies = sorted(node.replies.values(), key=lambda reply: not reply.urgent)  # else in order of arrival
    chosen = _choose_gifts(node, replies) if node.phase is Phase.OFFERING else _choose_wants(node, replies)
    _clear(node, (*node.asked, *(reply.sender for reply in replies if reply.bundles and reply.sender not in chosen)))
    if not chosen:
        return node.rest()
    if node.phase is Phase.OFFERING:
        return hand_over(node, node.round, chosen, now)
    wants = {sender: Take(node.node, sender, node.round, tuple(bundles)) for sender, bundles in chosen.items()}
    node.asked, node.replies, node.tries = dict(wants), {}, 1
    node.messages += wants.values()
    return node.wait(now, Phase.TAKING)


def _choose_gifts(node: Memory, replies: list[Reply]) -> dict[int, list[Bundle]]:
    """Return what goes to whom: until the excess is covered, and no operator twice [Kots14, listing 5]."""
    use, gone, chosen = node.use(), set[int](), dict[int, list[Bundle]]()
    for reply in replies:
        bundles = node.givable(reply.sender, reply.bundles, use, gone)
        if bundles:
            chosen[reply.sender] = bundles
            for bundle in bundles:
                use = less(use, bundle.total)
    return chosen


def _choose_wants(node: Memory, replies: list[Reply]) -> dict[int, list[Bundle]]:
    """Return what is to come from whom: up to the target, and no operator twice [Kots14, listing 9]."""
    use, chosen = node.use(), dict[int, list[Bundle]]()
    for reply in replies:
        known: set[int] = set()
        for bundle in reply.bundles:
            more = add(bundle.sizes, use)
            if known.isdisjoint(bundle.operators) and node.wants(more):
                use = more
                known.update(bundle.operators)
                chosen.setdefault(reply.sender, []).append(bundle)
    return chosen


def give_wanted(node: Memory, want: Take, now: float) -> Phase:
    """Hand over what is wanted of a promise, as far as it still can go."""
    if want.round != node.round or not isinstance(node.promise, DemandReply):
        return refuse_want(node, want, now)
    promised = {bundle.operators for bundle in node.promise.bundles}
    wanted = [bundle for bundle in want.bundles if bundle.operators in promised]
    bundles = node.givable(want.sender, wanted, node.use(), set())
    if bundles:
        return hand_over(node, want.round, {want.sender: bundles}, now)
    refuse_want(node, want, now)
    return node.rest()


def refuse_want(node: Memory, want: Take, _now: float) -> Phase:
    """Tell who wants something that nothing will come."""
    node.messages.append(Clear(node.node, want.sender, want.round))
    return node.phase


def give_again(node: Memory, want: Take, now: float) -> Phase:
    """Repeat the hand-over to who has not had it."""
    pending: Handover | None = node.estate.pending.get(want.sender)
    if pending is None or pending.round != want.round:
        return refuse_want(node, want, now)
    node.messages.append(pending)
    return Phase.GIVING


def want_again(node: Memory, _event: object, now: float) -> Phase:
    """Repeat what is wanted; after so many tries go without. What is handed over later is decided on then."""
    if node.tries >= node.place.timing.tries:
        _clear(node, node.asked)
        return node.rest()
    node.tries += 1
    node.messages += node.asked.values()
    return node.wait(now, Phase.TAKING)


def go_without(node: Memory, clear: Clear, _now: float) -> Phase:
    """Expect nothing more of a neighbour; the round ends with the last."""
    if clear.round == node.round:
        node.asked.pop(clear.sender, None)
    return Phase.TAKING if node.asked else node.rest()


def forget_promise(node: Memory, clear: Clear, _now: float) -> Phase:
    """Be free again, if it is this round that is over."""
    return node.rest() if clear.round == node.round else Phase.PROMISED


def let_lapse(node: Memory, _event: object, _now: float) -> Phase:
    """Be free again: who asked has had the time to ask again."""
    return node.rest()


def ignore(node: Memory, _event: object, _now: float) -> Phase:
    """Do nothing: what came is about something that is over, or it is not the time for it."""
    return node.phase


def _clear(node: Memory, neighbours: Iterable[int]) -> None:
    assert node.round is not None
    node.messages += [Clear(node.node, each, node.round) for each in neighbours]
