"""What the machine offers a run: slots for tasks, the cores behind them, and the time from batch to batch.

Rule 1: this is measured or set, never guessed: what is unknown is 0 or None.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlotOffer:
    """Slots, cores and trigger of a run."""

    slots: int = 0  # tasks that can run at once; 0: unknown
    cores: int = 0  # that these slots have; 0: unknown, and then every node has a core of its own
    trigger: float | None = None  # seconds from the start of a batch to the start of the next; None: without a pause
