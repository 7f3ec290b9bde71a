"""The machine of one node: messages and time go in, records, actions and messages come out.

Rule 1: no socket, no clock, no chance: a runtime brings messages and the time, and carries out what is returned.
Rule 2: TRANSITIONS is all there is to know of which event does what in which phase; what is not in it cannot occur.
Rule 3: an event that leads to a phase that its rule does not name is a defect, and is refused as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from drover.hierarchy import rounds
from drover.hierarchy.estate import replay
from drover.hierarchy.handover import close, decide, decide_promised, decide_taking, repeat_handovers
from drover.hierarchy.memory import Memory, Phase, Place
from drover.hierarchy.messages import (
    Clear,
    DemandReply,
    DemandRequest,
    Handover,
    HandoverReply,
    Kept,
    Message,
    OfferReply,
    OfferRequest,
    Output,
    Record,
    Start,
    Take,
)
from drover.hierarchy.thresholds import Size


@dataclass(frozen=True, slots=True)
class Look:
    """It is time to look at the own level."""


@dataclass(frozen=True, slots=True)
class Late:
    """The phase has lasted as long as it may."""


Event: TypeAlias = Message | Look | Late


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event does in a phase, and which phases that may lead to."""

    handle: Callable[[Memory, Any, float], Phase]  # Any: each handler takes its own kind of event
    to: tuple[Phase, ...]


IDLE, OFFERING, DEMANDING, PROMISED, TAKING, GIVING = Phase
STAY: Final = ()  # the phase that it happens in

_RULES: Final[Mapping[Phase, Mapping[type, tuple[Callable[[Memory, Any, float], Phase], tuple[Phase, ...]]]]] = {
    IDLE: {
        Look: (rounds.look_around, (IDLE, OFFERING, DEMANDING)),
        OfferRequest: (rounds.weigh_offer, (IDLE, PROMISED)),
        DemandRequest: (rounds.weigh_demand, (IDLE, PROMISED)),
        OfferReply: (rounds.release, STAY),
        DemandReply: (rounds.release, STAY),
        Take: (rounds.refuse_want, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    OFFERING: {
        Look: (rounds.ignore, STAY),
        Late: (rounds.ask_again, (OFFERING, GIVING, IDLE)),
        OfferRequest: (rounds.be_busy, STAY),
        DemandRequest: (rounds.be_busy, STAY),
        OfferReply: (rounds.note_reply, (OFFERING, GIVING, IDLE)),
        DemandReply: (rounds.release, STAY),
        Take: (rounds.refuse_want, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    DEMANDING: {
        Look: (rounds.ignore, STAY),
        Late: (rounds.ask_again, (DEMANDING, TAKING, IDLE)),
        OfferRequest: (rounds.yield_to_offer, (PROMISED, IDLE)),
        DemandRequest: (rounds.be_busy, STAY),
        OfferReply: (rounds.release, STAY),
        DemandReply: (rounds.note_reply, (DEMANDING, TAKING, IDLE)),
        Take: (rounds.refuse_want, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    PROMISED: {
        Look: (rounds.ignore, STAY),
        Late: (rounds.let_lapse, (IDLE,)),
        OfferRequest: (rounds.answer_again, (PROMISED, IDLE)),
        DemandRequest: (rounds.answer_again, (PROMISED, IDLE)),
        OfferReply: (rounds.release, STAY),
        DemandReply: (rounds.release, STAY),
        Take: (rounds.give_wanted, (PROMISED, GIVING, IDLE)),
        Clear: (rounds.forget_promise, (PROMISED, IDLE)),
        Handover: (decide_promised, (PROMISED, IDLE)),
        HandoverReply: (rounds.ignore, STAY),
    },
    TAKING: {
        Look: (rounds.ignore, STAY),
        Late: (rounds.want_again, (TAKING, IDLE)),
        OfferRequest: (rounds.be_busy, STAY),
        DemandRequest: (rounds.be_busy, STAY),
        OfferReply: (rounds.release, STAY),
        DemandReply: (rounds.release, STAY),
        Take: (rounds.refuse_want, STAY),
        Clear: (rounds.go_without, (TAKING, IDLE)),
        Handover: (decide_taking, (TAKING, IDLE)),
        HandoverReply: (rounds.ignore, STAY),
    },
    GIVING: {
        Look: (rounds.ignore, STAY),
        Late: (repeat_handovers, (GIVING,)),
        OfferRequest: (rounds.be_busy, STAY),
        DemandRequest: (rounds.be_busy, STAY),
        OfferReply: (rounds.release, STAY),
        DemandReply: (rounds.release, STAY),
        Take: (rounds.give_again, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (close, (GIVING, IDLE)),
    },
}
TRANSITIONS: Final[Mapping[tuple[Phase, type], Rule]] = {
    (phase, event): Rule(handle, to or (phase,))
    for phase, events in _RULES.items()
    for event, (handle, to) in events.items()
}


class Machine:
    """One node; whoever holds it brings it every message to it, and the time whenever `wake` has come."""

    def __init__(self, place: Place, records: Iterable[Record], now: float, first: float) -> None:
        """Wake up with a journal that is not empty; look at the own level for the first time at `first`."""
        self.memory = Memory(place, replay(records), look=first)
        estate = self.memory.estate
        estate.life += 1
        if estate.pending:
            self.memory.phase = self.memory.wait(now, GIVING)
        self.memory.records.append(estate.kept())
        self.memory.actions.append(Start(estate.running))
        self.memory.messages += estate.pending.values()
        self.output = self.memory.flush()  # what has to be done before anything else

    @property
    def phase(self) -> Phase:
        """Where this node is in a round."""
        return self.memory.phase

    @property
    def sizes(self) -> Mapping[int, Size]:
        """The operators that this node owns, with their sizes."""
        return self.memory.estate.sizes

    @property
    def running(self) -> tuple[int, ...]:
        """The operators that run here."""
        return self.memory.estate.running

    @property
    def level(self) -> float:
        """The share of this node's capacity that is in use."""
        return self.memory.level(self.memory.use())

    @property
    def wake(self) -> float:
        """The time at which `tick` has something to do."""
        return min(self.memory.due, self.memory.look)

    def measure(self, sizes: Mapping[int, Size]) -> None:
        """Note sizes of operators; those that are not here are passed over."""
        own = self.memory.estate.sizes
        own.update((operator, size) for operator, size in sizes.items() if operator in own)

    def receive(self, message: Message, now: float) -> Output:
        """Take a message; one that is not from a neighbour to this node says nothing."""
        if message.receiver != self.memory.node or message.sender not in self.memory.place.neighbours:
            return Output()
        self._step(message, now)
        return self.memory.flush()

    def tick(self, now: float) -> Output:
        """Let time pass."""
        memory = self.memory
        if now >= memory.due:
            self._step(Late(), now)
        if now >= memory.look:
            period = memory.place.timing.period
            memory.look += period * ((now - memory.look) // period + 1)
            self._step(Look(), now)
        return memory.flush()

    def _step(self, event: Event, now: float) -> None:
        memory = self.memory
        rule = TRANSITIONS[memory.phase, type(event)]
        phase = rule.handle(memory, event, now)
        assert phase in rule.to, f"{type(event).__name__} leads from {memory.phase} to {phase}"
        memory.phase = phase


def settle_in(sizes: Mapping[int, Size]) -> Kept:
    """Return the journal of a node that has never run, with the operators it is given."""
    return Kept(0, sizes=tuple(sizes.items()))
