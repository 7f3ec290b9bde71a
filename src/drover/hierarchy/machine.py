"""The state machine of one node: messages and time go in; records, actions and messages come out.

Rule 1: no sockets, clocks or random numbers: a runtime passes in messages and the time, and applies the effects.
Rule 2: TRANSITIONS lists what every event does in every phase. Any other event cannot occur.
Rule 3: a transition to a phase that its table entry does not list is a bug, and raises an AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from drover.hierarchy import rounds
from drover.hierarchy.durable_state import replay
from drover.hierarchy.handover import close, decide, decide_promised, decide_taking, repeat_handovers
from drover.hierarchy.messages import (
    Clear,
    DemandReply,
    DemandRequest,
    Handover,
    HandoverReply,
    JournalSnapshot,
    Message,
    OfferReply,
    OfferRequest,
    Record,
    Start,
    StepEffects,
    Take,
)
from drover.hierarchy.node_state import NodeConfig, NodeState, Phase
from drover.hierarchy.thresholds import Size


@dataclass(frozen=True, slots=True)
class CheckLevel:
    """The node should check its own level now."""


@dataclass(frozen=True, slots=True)
class PhaseTimeout:
    """The phase has reached its time limit."""


Event: TypeAlias = Message | CheckLevel | PhaseTimeout


@dataclass(frozen=True, slots=True)
class Transition:
    """The handler of an event in a phase, and the phases that it may lead to."""

    handle: Callable[[NodeState, Any, float], Phase]  # Any: each handler takes its own event class
    to: tuple[Phase, ...]


IDLE, OFFERING, DEMANDING, PROMISED, TAKING, GIVING = Phase
STAY: Final = ()  # the handler stays in its phase

_RULES: Final[Mapping[Phase, Mapping[type, tuple[Callable[[NodeState, Any, float], Phase], tuple[Phase, ...]]]]] = {
    IDLE: {
        CheckLevel: (rounds.check_level, (IDLE, OFFERING, DEMANDING)),
        OfferRequest: (rounds.answer_offer, (IDLE, PROMISED)),
        DemandRequest: (rounds.answer_demand, (IDLE, PROMISED)),
        OfferReply: (rounds.release_neighbour, STAY),
        DemandReply: (rounds.release_neighbour, STAY),
        Take: (rounds.refuse_take, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    OFFERING: {
        CheckLevel: (rounds.ignore, STAY),
        PhaseTimeout: (rounds.repeat_requests, (OFFERING, GIVING, IDLE)),
        OfferRequest: (rounds.reply_busy, STAY),
        DemandRequest: (rounds.reply_busy, STAY),
        OfferReply: (rounds.record_reply, (OFFERING, GIVING, IDLE)),
        DemandReply: (rounds.release_neighbour, STAY),
        Take: (rounds.refuse_take, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    DEMANDING: {
        CheckLevel: (rounds.ignore, STAY),
        PhaseTimeout: (rounds.repeat_requests, (DEMANDING, TAKING, IDLE)),
        OfferRequest: (rounds.yield_to_offer, (PROMISED, IDLE)),
        DemandRequest: (rounds.reply_busy, STAY),
        OfferReply: (rounds.release_neighbour, STAY),
        DemandReply: (rounds.record_reply, (DEMANDING, TAKING, IDLE)),
        Take: (rounds.refuse_take, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (rounds.ignore, STAY),
    },
    PROMISED: {
        CheckLevel: (rounds.ignore, STAY),
        PhaseTimeout: (rounds.expire_promise, (IDLE,)),
        OfferRequest: (rounds.repeat_reply, (PROMISED, IDLE)),
        DemandRequest: (rounds.repeat_reply, (PROMISED, IDLE)),
        OfferReply: (rounds.release_neighbour, STAY),
        DemandReply: (rounds.release_neighbour, STAY),
        Take: (rounds.hand_over_taken, (PROMISED, GIVING, IDLE)),
        Clear: (rounds.cancel_promise, (PROMISED, IDLE)),
        Handover: (decide_promised, (PROMISED, IDLE)),
        HandoverReply: (rounds.ignore, STAY),
    },
    TAKING: {
        CheckLevel: (rounds.ignore, STAY),
        PhaseTimeout: (rounds.repeat_takes, (TAKING, IDLE)),
        OfferRequest: (rounds.reply_busy, STAY),
        DemandRequest: (rounds.reply_busy, STAY),
        OfferReply: (rounds.release_neighbour, STAY),
        DemandReply: (rounds.release_neighbour, STAY),
        Take: (rounds.refuse_take, STAY),
        Clear: (rounds.drop_take, (TAKING, IDLE)),
        Handover: (decide_taking, (TAKING, IDLE)),
        HandoverReply: (rounds.ignore, STAY),
    },
    GIVING: {
        CheckLevel: (rounds.ignore, STAY),
        PhaseTimeout: (repeat_handovers, (GIVING,)),
        OfferRequest: (rounds.reply_busy, STAY),
        DemandRequest: (rounds.reply_busy, STAY),
        OfferReply: (rounds.release_neighbour, STAY),
        DemandReply: (rounds.release_neighbour, STAY),
        Take: (rounds.repeat_handover, STAY),
        Clear: (rounds.ignore, STAY),
        Handover: (decide, STAY),
        HandoverReply: (close, (GIVING, IDLE)),
    },
}
TRANSITIONS: Final[Mapping[tuple[Phase, type], Transition]] = {
    (phase, event): Transition(handle, to or (phase,))
    for phase, events in _RULES.items()
    for event, (handle, to) in events.items()
}


class Machine:
    """One node. The runtime passes every message to `receive`, and calls `tick` whenever the time `wake` has come."""

    def __init__(self, config: NodeConfig, records: Iterable[Record], now: float, first: float) -> None:
        """Start from the records of a non-empty journal; check the node's own level first at time `first`."""
        self.state = NodeState(config, replay(records), next_check=first)
        durable = self.state.durable
        durable.life += 1
        # Hand-overs from before the crash have no answer yet. Their operators stay stopped until it arrives.
        if durable.pending:
            self.state.phase = self.state.await_answer(now, GIVING)
        self.state.records.append(durable.snapshot())
        self.state.actions.append(Start(durable.running))
        self.state.messages += durable.pending.values()
        self.output = self.state.flush()  # to be applied before any other step

    @property
    def phase(self) -> Phase:
        """The current phase."""
        return self.state.phase

    @property
    def sizes(self) -> Mapping[int, Size]:
        """The operators that this node owns, with their sizes."""
        return self.state.durable.sizes

    @property
    def running(self) -> tuple[int, ...]:
        """The operators that run on this node."""
        return self.state.durable.running

    @property
    def level(self) -> float:
        """The fraction of this node's capacity that is in use."""
        return self.state.level(self.state.use())

    @property
    def wake(self) -> float:
        """The time at which `tick` is due."""
        return min(self.state.due, self.state.next_check)

    def measure(self, sizes: Mapping[int, Size]) -> None:
        """Update the sizes of operators; operators of other nodes are ignored."""
        # Sizes are measured again after a restart, so their changes need no record.
        own = self.state.durable.sizes
        own.update((operator, size) for operator, size in sizes.items() if operator in own)

    def receive(self, message: Message, now: float) -> StepEffects:
        """Handle a message; ignore one that is not from a neighbour to this node."""
        if message.receiver != self.state.node or message.sender not in self.state.config.neighbours:
            return StepEffects()
        self._step(message, now)
        return self.state.flush()

    def tick(self, now: float) -> StepEffects:
        """Handle a timeout and a level check, as far as they are due."""
        state = self.state
        if now >= state.due:
            self._step(PhaseTimeout(), now)
        if now >= state.next_check:
            period = state.config.timing.period
            # After a long pause, skip the missed checks and keep the rhythm, rather than check several times in a row.
            state.next_check += period * ((now - state.next_check) // period + 1)
            self._step(CheckLevel(), now)
        return state.flush()

    def _step(self, event: Event, now: float) -> None:
        state = self.state
        rule = TRANSITIONS[state.phase, type(event)]
        phase = rule.handle(state, event, now)
        assert phase in rule.to, f"{type(event).__name__} leads from {state.phase} to {phase}"
        state.phase = phase


def initial_snapshot(sizes: Mapping[int, Size]) -> JournalSnapshot:
    """Return the journal of a node that has never run, with the operators assigned to it."""
    return JournalSnapshot(0, sizes=tuple(sizes.items()))
