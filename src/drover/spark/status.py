"""What the control loop of a run knows at a moment, for whoever asks."""

from __future__ import annotations

from dataclasses import dataclass

from drover.control.record import Proposal, Record
from drover.control.settings import Mode
from drover.placement.plan import Plan


@dataclass(frozen=True, slots=True)
class Status:
    """What the loop knows at a moment."""

    network: str
    mode: Mode
    period: int
    plan: Plan
    drained: tuple[int, ...]
    last: Record | None
    waiting: Proposal | None
    failure: str | None
    approved: Proposal | None = None  # carried out when the run starts again; None while it runs
