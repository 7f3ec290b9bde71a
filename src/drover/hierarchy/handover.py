"""The hand-over: how operators change their owner, so that none is lost and none runs twice.

Rule 1: the giver stops an operator and writes that down before it says so; it is the owner until it hears what was
taken.
Rule 2: the receiver decides once on every hand-over and writes that down before it answers; that moment is the change
of owner. It gives the same answer whenever it is asked again, also after a crash, and also if the answer was no.
Rule 3: a giver that waits takes nothing in, gives nothing else and promises nothing. So nothing crosses a hand-over on
its way, and every operator stays where its inputs pass.
Rule 4: nobody may be asked for ever by a node that waits: a giver answers other givers at once, with no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drover.hierarchy.memory import Memory, Phase
from drover.hierarchy.messages import Bundle, Closed, HandedOut, Handover, HandoverReply, Round, Start, Stop, TookIn
from drover.hierarchy.thresholds import add


def hand_over(node: Memory, round_: Round, chosen: Mapping[int, Sequence[Bundle]], now: float) -> Phase:
    """Stop operators and hand them over, by receiver."""
    for receiver, bundles in chosen.items():
        handover = Handover(node.node, receiver, round_, node.estate.serial + 1, tuple(bundles))
        node.write(HandedOut(handover))
        node.actions.append(Stop(handover.operators))
        node.messages.append(handover)
    node.round, node.asked, node.replies, node.promise = round_, {}, {}, None
    return node.wait(now, Phase.GIVING)


def repeat_handovers(node: Memory, _event: object, now: float) -> Phase:
    """Ask again what was taken: only the receiver knows."""
    node.messages += node.estate.pending.values()
    return node.wait(now, Phase.GIVING)


def close(node: Memory, reply: HandoverReply, _now: float) -> Phase:
    """Give up what was taken, and run the rest again."""
    pending = node.estate.pending.get(reply.sender)
    if pending is None or pending.serial != reply.serial:
        return Phase.GIVING  # an answer that was repeated
    taken = tuple(operator for operator in pending.operators if operator in reply.taken)
    back = tuple(operator for operator in pending.operators if operator not in reply.taken)
    node.write(Closed(reply.sender, reply.serial, taken))
    if back:
        node.actions.append(Start(back))
    return Phase.GIVING if node.estate.pending else node.rest()


def decide(node: Memory, handover: Handover, _now: float) -> Phase:
    """Take in what fits, or give the answer that was given before."""
    known = node.estate.decided.get(handover.sender)
    if known is not None and handover.serial < known.serial:
        return node.phase  # its giver has gone on since, and so has had its answer
    if known is None or handover.serial > known.serial:
        bundles = _fitting(node, handover) if node.phase is not Phase.GIVING else ()
        node.write(TookIn(handover.sender, handover.serial, bundles))
        if bundles:
            node.actions.append(Start(tuple(operator for bundle in bundles for operator in bundle.operators)))
    taken = node.estate.decided[handover.sender].taken
    node.messages.append(HandoverReply(node.node, handover.sender, handover.round, handover.serial, taken))
    return node.phase


def decide_promised(node: Memory, handover: Handover, now: float) -> Phase:
    """Take in what was promised, which ends the round; or what another hands over late, which does not."""
    decide(node, handover, now)
    return node.rest() if handover.round == node.round else Phase.PROMISED


def decide_taking(node: Memory, handover: Handover, now: float) -> Phase:
    """Take in what was asked for; the round ends with the last of it."""
    decide(node, handover, now)
    if handover.round == node.round:
        node.asked.pop(handover.sender, None)
    return Phase.TAKING if node.asked else node.rest()


def _fitting(node: Memory, handover: Handover) -> tuple[Bundle, ...]:
    use, found = node.use(), list[Bundle]()
    for bundle in handover.bundles:
        more = add(bundle.sizes, use)
        if node.may_rise(more) and node.estate.sizes.keys().isdisjoint(bundle.operators):
            use = more
            found.append(bundle)
    return tuple(found)
