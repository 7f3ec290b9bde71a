"""The script of the demo: a burst in the middle of the day, and one node less near its end.

Rule 1: the control loop decides by itself; the demo only shows its records.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from drover.cli.demo_input import requests
from drover.cli.live import Display
from drover.cli.run_figures import RunFigures

if TYPE_CHECKING:
    from drover.control.record import PeriodRecord
    from drover.spark.handle import Handle

NODES: Final = 4
# Both aggregates on one node: a natural choice as long as their cost is unknown.
START: Final = {"requests": 0, "counts": 0, "sizes": 0, "busy": 1, "small": 2, "suspects": 3}
BURST: Final = (0.2, 0.8)  # of the day: long enough for a move on a slow machine, where periods are few
COPIES: Final = 40  # of every request in the burst
PERIODS: Final = 24  # of the control loop in the whole run
# With these settings, the first plan is due some time into the burst.
CONTROL: Final = {"mode": "auto", "warm_up": 8, "window": 5, "capacity": 1}  # by the model, no move is worth its hop
LOOK_AT: Final = 0.78  # share of the day; the burst is still on
SCALE_AT: Final = 0.88


@dataclass(slots=True)
class DemoRun:
    """One run of the demo: its input, its progress and its results."""

    inputs: dict[str, Any]  # Any: Spark's DataFrames, which this layer does not know
    total: int  # rows
    begin: datetime
    end: datetime
    seconds: float
    results: Any = None  # Any: a Polars DataFrame
    messages: list[str] = field(default_factory=list)
    periods: int = 0  # of the control loop, already shown
    proposed: str = ""  # the proposal that was shown last
    moved: bool = False  # whether the control loop has moved a unit
    burst: bool = False  # whether the burst has begun
    looked: bool = False
    scaled: bool = False
    report: str = ""  # path of the HTML page
    figures: RunFigures = field(default_factory=lambda: RunFigures((), (), time.monotonic()))

    @property
    def share(self) -> float:
        """The share of the day that has passed, in event time."""
        reached = self.figures.event_time
        return 0.0 if reached is None else (reached - self.begin) / (self.end - self.begin)


def prepare(spark: Any, seconds: float) -> DemoRun:  # Any: as in DemoRun
    """Return a demo run of the log, with every row of the burst repeated COPIES times."""
    frames = requests(spark)
    spans = [frame.selectExpr("unix_micros(min(ts))", "unix_micros(max(ts))").first() for frame in frames.values()]
    first = min(span[0] for span in spans)
    last = max(span[1] for span in spans)
    begin, end = (datetime.fromtimestamp(micros / 1e6, UTC) for micros in (first, last))
    low, high = (int(first + share * (last - first)) for share in BURST)
    copies = f"explode(sequence(1, if(unix_micros(ts) between {low} and {high}, {COPIES}, 1))) as copy"
    inputs = {name: frame.selectExpr("*", copies).drop("copy").cache() for name, frame in frames.items()}
    return DemoRun(inputs, sum(frame.count() for frame in inputs.values()), begin, end, seconds)


def play_script(demo: DemoRun, handle: Handle, display: Display) -> bool:
    """Show what happened, do what is due, and return whether the script and all rows are done."""
    if not demo.burst and demo.share >= BURST[0]:
        demo.burst = True
        report_message(demo, display, f"the burst begins: every request arrives {COPIES} times.")
    for record in handle.decisions[demo.periods :]:
        demo.periods += 1
        report_decision(demo, record, display)
    if demo.moved and not demo.looked and demo.share >= LOOK_AT:
        demo.looked = True
        report_message(
            demo, display, f"node loads, measured in the burst after the move: {percents(demo.figures.loads())}."
        )
    if not demo.scaled and demo.share >= SCALE_AT:
        demo.scaled = True
        report_message(demo, display, scale(handle))
    return demo.scaled and demo.figures.rows_in.total() >= demo.total


def report_decision(demo: DemoRun, record: PeriodRecord, display: Display) -> None:
    """Show a decision if it is a new proposal or a move; without a trial it is both."""
    proposal = record.proposal
    if proposal is None or record.kind not in {"on trial", "moved"}:
        return
    moves = ", ".join(f"{move.unit} from node {move.source} to {move.target}" for move in proposal.moves)
    if proposal.id != demo.proposed:
        demo.proposed = proposal.id
        loads = f"node loads {percents(proposal.before)} would be {percents(proposal.after)}"
        report_message(
            demo, display, f"period {record.period}, proposal {proposal.id}: {moves}. Why: {record.reason}; {loads}."
        )
    if record.kind == "moved":
        demo.moved = True
        size = f"{proposal.bytes / 1000:,.1f} kB of state"
        now = percents(demo.figures.loads())
        report_message(demo, display, f"period {record.period}, {proposal.id} is carried out, with {size}: {moves}.")
        report_message(demo, display, f"node loads, measured in the burst before the move: {now}.")


def percents(loads: list[float] | tuple[float, ...]) -> str:
    """Return loads in percent."""
    return " ".join(f"{load:.1%}" for load in loads)


def scale(handle: Handle) -> str:
    """Remove the last node, and return what moved."""
    before = handle.plan
    plan = handle.scale(before.nodes - 1)
    moved = ", ".join(unit for unit, node in before.node_of.items() if node != plan.node_of[unit]) or "nothing"
    return (
        f"plan {plan.number}: {plan.nodes} nodes instead of {before.nodes}; "
        f"the units of node {plan.nodes} move: {moved}."
    )


def report_message(demo: DemoRun, display: Display, message: str) -> None:
    """Show a message now, and keep it for the summary."""
    demo.messages.append(message)
    display.add_message(demo.figures, message)
