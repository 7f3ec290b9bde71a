"""`drover demo`: the traffic example on a real log: a burst, the moves of the control loop, and one node less."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from drover.cli.demo_input import traffic
from drover.cli.demo_script import CONTROL, NODES, PERIODS, START, DemoRun, play_script, prepare
from drover.cli.interrupts import catch_interrupts
from drover.cli.live import Display, LineView, TerminalView
from drover.cli.run_figures import RunFigures
from drover.cli.show import print_tree
from drover.cli.timed_step import timed_step
from drover.cli.watch import poll, watch
from drover.errors import visible
from drover.network.files.disk import write_text

REPORT: Final = "build/demo.html"
SHOWN: Final = 6  # results


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option(
    "--seconds",
    default=40.0,
    show_default=True,
    type=click.FloatRange(1, 3600),
    help="Seconds in which the day of log is replayed.",
)
@click.option("--report", default=REPORT, show_default=True, metavar="FILE", help="File for the report on the run.")
def demo(as_json: bool, seconds: float, report: str) -> int:
    """Find clients that send many small requests in a real web log, live.

    The demo replays one day of a NASA web server's log (1 August 1995) in 40 s through six operators on four nodes. In
    the middle of the day every request arrives forty times: a burst. The control loop measures the load, proposes
    a plan, says why, and moves operators with their state. Then the demo removes a node. At the end it compares the
    results with those of plain Spark and writes a report on the run as an HTML file. It takes about a minute.
    """
    if not as_json:
        print_tree(traffic(), schemas=False)
        click.echo()
    timings: dict[str, float] = {}
    with timed_step("starting Spark", timings, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - pyspark takes a second to import

        spark = session("drover demo")
    try:
        with timed_step("reading the log", timings, "read"):
            demo_run = prepare(spark, seconds)
        with tempfile.TemporaryDirectory(prefix="drover-demo-", ignore_cleanup_errors=True) as folder:
            perform(demo_run, spark, folder, as_json)
            with timed_step("writing the report", timings, "report"):
                demo_run.report = written(folder, report)
        with timed_step("running the same rows through plain Spark", timings, "oracle"):
            equal = agrees(demo_run)
    finally:
        spark.stop()
    found = summary(demo_run, timings, equal)
    click.echo(json.dumps(found, indent=2) if as_json else text(found))
    return 0 if equal else 1


def perform(demo_run: DemoRun, spark: Any, folder: str, as_json: bool) -> None:  # Any: as in DemoRun
    """Run the network on the replayed log, follow the script, and keep the results."""
    from drover.placement.plan import Plan  # noqa: PLC0415 - as above
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.replay import replay  # noqa: PLC0415 - as above
    from drover.spark.run import run  # noqa: PLC0415 - as above
    from drover.spark.sinks import Memory, Tail  # noqa: PLC0415 - as above

    network = traffic()
    speed = (demo_run.end - demo_run.begin).total_seconds() / demo_run.seconds
    streams = {
        name: replay(spark, frame, time="ts", speed=speed, start=demo_run.begin)
        for name, frame in demo_run.inputs.items()
    }
    memory = Memory()
    tail = Tail(SHOWN)
    figures = demo_run.figures = RunFigures(tuple(streams), network.outputs, time.monotonic())
    with catch_interrupts() as stopped, readable("demo"):
        control = {**CONTROL, "period": demo_run.seconds / PERIODS}
        plan = Plan(1, NODES, START)
        handle = run(network, streams, {"suspects": [memory, tail]}, checkpoint=folder, plan=plan, control=control)
        try:
            title = f"traffic: a day of log, {speed:,.0f} times as fast as real time"
            with _display(demo_run, title, tail, as_json) as display:
                watch(handle, figures, display, lambda: stopped.is_set() or play_script(demo_run, handle, display))
                if stopped.is_set():
                    raise KeyboardInterrupt
                # The replay has ended, but the last batch may still be running.
                handle.processAllAvailable()
                poll(handle, figures, display)
        finally:
            handle.stop()
    demo_run.results = memory.rows()


def _display(
    demo_run: DemoRun, title: str, tail: Any, as_json: bool
) -> Display:  # Any: a sink, whose module needs Spark
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        return LineView(quiet=as_json)

    def last() -> tuple[str, list[dict[str, Any]]]:
        rows = [
            {key: row[key] for key in ("window_start", "client", "requests", "mean_bytes")}
            for row in tail.last.iter_rows(named=True)
        ]
        return f"last of {tail.count:,} suspects: clients that sent many small requests in a minute", rows

    return TerminalView(console, title, last, lambda: demo_run.share)


def written(checkpoint: str, path: str) -> str:
    """Write the report on the run, and return its absolute path."""
    from drover.web.report import build_report, read_run, render_page  # noqa: PLC0415 - as above

    where = Path(path).absolute()
    where.parent.mkdir(parents=True, exist_ok=True)
    write_text(str(where), render_page(build_report(read_run(checkpoint))))
    return str(where)


def agrees(demo_run: DemoRun) -> bool:
    """Return whether the results are those of plain Spark on the same rows."""
    import polars as pl  # noqa: PLC0415 - as above

    from drover.spark.reference import reference  # noqa: PLC0415 - as above

    wanted = pl.DataFrame(reference(traffic(), demo_run.inputs).streams["suspects"].toArrow())
    columns = wanted.columns
    if not demo_run.results.height:
        return not wanted.height
    return bool(demo_run.results.select(columns).sort(columns).equals(wanted.sort(columns)))


def summary(demo_run: DemoRun, timings: dict[str, float], equal: bool) -> dict[str, Any]:  # Any: JSON
    """Return the figures that sum the demo up."""
    figures = demo_run.figures
    top = demo_run.results.sort(["requests", "window_start", "client"], descending=[True, False, False]).head(SHOWN)
    return {
        "rows": dict(figures.rows_in),
        "results": dict(figures.rows_out),
        "unused": figures.unused(),
        "batches": figures.batches,
        "seconds": timings | {"run": round(figures.now - figures.began, 1), "per_batch": round(figures.per_batch, 3)},
        "said": demo_run.messages,
        "moved": demo_run.moved,
        "equal": equal,
        "report": demo_run.report,
        "suspects": [
            {key: str(cell) if hasattr(cell, "tzinfo") else cell for key, cell in row.items()}
            for row in top.iter_rows(named=True)
        ],
    }


def text(found: dict[str, Any]) -> str:  # Any: JSON
    """Return the summary for people."""
    seconds = found["seconds"]
    lines = [
        (
            f"{sum(found['rows'].values()):,} requests in {seconds['run']:.0f} s: {found['batches']} batches of "
            f"{seconds['per_batch']:.2f} s, {sum(found['results'].values()):,} suspects. During the run:"
        ),
        *(f"  {sentence}" for sentence in found["said"]),
        *(f"warning: {visible(sentence)}" for sentence in found["unused"]),
        "the busiest suspects:",
        *(
            f"  {row['window_start'][:16]}  {row['client']:>6}  {row['requests']:>4} requests, "
            f"{row['mean_bytes']:>7,.0f} bytes on average"
            for row in found["suspects"]
        ),
        f"check: plain Spark on the same rows gives {'the same results' if found['equal'] else 'OTHER RESULTS'}.",
        f"report: {visible(found['report'], len(found['report']))}",
    ]
    return "\n".join(lines)
