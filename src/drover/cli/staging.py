"""What happens in the demo, and when: a burst in the middle of the day, and near its end a node less.

Rule 1: the control loop decides by itself; what is told of it are its own records, in its own words.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from drover.cli.board import Board
from drover.cli.live import Display

if TYPE_CHECKING:
    from drover.control.record import Record
    from drover.spark.handle import Handle

NODES: Final = 4
# Counting together on one node, as somebody would place it who does not know yet what it costs.
START: Final = {"requests": 0, "counts": 0, "sizes": 0, "busy": 1, "small": 2, "suspects": 3}
BURST: Final = (0.25, 0.75)  # of the day
COPIES: Final = 40  # of every request in the burst
PERIODS: Final = 24  # of the control loop in the whole run
# The first plan is due when the burst has been on for a while.
CONTROL: Final = {"mode": "auto", "warm_up": 8, "window": 5}
LOOK_AT: Final = 0.74  # of the day: the burst is still on
SCALE_AT: Final = 0.85


@dataclass(slots=True)
class Show:
    """One performance: what goes in, and what became of it."""

    example: Any  # Any: a module found at run time
    inputs: dict[str, Any]  # Any: Spark's DataFrames, which this layer does not know
    total: int  # rows
    begin: datetime
    end: datetime
    seconds: float
    results: Any = None  # Any: a Polars DataFrame
    said: list[str] = field(default_factory=list)
    periods: int = 0  # of the control loop, told of
    proposed: str = ""  # the proposal that was told of last
    moved: bool = False  # whether the control loop has moved something
    burst: bool = False  # whether it has begun
    looked: bool = False
    scaled: bool = False
    report: str = ""  # path
    board: Board = field(default_factory=lambda: Board((), (), time.monotonic()))

    @property
    def share(self) -> float:
        """How much of the day has passed, in event time."""
        reached = self.board.event_time
        return 0.0 if reached is None else (reached - self.begin) / (self.end - self.begin)


def prepare(example: Any, spark: Any, seconds: float) -> Show:  # Any: as in Show
    """Return a show of an example on its data, with every row of the burst many times over."""
    frames = example.inputs(spark)
    spans = [frame.selectExpr("unix_micros(min(ts))", "unix_micros(max(ts))").first() for frame in frames.values()]
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    begin, end = (datetime.fromtimestamp(micros / 1e6, UTC) for micros in (first, last))
    low, high = (int(first + share * (last - first)) for share in BURST)
    copies = f"explode(sequence(1, if(unix_micros(ts) between {low} and {high}, {COPIES}, 1))) as copy"
    inputs = {name: frame.selectExpr("*", copies).drop("copy").cache() for name, frame in frames.items()}
    return Show(example, inputs, sum(frame.count() for frame in inputs.values()), begin, end, seconds)


def act(show: Show, handle: Handle, display: Display) -> bool:
    """Tell what goes on, do what is due, and return whether all is done and all rows are through."""
    if not show.burst and show.share >= BURST[0]:
        show.burst = True
        say(show, display, f"the burst begins: every request comes {COPIES} times.")
    for record in handle.decisions[show.periods :]:
        show.periods += 1
        hear(show, record, display)
    if show.moved and not show.looked and show.share >= LOOK_AT:
        show.looked = True
        say(show, display, f"node loads, measured in the burst after the move: {percents(show.board.loads())}.")
    if not show.scaled and show.share >= SCALE_AT:
        show.scaled = True
        say(show, display, scale(handle))
    return show.scaled and show.board.rows_in.total() >= show.total


def hear(show: Show, record: Record, display: Display) -> None:
    """Tell of a decision, if it is a new proposal or a move; what needs no trial is both."""
    proposal = record.proposal
    if proposal is None or record.kind not in {"on trial", "moved"}:
        return
    moves = ", ".join(f"{move.unit} from node {move.source} to {move.target}" for move in proposal.moves)
    if proposal.id != show.proposed:
        show.proposed = proposal.id
        loads = f"node loads {percents(proposal.before)} would be {percents(proposal.after)}"
        say(show, display, f"period {record.period}, proposal {proposal.id}: {moves}. Why: {record.reason}; {loads}.")
    if record.kind == "moved":
        show.moved = True
        size = f"{proposal.bytes / 1000:,.1f} kB of state"
        now = percents(show.board.loads())
        say(show, display, f"period {record.period}, {proposal.id} is carried out, with {size}: {moves}.")
        say(show, display, f"node loads, measured in the burst before the move: {now}.")


def percents(loads: list[float] | tuple[float, ...]) -> str:
    """Return loads as people read them."""
    return " ".join(f"{load:.1%}" for load in loads)


def scale(handle: Handle) -> str:
    """Take the last node away."""
    before = handle.plan
    plan = handle.scale(before.nodes - 1)
    moved = ", ".join(unit for unit, node in before.node_of.items() if node != plan.node_of[unit]) or "nothing"
    return (
        f"plan {plan.number}: going on with {plan.nodes} nodes for {before.nodes}; "
        f"what ran on node {plan.nodes} moves: {moved}."
    )


def say(show: Show, display: Display, sentence: str) -> None:
    """Show a sentence now, and keep it for the end."""
    show.said.append(sentence)
    display.say(show.board, sentence)
