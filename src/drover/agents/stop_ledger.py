"""What the runner of a node was told to stop and has not acknowledged; a hand-over waits for the acknowledgement.

Rule 1: no sockets, clocks or processes: orders and acknowledgements go in, and what may leave comes out.
Rule 2: a hand-over leaves only when the runner has stopped all its operators. Holding it back is like losing it on the
way, which the machine tolerates: it repeats a hand-over until it is answered. So the machine need not know about this.
Rule 3: every request has a number that is never used again, also after a restart. An acknowledgement of an earlier
request says nothing about a later one.
Rule 4: acknowledgements are not durable. An agent that restarts asks again about every hand-over without an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drover.hierarchy.messages import Handover, Message


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Operators that the runner must stop and acknowledge together."""

    number: str  # the life of the agent, and a count within that life
    operators: tuple[int, ...]
    since: float  # when the runner was told, in seconds


@dataclass(slots=True)
class StopLedger:
    """The open requests of one agent, and the hand-overs that wait for them."""

    life: int
    open: dict[str, StopRequest] = field(default_factory=dict)  # by number
    held: dict[int, Handover] = field(default_factory=dict)  # by receiver: its last hand-over that had to wait
    count: int = 0

    def request(self, operators: Iterable[int], now: float) -> StopRequest:
        """Return a new request to stop operators."""
        self.count += 1
        made = StopRequest(f"{self.life}.{self.count}", tuple(operators), now)
        self.open[made.number] = made
        return made

    def hold_back(self, messages: Iterable[Message]) -> list[Message]:
        """Return the messages that may leave now; keep each hand-over whose operators may still run here."""
        unstopped = self.unstopped
        leaving: list[Message] = []
        for message in messages:
            if isinstance(message, Handover) and not unstopped.isdisjoint(message.operators):
                self.held[message.receiver] = message
            else:
                leaving.append(message)
        return leaving

    def acknowledge(self, number: str) -> tuple[StopRequest | None, list[Message]]:
        """Return the request that has ended, and the hand-overs that may leave now; None if no such one is open."""
        ended = self.open.pop(number, None)
        if ended is None:
            return None, []
        held = list(self.held.values())
        self.held.clear()
        return ended, self.hold_back(held)

    def overdue(self, before: float) -> list[StopRequest]:
        """Return the open requests that the runner was given before a time."""
        return [request for request in self.open.values() if request.since < before]

    @property
    def unstopped(self) -> frozenset[int]:
        """The operators that the runner was told to stop and may still run."""
        return frozenset(operator for request in self.open.values() for operator in request.operators)


def refusal(number: str, open_requests: Mapping[str, StopRequest]) -> str:
    """Return why an acknowledgement is ignored."""
    waiting = ", ".join(open_requests) or "none"
    return (
        f"the acknowledgement of request {number} is ignored: that request is not open. "
        f"Open requests: {waiting}. Acknowledge each request once, when its operators have stopped."
    )
