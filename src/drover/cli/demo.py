"""`drover demo`: a run on a real log that falls behind, and what drover does about it."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from drover.cli.demo_calibration import choose_workload, measure_speed
from drover.cli.demo_input import DUE, RATE, private_log, requests
from drover.cli.demo_script import CONTROL, NODES, START, TRIGGER, DemoRun, closing_line, play_script
from drover.cli.interrupts import catch_interrupts
from drover.cli.live import Display, LineView, TerminalView
from drover.cli.run_figures import RunFigures
from drover.cli.show import print_tree
from drover.cli.timed_step import timed_step
from drover.cli.watch import watch
from drover.errors import visible
from drover.network.files.disk import write_text

REPORT: Final = "build/demo.html"
SHOWN: Final = 6  # results
PARTS: Final = 10  # one second of the log in so many is checked: to check all of them would take as long as the run


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
@click.option(
    "--seconds",
    default=40.0,
    show_default=True,
    type=click.FloatRange(10, 75),
    help="Seconds in which the requests arrive.",
)
@click.option("--report", default=REPORT, show_default=True, metavar="FILE", help="File for the report on the run.")
def demo(as_json: bool, seconds: float, report: str) -> int:
    """Watch a run fall behind, and drover repair it, on a real web log.

    Requests of a NASA web server's log (1 August 1995) arrive at 400 per second. Two heavy functions make pseudonyms
    for clients and seals for requests. There are two nodes, and both functions start on one of them. The demo first
    measures your machine and makes the functions so heavy that one node is too slow and two are fast enough.

    The run falls behind. The control loop says why, moves one function to the other node, and the run catches up. At
    the end the demo compares a tenth of the results with those of plain Spark, and writes a report on the run as an
    HTML file. It takes about a minute.
    """
    if not as_json:
        print_tree(private_log(), schemas=False)
        click.echo()
    timings: dict[str, float] = {}
    with timed_step("starting Spark", timings, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - pyspark takes a second to import

        spark = session("drover demo", master=f"local[{NODES + 1}]")  # nodes and a reader
    try:
        demo_run = _run_once(spark, seconds, report, timings, as_json)
        if demo_run.was_too_light:
            click.echo(
                "Nothing had to move: this machine has become faster since it was measured. Once more:", err=True
            )
            demo_run = _run_once(spark, seconds, report, timings, as_json)
        with timed_step("running a tenth of the requests through plain Spark", timings, "oracle"):
            equal = agrees(demo_run)
    finally:
        spark.stop()
    found = summary(demo_run, timings, equal)
    click.echo(json.dumps(found, indent=2) if as_json else text(found))
    return 0 if equal else 1


def _run_once(
    spark: Any, seconds: float, report: str, timings: dict[str, float], as_json: bool
) -> DemoRun:  # Any: as in DemoRun
    """Measure the machine, run the network with as much work as fits, and write the report."""
    with timed_step("measuring this machine", timings, "measure"):
        workload = choose_workload(measure_speed(), RATE)
    with timed_step("reading the log", timings, "read"):
        rows = requests(spark, seconds, workload.rounds).cache()
        demo_run = DemoRun(rows, rows.count(), workload)
    with tempfile.TemporaryDirectory(prefix="drover-demo-", ignore_cleanup_errors=True) as folder:
        perform(demo_run, spark, folder, as_json)
        with timed_step("writing the report", timings, "report"):
            demo_run.report = written(folder, report)
    return demo_run


def perform(demo_run: DemoRun, spark: Any, folder: str, as_json: bool) -> None:  # Any: as in DemoRun
    """Run the network on the replayed log, show what happens, and keep the results."""
    from drover.placement.plan import Plan  # noqa: PLC0415 - as above
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.replay import replay  # noqa: PLC0415 - as above
    from drover.spark.run import run  # noqa: PLC0415 - as above
    from drover.spark.sinks import Memory, Tail  # noqa: PLC0415 - as above

    network = private_log()
    streams = {"requests": replay(spark, demo_run.rows, time=DUE, speed=1.0).drop(DUE)}
    kept = {stream: Memory() for stream in network.outputs}
    tail = Tail(SHOWN)
    figures = demo_run.figures = RunFigures(tuple(streams), network.outputs, time.monotonic())
    with catch_interrupts() as stopped, readable("demo"):
        handle = run(
            network,
            streams,
            {stream: [sink, *([tail] if stream == "pseudonyms" else [])] for stream, sink in kept.items()},
            checkpoint=folder,
            plan=Plan(1, NODES, START),
            trigger={"processingTime": f"{TRIGGER:g} seconds"},
            control=CONTROL,
            engine="resident",
        )
        with _display(demo_run, tail, as_json) as display:
            try:
                watch(handle, figures, display, lambda: stopped.is_set() or play_script(demo_run, handle, display))
                if stopped.is_set():
                    raise KeyboardInterrupt
            finally:
                handle.stop()
            play_script(demo_run, handle, display)  # the last decision comes after the last batch
    demo_run.results = {stream: sink.rows() for stream, sink in kept.items()}


def _display(demo_run: DemoRun, tail: Any, as_json: bool) -> Display:  # Any: a sink, whose module needs Spark
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        return LineView(quiet=as_json)

    def last() -> tuple[str, list[dict[str, Any]]]:
        return f"last of {tail.count:,} requests with pseudonyms", list(tail.last.iter_rows(named=True))

    title = f"private_log: {RATE} requests per second, two heavy functions"
    return TerminalView(console, title, last, lambda: demo_run.share)


def written(checkpoint: str, path: str) -> str:
    """Write the report on the run, and return its absolute path."""
    from drover.web.report import build_report, read_run, render_page  # noqa: PLC0415 - as above

    where = Path(path).absolute()
    where.parent.mkdir(parents=True, exist_ok=True)
    write_text(str(where), render_page(build_report(read_run(checkpoint))))
    return str(where)


def agrees(demo_run: DemoRun) -> bool:
    """Return whether every request came out once, and the checked ones as plain Spark computes them."""
    import polars as pl  # noqa: PLC0415 - as above

    from drover.spark.reference import reference  # noqa: PLC0415 - as above

    checked = demo_run.rows.where(f"unix_seconds(ts) % {PARTS} = 0").drop(DUE)
    wanted = reference(private_log(), {"requests": checked}).streams
    return all(demo_run.results[stream].height == demo_run.total for stream in ("pseudonyms", "seals")) and all(
        _part(rows).equals(_sorted(pl.DataFrame(wanted[stream].toArrow()).select(rows.columns)))
        for stream, rows in demo_run.results.items()
    )


def _part(rows: Any) -> Any:  # Any: Polars' frames, which take a while to import
    """Return the results of the requests that plain Spark computes, too, in order."""
    return _sorted(rows.filter(rows["ts"].dt.epoch("s") % PARTS == 0))


def _sorted(rows: Any) -> Any:  # Any: as above
    return rows.sort(rows.columns, nulls_last=True)


def summary(demo_run: DemoRun, timings: dict[str, float], equal: bool) -> dict[str, Any]:  # Any: JSON
    """Return the figures that sum the demo up."""
    figures = demo_run.figures
    before, after = demo_run.before, demo_run.after
    return {
        "rows": dict(figures.rows_in),
        "results": dict(figures.rows_out),
        "unused": figures.unused(),
        "batches": figures.batches,
        "seconds": timings | {"run": round(figures.now - figures.began, 1)},
        "trigger": TRIGGER,
        "rate": RATE,
        "workload": asdict(demo_run.workload),
        "said": demo_run.messages,
        "moved": demo_run.moved_by is not None,
        "before": before and asdict(before),
        "after": after and asdict(after),
        "equal": equal,
        "report": demo_run.report,
        "closing": closing_line(demo_run, RATE),
    }


def text(found: dict[str, Any]) -> str:  # Any: JSON
    """Return the summary for people."""
    agreed = "the same results" if found["equal"] else "OTHER RESULTS"
    lines = [
        f"{sum(found['rows'].values()):,} requests in {found['seconds']['run']:.0f} s and {found['batches']} batches:",
        *(f"  {sentence}" for sentence in found["said"]),
        *(f"warning: {visible(sentence)}" for sentence in found["unused"]),
        f"check: plain Spark on a tenth of the requests gives {agreed}.",
        f"report: {visible(found['report'], len(found['report']))}",
        found["closing"],
    ]
    return "\n".join(lines)
