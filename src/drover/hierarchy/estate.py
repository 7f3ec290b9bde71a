"""What a node owns and must never forget.

Rule 1: who owns what changes by records alone, and by the same function whether they are being written or read again:
so what a node knows after a crash is what it knew before, by construction.
Rule 2: an operator of a hand-over that is pending is owned, but does not run: its receiver may have it already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from drover.hierarchy.messages import Closed, Decision, HandedOut, Handover, Kept, Record, TookIn
from drover.hierarchy.thresholds import Size


@dataclass(slots=True)
class Estate:
    """The state that survives; `sizes` are as last measured."""

    life: int = 0  # how often the node has been started
    serial: int = 0  # of the last hand-over that it began
    sizes: dict[int, Size] = field(default_factory=dict)  # operators owned
    decided: dict[int, Decision] = field(default_factory=dict)  # by giver: the last that was decided on
    pending: dict[int, Handover] = field(default_factory=dict)  # by receiver: not answered yet

    def apply(self, record: Record) -> None:
        """Change as a record says."""
        match record:
            case Kept():
                self.life, self.serial = record.life, record.serial
                self.sizes = dict(record.sizes)
                self.decided = {each.giver: each for each in record.decided}
                self.pending = {each.receiver: each for each in record.pending}
            case HandedOut(handover):
                self.serial = handover.serial
                self.pending[handover.receiver] = handover
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

    def kept(self) -> Kept:
        """Return all of it as one record, which takes the place of all earlier ones."""
        return Kept(
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


def replay(records: Iterable[Record]) -> Estate:
    """Return what a journal says."""
    estate = Estate()
    for record in records:
        estate.apply(record)
    return estate
