"""What neighbours say to each other, what a node writes down, and what it asks its runtime to do.

Rule 1: everything here is frozen and says all there is to say: no message needs another to be understood.
Rule 2: every message may come late, twice, out of order or never. A round is named by who began it, so that an answer
to another is told apart; a hand-over is numbered by its giver, so that it is decided on once.
Rule 3: the names in brackets are those of [Kots14], table 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from drover.hierarchy.thresholds import Size, add

Round: TypeAlias = tuple[int, int, int]  # the node that began it, which of its lives, which round of that life


@dataclass(frozen=True, slots=True)
class Bundle:
    """Operators that go together, with the size of each as its node has measured it."""

    operators: tuple[int, ...]
    sizes: tuple[Size, ...]

    @property
    def total(self) -> Size:
        """The size of all of them."""
        return add(self.sizes[1:], self.sizes[0])


@dataclass(frozen=True, slots=True)
class OfferRequest:
    """An overloaded node offers work [opOfferRequest]."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, slots=True)
class OfferReply:
    """What its neighbour would take [opOfferReply]; nothing if it is full, or busy with another round."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...] = ()
    urgent: bool = False  # the neighbour is underloaded
    busy: bool = False


@dataclass(frozen=True, slots=True)
class DemandRequest:
    """An underloaded node asks for work, up to a size [opDemandRequest]."""

    sender: int
    receiver: int
    round: Round
    room: Size


@dataclass(frozen=True, slots=True)
class DemandReply:
    """What its neighbour would give [opDemandReply]; nothing if it has no more than it wants, or is busy."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...] = ()
    urgent: bool = False  # the neighbour is overloaded
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """What the underloaded node wants of that [opDemandTransferRequest]."""

    sender: int
    receiver: int
    round: Round
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, slots=True)
class Clear:
    """This round is over for the receiver [Clear]."""

    sender: int
    receiver: int
    round: Round


@dataclass(frozen=True, slots=True)
class Handover:
    """Operators that have been stopped here and are to be started there [opOfferTransferRequest].

    In the text the receiver of a demand loads operators before the giver has stopped them, so that they run twice.
    Here both kinds of rounds end in a hand-over, and it is the giver that begins it.
    """

    sender: int
    receiver: int
    round: Round
    serial: int  # rises with every hand-over of the sender, over all its lives
    bundles: tuple[Bundle, ...]

    @property
    def operators(self) -> tuple[int, ...]:
        """All operators in it."""
        return tuple(operator for bundle in self.bundles for operator in bundle.operators)


@dataclass(frozen=True, slots=True)
class HandoverReply:
    """What has been taken of a hand-over, for good [opOfferTransferReply]; the rest remains the giver's."""

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
    """What became of the last hand-over of a neighbour: the answer to give again if it comes again."""

    giver: int
    serial: int
    taken: tuple[int, ...]  # operators


@dataclass(frozen=True, slots=True)
class Kept:
    """Everything that a node must never forget; a journal begins with one."""

    life: int
    serial: int = 0
    sizes: tuple[tuple[int, Size], ...] = ()  # operators that are this node's, with their last sizes
    decided: tuple[Decision, ...] = ()
    pending: tuple[Handover, ...] = ()


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A hand-over has begun: its operators do not run here any more."""

    handover: Handover


@dataclass(frozen=True, slots=True)
class Closed:
    """A hand-over has ended: what was taken is no longer this node's."""

    receiver: int
    serial: int
    taken: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TookIn:
    """A hand-over of a neighbour has been decided on: what is taken is this node's from now on."""

    giver: int
    serial: int
    bundles: tuple[Bundle, ...]


Record: TypeAlias = Kept | HandedOut | Closed | TookIn


@dataclass(frozen=True, slots=True)
class Start:
    """Run these operators."""

    operators: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Run these operators no more."""

    operators: tuple[int, ...]


Action: TypeAlias = Start | Stop


@dataclass(frozen=True, slots=True)
class Output:
    """What a step asks of its runtime, in this order: write all records at once, do the actions, send the messages.

    A runtime that dies in between has sent less than it might, which is what a network does anyway. One that sends
    before it has written could take operators and forget them.
    """

    records: tuple[Record, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[Message, ...] = ()
