"""The story of the demo: the run falls behind, says why, separates two functions, and catches up.

Rule 1: the control loop decides by itself; the demo only shows its records and measures batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from drover.cli.demo_calibration import DemoWorkload
from drover.cli.live import Display
from drover.cli.run_figures import Entry, RunFigures, seconds_of
from drover.control.record import PeriodOutcome

if TYPE_CHECKING:
    from drover.control.record import PeriodRecord
    from drover.spark.handle import Handle

NODES: Final = 2
START: Final = {"pseudonyms": 0, "errors": 0, "seals": 0}  # a natural choice as long as their cost is unknown
TRIGGER: Final = 1.0  # seconds
CONTROL: Final = {"mode": "auto", "warm_up": 3}  # periods: a demo has few
LAST: Final = 5  # batches that show how long one takes in the end


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast batches were."""

    batches: int
    slowest: float  # seconds
    last: float  # seconds, the median of the last ones
    requests: float  # per second of batches


@dataclass(slots=True)
class DemoRun:
    """One run of the demo: its input, its progress and its results."""

    rows: Any  # Any: a DataFrame of Spark, which this layer does not know
    total: int  # rows
    workload: DemoWorkload
    results: dict[str, Any] = field(default_factory=dict)  # Any: Polars DataFrames
    messages: list[str] = field(default_factory=list)
    batches: list[Entry] = field(default_factory=list)  # that had rows of several requests
    periods: int = 0  # of the control loop, already shown
    health: str = ""  # as it was shown last, without the details
    moved_by: int | None = None  # number of the plan that the control loop made
    report: str = ""  # path of the HTML page
    figures: RunFigures = field(default_factory=lambda: RunFigures((), (), time.monotonic()))

    @property
    def share(self) -> float:
        """The share of all requests that were processed."""
        return self.figures.rows_in.total() / self.total

    @property
    def was_too_light(self) -> bool:
        """Whether nothing moved because nothing had to."""
        return self.moved_by is None and (self.before is None or self.before.slowest <= TRIGGER)

    @property
    def before(self) -> Pace | None:
        """The batches before the move."""
        return pace_of(one for one in self.batches if self.moved_by is None or one["plan"] < self.moved_by)

    @property
    def after(self) -> Pace | None:
        """The batches after the move."""
        return pace_of(one for one in self.batches if self.moved_by is not None and one["plan"] >= self.moved_by)


def pace_of(batches: Iterable[Entry]) -> Pace | None:
    """Return how fast some batches were; None without any."""
    known = list(batches)
    if not known:
        return None
    seconds = [seconds_of(one) for one in known]
    rows = sum(sum(one["rowsIn"].values()) for one in known)
    return Pace(len(known), max(seconds), median(seconds[-LAST:]), rows / sum(seconds))


def play_script(demo: DemoRun, handle: Handle, display: Display) -> bool:
    """Show what happened since the last call, and return whether all requests are done."""
    last = demo.batches[-1]["batch"] if demo.batches else 0
    # Batch 0 has a single request, and the start of Spark's workers.
    demo.batches += [one for one in handle.batches if one["batch"] > last and sum(one["rowsIn"].values())]
    for record in handle.decisions[demo.periods :]:
        demo.periods += 1
        report_decision(demo, record, display)
    return demo.figures.rows_in.total() >= demo.total


def report_decision(demo: DemoRun, record: PeriodRecord, display: Display) -> None:
    """Show whether the run keeps up, if that has changed, and a move with its reason."""
    health, _, _ = record.health.partition(":")
    proposal = record.proposal if record.kind == PeriodOutcome.MOVED else None
    if demo.batches and (health != demo.health or proposal is not None):
        demo.health = health
        obstacle = f"; {record.obstacle}" if record.obstacle else ""
        report_message(demo, display, f"period {record.period}: {record.health}{obstacle}.")
    if proposal is not None:
        demo.moved_by = demo.moved_by or record.plan + 1
        moves = ", ".join(f"{move.unit} from node {move.source} to node {move.target}" for move in proposal.moves)
        report_message(demo, display, f"period {record.period}: drover moves {moves}. Why: {record.reason}.")


def closing_line(demo: DemoRun, rate: float) -> str:
    """Return both figures in one line: batches before the move, and after it."""
    before, after = demo.before, demo.after
    if before is None or after is None:
        return "nothing has moved, so there is no before and after."
    slow = f"batches of up to {before.slowest:.1f} s, {before.requests:,.0f} requests/s where {rate:,.0f} arrive"
    fast = f"batches of {after.last:.2f} s in the end, up to {after.requests:,.0f} requests/s"
    return f"before the move: {slow}; after it: {fast}"


def report_message(demo: DemoRun, display: Display, message: str) -> None:
    """Show a message now, and keep it for the summary."""
    demo.messages.append(message)
    display.add_message(demo.figures, message)
