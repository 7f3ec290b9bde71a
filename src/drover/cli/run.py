"""`drover run`: a network on Spark, until somebody stops it or its sources are drained."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

import click
from rich.console import Console

from drover import runs
from drover.cli.board import Board
from drover.cli.interrupts import interrupts
from drover.cli.live import Display, Lines, Picture
from drover.cli.steps import step
from drover.cli.watch import look, watch
from drover.control.settings import Mode
from drover.load.files import dumps
from drover.network.files.disk import write_text
from drover.runs.model import PLANS, Run

SHOWN: Final = 6  # results


@click.command()
@click.argument("file")
@click.option("--nodes", type=click.IntRange(1), help="Begin with so many nodes.")
@click.option("--checkpoint", metavar="DIR", help="Keep progress and state in DIR.")
@click.option("--plan", type=click.Choice(PLANS), help="Place operators this way to begin with.")
@click.option("--control", type=click.Choice(list(Mode)), help="Watch load, propose moves, or make them.")
@click.option("--once", is_flag=True, help="End when all rows there are now are through.")
@click.option("--for", "limit", metavar="SECONDS", type=click.FloatRange(0, min_open=True), help="End after SECONDS.")
@click.option("--master", default="local[*]", show_default=True, help="The Spark to run on.")
@click.option(
    "--statistics", metavar="FILE", help="At the end, write what was measured, for `drover plan` and `drover headroom`."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per batch, for programs.")
def run(
    file: str, nodes: int | None, checkpoint: str | None, plan: str | None, control: str | None,
    once: bool, limit: float | None, master: str, statistics: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run the network of a run file until Ctrl-C.

    FILE is a run file: it names the network, where rows come from, where they go, and the checkpoint. A run that was
    stopped, or killed, goes on where it was when it is started again on its checkpoint; --nodes and --plan hold for
    a new checkpoint. Progress is shown on standard error.

    \b
      drover check examples/traffic.run.yaml
      drover run examples/traffic.run.yaml
    """  # noqa: D301 - click wants the character itself
    given = runs.load(file)
    given = replace(
        given, nodes=nodes or given.nodes, plan=plan or given.plan, checkpoint=checkpoint or given.checkpoint,
        control=given.control if control is None else replace(given.control, mode=Mode(control)),
    )  # fmt: skip
    with step("starting Spark", {}, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - a second that other commands need not wait

        spark = session(f"drover run {given.network.name}", master)
    try:
        board = _follow(given, spark, once, limit, statistics, as_json)
    finally:
        spark.stop()
    click.echo(farewell(board, file, once), err=True)
    return 0


def _follow(
    given: Run, spark: Any, once: bool, limit: float | None, statistics: str | None, as_json: bool
) -> Board:  # Any: a Spark session
    """Run and show it, until it ends or somebody ends it; then write what was measured."""
    from drover.spark.bind import start  # noqa: PLC0415 - as above
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.meter import Meter  # noqa: PLC0415 - as above
    from drover.spark.sinks import Tail  # noqa: PLC0415 - as above

    network = given.network
    tails = {stream: Tail(SHOWN) for stream in network.outputs}
    board = Board(tuple(source.name for source in network.sources), network.outputs, time.monotonic())
    with interrupts() as stopped, readable(f"network {network.name!r}"):
        handle = start(spark, given, once=once, besides={stream: [tail] for stream, tail in tails.items()})
        meter = Meter(network)
        handle.listen(meter)
        end = board.began + limit if limit is not None else float("inf")
        with _display(network.name, tails, as_json) as display:
            try:
                watch(handle, board, display, lambda: stopped.is_set() or time.monotonic() > end)
            finally:
                handle.stop()
            look(handle, board, display)
    if statistics is not None:
        write_text(statistics, dumps(meter.statistics(), network))
    return board


def _display(name: str, tails: dict[str, Any], as_json: bool) -> Display:  # Any: sinks, whose module needs Spark
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        return Lines(as_json=as_json)

    def last() -> tuple[str, list[dict[str, Any]]]:
        stream, tail = max(tails.items(), key=lambda item: item[1].batch)
        return f"last of {tail.count:,} {stream}", list(tail.last.iter_rows(named=True))

    return Picture(console, f"{name}: Ctrl-C stops it; nothing is lost", last)


def farewell(board: Board, file: str, once: bool) -> str:
    """Return what there is to say at the end."""
    took = ", ".join(f"{count:,} from {source}" for source, count in board.rows_in.items()) or "none"
    gave = ", ".join(f"{count:,} {stream}" for stream, count in board.rows_out.items()) or "none"
    last = f", the last one {board.last['batch']}" if board.batches else ""
    end = "all rows are through" if once else f"go on with: drover run {file}"
    return (
        f"{board.batches:,} batches of {board.per_batch:.2f} s{last}; rows in: {took}; rows out: {gave}; "
        f"{board.now - board.began:.0f} s. Everything up to there is committed; {end}"
    )
