"""The state of a node that survives a crash.

Rule 1: ownership changes only by records, and `apply` handles a record in the same way when it is written and when it
is replayed. So a node has the same state after a crash as before it.
Rule 2: a node owns the operators of a pending hand-over, but does not run them: the receiver may already run them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from drover.hierarchy.messages import Closed, Decision, HandedOut, Handover, JournalSnapshot, Record, TookIn
from drover.hierarchy.thresholds import Size


@dataclass(slots=True)
class DurableState:
    """The durable state; `sizes` holds the last measured sizes."""

    life: int = 0  # number of starts of this node
    serial: int = 0  # number of the last hand-over that this node began
    sizes: dict[int, Size] = field(default_factory=dict)  # operators that this node owns
    decided: dict[int, Decision] = field(default_factory=dict)  # by giver: the answer to its last hand-over
    pending: dict[int, Handover] = field(default_factory=dict)  # by receiver: hand-overs without an answer yet

    def apply(self, record: Record) -> None:
        """Change the state as a record says."""
        match record:
            case JournalSnapshot():
                self.life = record.life
                self.serial = record.serial
                self.sizes = dict(record.sizes)
                self.decided = {each.giver: each for each in record.decided}
                self.pending = {each.receiver: each for each in record.pending}
            case HandedOut(handover):
                self.serial = handover.serial
                self.pending[handover.receiver] = handover
            # The operators that were not taken stay in `sizes`, and count as running again.
            case Closed(receiver, _, taken):
                del self.pending[receiver]
                for operator in taken:
                    del self.sizes[operator]
            case TookIn(giver, serial, bundles):
                taken = tuple(operator for bundle in bundles for operator in bundle.operators)
                self.decided[giver] = Decision(giver, serial, taken)
                for bundle in bundles:
                    self.sizes.update(zip(bundle.operators, bundle.sizes, strict=True))
            case _:
                assert_never(record)

    def snapshot(self) -> JournalSnapshot:
        """Return all of it as one record, which takes the place of all earlier ones."""
        return JournalSnapshot(
            self.life,
            self.serial,
            tuple(self.sizes.items()),
            tuple(self.decided.values()),
            tuple(self.pending.values()),
        )

    @property
    def stopped(self) -> frozenset[int]:
        """The operators that are owned, but do not run."""
        return frozenset(operator for handover in self.pending.values() for operator in handover.operators)

    @property
    def running(self) -> tuple[int, ...]:
        """The operators that run here."""
        stopped = self.stopped
        return tuple(operator for operator in self.sizes if operator not in stopped)


def replay(records: Iterable[Record]) -> DurableState:
    """Return what a journal says."""
    durable = DurableState()
    for record in records:
        durable.apply(record)
    return durable
