"""`drover demo`: the traffic example on its real log, live, with a move and a rescale on the way."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from drover.cli.board import Board
from drover.cli.interrupts import interrupts
from drover.cli.live import Display, Lines, Picture
from drover.cli.show import print_tree
from drover.cli.steps import step
from drover.cli.watch import look, watch
from drover.errors import DroverError

if TYPE_CHECKING:
    from drover.spark.handle import Handle

CLONE: Final = Path(__file__).resolve().parents[3]
NODES: Final = 4
MOVE_AT: Final = 0.35  # of the rows
SCALE_AT: Final = 0.65
SHOWN: Final = 6  # results


@dataclass(slots=True)
class Show:
    """One performance: what goes in, and what became of it."""

    example: Any  # Any: a module found at run time
    inputs: dict[str, Any]  # Any: Spark's DataFrames, which this layer does not know
    total: int  # rows
    seconds: float
    results: Any = None  # Any: a Polars DataFrame
    moves: list[str] = field(default_factory=list)
    board: Board = field(default_factory=lambda: Board((), (), time.monotonic()))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option("--seconds", default=40.0, show_default=True, type=click.FloatRange(1, 3600),
              help="How long the day of log is to take.")  # fmt: skip
def demo(as_json: bool, seconds: float) -> int:
    """Find who sends many small requests, live, in a real web log.

    A day of a NASA web server's log, 1 August 1995, passes in 40 s through six operators on four nodes. On the way one
    operator is moved with its state, and one node is taken away. At the end the results are compared with those of
    plain Spark. Takes about a minute in all and leaves nothing behind.
    """
    example = _example("traffic")
    if not as_json:
        print_tree(example.build(), schemas=False)
        click.echo()
    timings: dict[str, float] = {}
    with step("starting Spark", timings, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - a second that other commands need not wait

        spark = session("drover demo")
    try:
        with step("reading the log", timings, "read"):
            inputs = {name: frame.cache() for name, frame in example.inputs(spark).items()}
            show = Show(example, inputs, sum(frame.count() for frame in inputs.values()), seconds)
        with tempfile.TemporaryDirectory(prefix="drover-demo-", ignore_cleanup_errors=True) as folder:
            perform(show, spark, folder, as_json)
        with step("running the same rows through plain Spark", timings, "oracle"):
            equal = agrees(show)
    finally:
        spark.stop()
    found = summary(show, timings, equal)
    click.echo(json.dumps(found, indent=2) if as_json else text(found))
    return 0 if equal else 1


def _example(name: str) -> Any:  # Any: a module found at run time
    """Return the module of an example; it is part of a clone, not of the installed package."""
    if not (CLONE / "examples" / f"{name}.py").is_file():
        raise DroverError(
            f"there is no examples folder in {CLONE}, but the demo runs on its data. Run it in a clone: make demo."
        )
    sys.path.insert(0, str(CLONE))
    return importlib.import_module(f"examples.{name}")


def perform(show: Show, spark: Any, folder: str, as_json: bool) -> None:  # Any: as in Show
    """Run the network on the replayed log, move and rescale on the way, and keep the results."""
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.replay import replay  # noqa: PLC0415 - as above
    from drover.spark.run import run  # noqa: PLC0415 - as above
    from drover.spark.sinks import Memory, Tail  # noqa: PLC0415 - as above

    network = show.example.build()
    spans = [frame.selectExpr("min(ts)", "max(ts)").first() for frame in show.inputs.values()]
    begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
    speed = (end - begin).total_seconds() / show.seconds
    streams = {name: replay(spark, frame, time="ts", speed=speed, start=begin) for name, frame in show.inputs.items()}
    memory, tail = Memory(), Tail(SHOWN)
    board = show.board = Board(tuple(streams), network.outputs, time.monotonic())
    with interrupts() as stopped, readable("demo"):
        handle = run(network, streams, {"suspects": [memory, tail]}, checkpoint=folder, nodes=NODES)
        try:
            title = f"traffic: a day of log, {speed:,.0f} times as fast as real time"
            with _display(show, title, tail, as_json) as display:
                watch(handle, board, display, lambda: stopped.is_set() or _act(show, handle, display))
                if stopped.is_set():
                    raise KeyboardInterrupt
                handle.processAllAvailable()
                look(handle, board, display)
        finally:
            handle.stop()
    show.results = memory.rows()


def _display(show: Show, title: str, tail: Any, as_json: bool) -> Display:  # Any: a sink, whose module needs Spark
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        return Lines(quiet=as_json)

    def last() -> tuple[str, list[dict[str, Any]]]:
        rows = [{key: row[key] for key in ("window_start", "client", "requests", "mean_bytes")}
                for row in tail.last.iter_rows(named=True)]  # fmt: skip
        return f"last of {tail.count:,} suspects: clients that sent many small requests in a minute", rows

    return Picture(console, title, last, lambda: show.board.rows_in.total() / show.total)


def _act(show: Show, handle: Handle, display: Display) -> bool:
    """Do what is due, one thing at a time; return whether the whole log is through."""
    share = show.board.rows_in.total() / show.total
    if not show.moves and share >= MOVE_AT:
        _say(show, display, _move(show.board, handle))
    elif len(show.moves) == 1 and share >= SCALE_AT:
        _say(show, display, _scale(handle))
    return share >= 1.0 and len(show.moves) == 2


def _say(show: Show, display: Display, sentence: str) -> None:
    show.moves.append(sentence)
    display.say(show.board, sentence)


def _move(board: Board, handle: Handle) -> str:
    """Move the busiest operator that has state to the idlest node; not to the last one, which is to go."""
    loads = board.loads()
    hot = next((hot for hot in board.hottest() if hot.state_bytes), board.hottest()[0])
    taker = min((node for node in range(len(loads) - 1) if node != hot.node), key=lambda node: loads[node])
    plan = handle.move(hot.operator, taker)
    return (
        f"plan {plan.number}: moving {hot.operator}, busy and with {hot.state_bytes / 1000:,.1f} kB of state, "
        f"from node {hot.node} to node {taker}."
    )


def _scale(handle: Handle) -> str:
    """Take the last node away."""
    before = handle.plan
    plan = handle.scale(before.nodes - 1)
    moved = ", ".join(unit for unit, node in before.node_of.items() if node != plan.node_of[unit]) or "nothing"
    return (
        f"plan {plan.number}: going on with {plan.nodes} nodes for {before.nodes}; "
        f"what ran on node {plan.nodes} moves: {moved}."
    )


def agrees(show: Show) -> bool:
    """Return whether the results are those of plain Spark on the same rows."""
    import polars as pl  # noqa: PLC0415 - as above

    from drover.spark.reference import reference  # noqa: PLC0415 - as above

    wanted = pl.DataFrame(reference(show.example.build(), show.inputs).streams["suspects"].toArrow())
    columns = wanted.columns
    if not show.results.height:
        return not wanted.height
    return bool(show.results.select(columns).sort(columns).equals(wanted.sort(columns)))


def summary(show: Show, timings: dict[str, float], equal: bool) -> dict[str, Any]:  # Any: JSON
    """Return what there is to say at the end."""
    board = show.board
    top = show.results.sort(["requests", "window_start", "client"], descending=[True, False, False]).head(SHOWN)
    return {
        "rows": dict(board.rows_in),
        "results": dict(board.rows_out),
        "batches": board.batches,
        "seconds": timings | {"run": round(board.now - board.began, 1), "per_batch": round(board.per_batch, 3)},
        "moves": show.moves,
        "equal": equal,
        "suspects": [
            {key: str(cell) if hasattr(cell, "tzinfo") else cell for key, cell in row.items()}
            for row in top.iter_rows(named=True)
        ],
    }


def text(found: dict[str, Any]) -> str:  # Any: JSON
    """Return the summary as people read it."""
    seconds = found["seconds"]
    lines = [
        (
            f"{sum(found['rows'].values()):,} requests in {seconds['run']:.0f} s: {found['batches']} batches of "
            f"{seconds['per_batch']:.2f} s, {sum(found['results'].values()):,} suspects. On the way:"
        ),
        *(f"  {sentence}" for sentence in found["moves"]),
        "the busiest suspects:",
        *(
            f"  {row['window_start'][:16]}  {row['client']:>6}  {row['requests']:>4} requests, "
            f"{row['mean_bytes']:>7,.0f} bytes on average"
            for row in found["suspects"]
        ),
        f"check: plain Spark on the same rows gives {'the same results, row for row' if found['equal'] else 'OTHERS'}.",
    ]
    return "\n".join(lines)
