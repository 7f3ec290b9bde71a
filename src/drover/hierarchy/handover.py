"""The hand-over: how an operator changes its owner without being lost and without running twice.

Rule 1: the giver stops an operator and writes a record before it sends the hand-over. It stays the owner until it
learns what the receiver took.
Rule 2: the receiver decides on each hand-over once and writes the decision before it answers. At that moment the owner
changes. The receiver repeats the same answer on every repeated hand-over, also after a crash and also if it refused.
Rule 3: a giver that waits for answers accepts, gives and promises nothing else. So no operator crosses a hand-over that
is on its way, and every operator stays on the path of its inputs.
Rule 4: no node waits forever: a giver that receives a hand-over refuses it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drover.hierarchy.messages import Bundle, Closed, HandedOut, Handover, HandoverReply, Round, Start, Stop, TookIn
from drover.hierarchy.node_state import NodeState, Phase
from drover.hierarchy.thresholds import add


def hand_over(node: NodeState, round_: Round, chosen: Mapping[int, Sequence[Bundle]], now: float) -> Phase:
    """Stop the chosen bundles, by receiver, and send them."""
    for receiver, bundles in chosen.items():
        handover = Handover(node.node, receiver, round_, node.durable.serial + 1, tuple(bundles))
        # In the journal before the message leaves: a giver that dies now must know what it has handed over (rule 1).
        node.write(HandedOut(handover))
        node.actions.append(Stop(handover.operators))
        node.messages.append(handover)
    node.round = round_
    node.asked = {}
    node.replies = {}
    node.promise = None
    return node.await_answer(now, Phase.GIVING)


def repeat_handovers(node: NodeState, _event: object, now: float) -> Phase:
    """Send all hand-overs without an answer again: only the receiver knows what it took."""
    node.messages += node.durable.pending.values()
    return node.await_answer(now, Phase.GIVING)


def close(node: NodeState, reply: HandoverReply, _now: float) -> Phase:
    """Give up the operators that were taken, and start the others again."""
    pending = node.durable.pending.get(reply.sender)
    if pending is None or pending.serial != reply.serial:
        return Phase.GIVING  # a repeated answer to a hand-over that has ended
    taken = tuple(operator for operator in pending.operators if operator in reply.taken)
    back = tuple(operator for operator in pending.operators if operator not in reply.taken)
    node.write(Closed(reply.sender, reply.serial, taken))
    if back:
        node.actions.append(Start(back))
    return Phase.GIVING if node.durable.pending else node.end_round()


def decide(node: NodeState, handover: Handover, _now: float) -> Phase:
    """Take the bundles that fit, or repeat the answer that was given before."""
    known = node.durable.decided.get(handover.sender)
    if known is not None and handover.serial < known.serial:
        return node.phase  # the giver has begun a later hand-over, so it has received its answer to this one
    if known is None or handover.serial > known.serial:
        # A node that gives refuses every hand-over (rule 4): its own operators may still come back.
        bundles = _fitting(node, handover) if node.phase is not Phase.GIVING else ()
        node.write(TookIn(handover.sender, handover.serial, bundles))
        if bundles:
            node.actions.append(Start(tuple(operator for bundle in bundles for operator in bundle.operators)))
    taken = node.durable.decided[handover.sender].taken
    node.messages.append(HandoverReply(node.node, handover.sender, handover.round, handover.serial, taken))
    return node.phase


def decide_promised(node: NodeState, handover: Handover, now: float) -> Phase:
    """Take what was promised and end the round. A late hand-over of another round does not end it."""
    decide(node, handover, now)
    return node.end_round() if handover.round == node.round else Phase.PROMISED


def decide_taking(node: NodeState, handover: Handover, now: float) -> Phase:
    """Take what was requested; the round ends with the last hand-over."""
    decide(node, handover, now)
    if handover.round == node.round:
        node.asked.pop(handover.sender, None)
    return Phase.TAKING if node.asked else node.end_round()


def _fitting(node: NodeState, handover: Handover) -> tuple[Bundle, ...]:
    use = node.use()
    found = list[Bundle]()
    for bundle in handover.bundles:
        more = add(bundle.sizes, use)
        # A node skips a bundle with an operator that it owns already: taking it again would count its size twice.
        if node.may_fill_to(more) and node.durable.sizes.keys().isdisjoint(bundle.operators):
            use = more
            found.append(bundle)
    return tuple(found)
