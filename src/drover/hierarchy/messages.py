"""The messages between neighbours, the records in a node's journal, and the effects of one step.

Rule 1: everything here is frozen and complete: a message can be read without any earlier one.
Rule 2: a message may arrive late, twice, out of order or never. A round carries the node that began it, so that a
reply to an old round is recognised. A giver numbers its hand-overs, so that the receiver decides on each one once.
Rule 3: names in brackets are those of [Kots14], table 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from drover.hierarchy.thresholds import Size, add

Round: TypeAlias = tuple[int, int, int]  # (node that began it, life of that node, round within that life)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Operators that move together, with the size of each as its node last measured it."""

    operators: tuple[int, ...]
    sizes: tuple[Size, ...]

    @property
    def total(self) -> Size:
        """The sum of all sizes."""
        return add(self.sizes[1:], self.sizes[0])


@dataclass(frozen=True, slots=True)
class OfferRequest:
    """An overloaded node offers operators to a neighbour [opOfferRequest]."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, slots=True)
class OfferReply:
    """The bundles that the neighbour would take [opOfferReply]; none if it is full or in another round."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...] = ()
    urgent: bool = False  # the neighbour is underloaded
    busy: bool = False


@dataclass(frozen=True, slots=True)
class DemandRequest:
    """An underloaded node asks a neighbour for operators, up to a total size [opDemandRequest]."""

    sender: int
    receiver: int
    round: Round
    room: Size


@dataclass(frozen=True, slots=True)
class DemandReply:
    """The bundles that the neighbour would give [opDemandReply]; none if it needs its load or is in another round."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...] = ()
    urgent: bool = False  # the neighbour is overloaded
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """The bundles that the underloaded node chooses from a reply [opDemandTransferRequest]."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, slots=True)
class Clear:
    """The sender has ended this round for the receiver [Clear]."""

    sender: int
    receiver: int
    round: Round


@dataclass(frozen=True, slots=True)
class Handover:
    """Operators that the sender has stopped and the receiver should start [opOfferTransferRequest].

    In the text, the receiver of a demand loads operators before the giver has stopped them, so they run twice for a
    while. Here, both kinds of rounds end in a hand-over that the giver begins.
    """

    sender: int
    receiver: int
    round: Round
    serial: int  # increases with every hand-over of the sender, across restarts
    bundles: tuple[Bundle, ...]

    @property
    def operators(self) -> tuple[int, ...]:
        """The operators of all bundles."""
        return tuple(operator for bundle in self.bundles for operator in bundle.operators)


@dataclass(frozen=True, slots=True)
class HandoverReply:
    """The operators of a hand-over that the receiver now owns [opOfferTransferReply]; the giver keeps the others."""

    sender: int
    receiver: int
    round: Round
    serial: int
    taken: tuple[int, ...]  # operators


Request: TypeAlias = OfferRequest | DemandRequest
Reply: TypeAlias = OfferReply | DemandReply
Message: TypeAlias = OfferRequest | OfferReply | DemandRequest | DemandReply | Take | Clear | Handover | HandoverReply


@dataclass(frozen=True, slots=True)
class Decision:
    """The receiver's answer to the last hand-over of a neighbour. It repeats this answer if the hand-over repeats."""

    giver: int
    serial: int
    taken: tuple[int, ...]  # operators


@dataclass(frozen=True, slots=True)
class JournalSnapshot:
    """All durable state of a node as one record; every journal begins with one."""

    life: int
    serial: int = 0
    sizes: tuple[tuple[int, Size], ...] = ()  # operators that this node owns, with their last measured sizes
    decided: tuple[Decision, ...] = ()
    pending: tuple[Handover, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A hand-over has begun: this node has stopped its operators, but still owns them."""

    handover: Handover


@dataclass(frozen=True, slots=True)
class Closed:
    """A hand-over has ended: this node no longer owns the operators that were taken."""

    receiver: int
    serial: int
    taken: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TookIn:
    """This node has decided on a neighbour's hand-over: it owns the operators of these bundles from now on."""

    giver: int
    serial: int
    bundles: tuple[Bundle, ...]


Record: TypeAlias = JournalSnapshot | HandedOut | Closed | TookIn


@dataclass(frozen=True, slots=True)
class Start:
    """Start running these operators."""

    operators: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop running these operators."""

    operators: tuple[int, ...]


Action: TypeAlias = Start | Stop


@dataclass(frozen=True, slots=True)
class StepEffects:
    """What a runtime must do after a step, in this order: write all records at once, apply actions, send messages.

    A runtime that dies in between loses messages, which the protocol tolerates. A runtime that sends before it writes
    could accept operators and forget them in a crash. Stop is applied when the operators have stopped: a runtime that
    takes a while holds the hand-over of these operators back until then, or drops it.
    """

    records: tuple[Record, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[Message, ...] = ()
