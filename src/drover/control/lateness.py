"""Whether batches keep up with their trigger, and where their time goes.

Rule 1: nothing is decided here, and no plan is looked at: this is about batches as they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from drover.control.state import ControlState
from drover.load.batch_capacity import UsualBatches, usual_batches
from drover.load.batch_model import Phases, comparable

RECENT: Final = 6  # batches: about the last two periods
LATE: Final = 1.02  # of the trigger; a batch that fills it exactly keeps up
GROWING: Final = 3  # backlogs in a row, each larger than the one before, that show a run falling behind
MUCH: Final = 2.0  # batches of rows that wait; fewer are normal between two batches
HELPED: Final = 0.2  # of a batch; if nodes take less of it, no other plan makes batches much shorter
UNKNOWN: Final = -1.0  # rows that wait, if no source tells


@dataclass(frozen=True, slots=True, eq=False)
class BatchPace:
    """How long batches take at present."""

    usual: UsualBatches
    seconds: float  # of a batch, the median of the last ones
    rows: float  # of a batch
    phases: Phases  # where the seconds go, by the model
    backlog: float | None = None  # rows that wait; None if no source tells
    growing: bool = False  # whether more and more rows wait

    @property
    def trigger(self) -> float | None:
        """Seconds from the start of a batch to the start of the next; None if batches follow without a pause."""
        return self.usual.trigger

    @property
    def is_late(self) -> bool:
        """Whether batches take longer than their trigger, or more and more rows wait."""
        return self.growing or (self.trigger is not None and self.seconds > LATE * self.trigger)

    @property
    def is_up_to_nodes(self) -> bool:
        """Whether nodes take so much of a batch that another plan may shorten it."""
        return self.phases.nodes > HELPED * self.phases.whole


def pace_of(state: ControlState) -> BatchPace | None:
    """Return how long batches take; None if none was measured."""
    usual = usual_batches(state.batches)
    if usual is None:
        return None
    recent = comparable(state.batches)[-RECENT:]
    seconds = float(median(one.whole for one in recent))
    rows = float(median(one.work.rows for one in recent))
    known = [rows for rows in state.backlogs if rows != UNKNOWN]
    backlog = known[-1] if state.backlogs and state.backlogs[-1] != UNKNOWN else None
    last = known[-GROWING - 1 :]
    rises = len(last) > GROWING and all(one < other for one, other in pairwise(last))
    growing = rises and backlog is not None and backlog > MUCH * rows
    return BatchPace(usual, seconds, rows, usual.model.phases(usual.per_row.times(rows)), backlog, growing)
