"""`drover demo`: the traffic example on its real log, live: a burst, what the control loop does about it, a rescale."""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from drover.cli.board import Board
from drover.cli.interrupts import interrupts
from drover.cli.live import Display, Lines, Picture
from drover.cli.show import print_tree
from drover.cli.staging import CONTROL, NODES, PERIODS, START, Show, act, prepare
from drover.cli.steps import step
from drover.cli.watch import look, watch
from drover.errors import DroverError, visible
from drover.network.files.disk import write_text

CLONE: Final = Path(__file__).resolve().parents[3]
REPORT: Final = "build/demo.html"
SHOWN: Final = 6  # results


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option("--seconds", default=40.0, show_default=True, type=click.FloatRange(1, 3600),
              help="How long the day of log is to take.")  # fmt: skip
@click.option("--report", default=REPORT, show_default=True, metavar="FILE", help="Where the report on the run goes.")
def demo(as_json: bool, seconds: float, report: str) -> int:
    """Find who sends many small requests, live, in a real web log.

    A day of a NASA web server's log, 1 August 1995, passes in 40 s through six operators on four nodes. Half of the
    day is made a burst: every request comes forty times. The control loop sees what that costs, proposes a plan,
    says why, and moves operators with their state. Then one node is taken away. At the end the results are compared
    with those of plain Spark, and the report on the run is an HTML file. Takes about a minute in all.
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
            show = prepare(example, spark, seconds)
        with tempfile.TemporaryDirectory(prefix="drover-demo-", ignore_cleanup_errors=True) as folder:
            perform(show, spark, folder, as_json)
            with step("writing the report", timings, "report"):
                show.report = written(folder, report)
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
    """Run the network on the replayed log, let happen what is to happen, and keep the results."""
    from drover.placement.plan import Plan  # noqa: PLC0415 - as above
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.replay import replay  # noqa: PLC0415 - as above
    from drover.spark.run import run  # noqa: PLC0415 - as above
    from drover.spark.sinks import Memory, Tail  # noqa: PLC0415 - as above

    network = show.example.build()
    speed = (show.end - show.begin).total_seconds() / show.seconds
    streams = {
        name: replay(spark, frame, time="ts", speed=speed, start=show.begin) for name, frame in show.inputs.items()
    }
    memory, tail = Memory(), Tail(SHOWN)
    board = show.board = Board(tuple(streams), network.outputs, time.monotonic())
    with interrupts() as stopped, readable("demo"):
        control = {**CONTROL, "period": show.seconds / PERIODS}
        plan = Plan(1, NODES, START)
        handle = run(network, streams, {"suspects": [memory, tail]}, checkpoint=folder, plan=plan, control=control)
        try:
            title = f"traffic: a day of log, {speed:,.0f} times as fast as real time"
            with _display(show, title, tail, as_json) as display:
                watch(handle, board, display, lambda: stopped.is_set() or act(show, handle, display))
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

    return Picture(console, title, last, lambda: show.share)


def written(checkpoint: str, path: str) -> str:
    """Write the report on the run, and return its path in full."""
    from drover.web.report import page, read, story_of  # noqa: PLC0415 - as above

    where = Path(path).absolute()
    where.parent.mkdir(parents=True, exist_ok=True)
    write_text(str(where), page(story_of(read(checkpoint))))
    return str(where)


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
        "said": show.said,
        "moved": show.moved,
        "equal": equal,
        "report": show.report,
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
        *(f"  {sentence}" for sentence in found["said"]),
        "the busiest suspects:",
        *(
            f"  {row['window_start'][:16]}  {row['client']:>6}  {row['requests']:>4} requests, "
            f"{row['mean_bytes']:>7,.0f} bytes on average"
            for row in found["suspects"]
        ),
        f"check: plain Spark on the same rows gives {'the same results, row for row' if found['equal'] else 'OTHERS'}.",
        f"report: {visible(found['report'], len(found['report']))}",
    ]
    return "\n".join(lines)
