"""`drover run`: run a network on Spark until you stop it or its sources end."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import click
from rich.console import Console

from drover import runs
from drover.cli.interrupts import catch_interrupts
from drover.cli.live import Display, LineView, TerminalView
from drover.cli.node_count import NodeCount
from drover.cli.run_figures import RunFigures
from drover.cli.timed_step import timed_step
from drover.cli.watch import poll, watch
from drover.control.engine_choice import EngineChoice
from drover.control.settings import Mode
from drover.errors import visible
from drover.flow.parking import ParkedOperator, describe_parked
from drover.load.files import dumps
from drover.network.files.disk import write_text
from drover.placement.starting_plans import STARTING_PLANS
from drover.runs.model import Run, StartOptions

SHOWN: Final = 6  # results
EVERYTHING: Final = "*"  # the value of --allow-changes without names; no part of a network has this name
PARKED: Final = 3  # exit code


@click.command()
@click.argument("file")
@click.option("--nodes", type=NodeCount(), help="Number of nodes to start with, or auto: as many as Spark has slots.")
@click.option("--checkpoint", metavar="DIR", help="Checkpoint directory, for progress and state.")
@click.option("--plan", type=click.Choice(list(STARTING_PLANS)), help="Placement of operators to start with.")
@click.option(
    "--control",
    type=click.Choice([mode.value for mode in Mode]),  # click takes the name of a member for its choice, not its value
    help="What the control loop does: only report, propose moves, or make them.",
)
@click.option(
    "--engine",
    type=click.Choice([engine.value for engine in EngineChoice]),
    help="What computes batches: Spark jobs with a shuffle per hop, resident nodes, or whichever fits.",
)
@click.option("--once", is_flag=True, help="End when all rows that are available now are processed.")
@click.option("--for", "limit", metavar="SECONDS", type=click.FloatRange(0, min_open=True), help="End after SECONDS.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master to run on.")
@click.option(
    "--statistics",
    metavar="FILE",
    help="At the end, write measured rates and costs to FILE, for `drover plan` and `drover headroom`.",
)
@click.option(
    "--allow-changes",
    metavar="[NAME,...]",
    multiple=True,
    is_flag=False,
    flag_value=EVERYTHING,
    help="Let a changed network drop or mix the state of these operators and tables; without names, of all.",
)
@click.option("--resume", "resumed", metavar="NAME", multiple=True, help="Run a parked operator again; repeatable.")
@click.option(
    "--without",
    metavar="NAME",
    multiple=True,
    help="Park an operator before the first batch, as a last resort; repeatable.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Delete the files of other runs in the folders of sinks. Only files that drover wrote are deleted.",
)
@click.option("--adopt", is_flag=True, help="Add rows to those of other runs in the folders of sinks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per batch, for programs.")
def run(
    file: str,
    nodes: int | str | None,
    checkpoint: str | None,
    plan: str | None,
    control: str | None,
    engine: str | None,
    once: bool,
    limit: float | None,
    master: str,
    statistics: str | None,
    allow_changes: tuple[str, ...],
    resumed: tuple[str, ...],
    without: tuple[str, ...],
    overwrite: bool,
    adopt: bool,
    as_json: bool,
) -> int:
    """Run the network of a run file until Ctrl-C.

    FILE is a run file: it names the network, its sources, its sinks and the checkpoint. A run that was stopped or
    killed continues when you start it again on its checkpoint. --nodes and --plan apply to a new checkpoint only.
    drover shows progress on standard error.

    If the network has changed since, the run continues unless state would be lost. In that case, drover refuses before
    Spark starts and lists the changes; --allow-changes accepts them. See `drover check --against`.

    drover parks an operator that fails, and the operator holds its input, unless the run file says otherwise
    (on_failure). With --once, the exit code is 3 if operators are parked at the end.

    \b
      drover check examples/traffic.run.yaml
      drover run examples/traffic.run.yaml
    """  # noqa: D301 - click wants the character itself
    options = StartOptions(resumed, without, _allowed(allow_changes), _existing(overwrite, adopt))
    given = _with_options(runs.load(file), nodes, checkpoint, plan, control, engine)
    if given.checkpoint is not None:
        from drover.spark.changes import check_start  # noqa: PLC0415 - it reads checkpoints; other commands do not

        check_start(given.checkpoint, given.network, options.allow_changes, _command(file, checkpoint, once))
    with timed_step("starting Spark", {}, "start"):
        from drover.spark.session import session, stop  # noqa: PLC0415 - pyspark takes a second to import

        spark = session(f"drover run {given.network.name}", master)
    try:
        figures, parked = _follow(given, spark, options, once, limit, as_json, statistics)
    finally:
        stop(spark)
    click.echo(closing_line(figures, file, once), err=True)
    for line in (*unused_lines(figures, given), *_parked_lines(parked, given)):
        click.echo(visible(line), err=True)
    return PARKED if once and parked else 0


def _with_options(
    given: Run,
    nodes: int | str | None,
    checkpoint: str | None,
    plan: str | None,
    control: str | None,
    engine: str | None,
) -> Run:
    return replace(
        given,
        nodes=nodes or given.nodes,
        plan=plan or given.plan,
        checkpoint=checkpoint or given.checkpoint,
        engine=engine or given.engine,
        control=given.control if control is None else replace(given.control, mode=Mode(control)),
    )


def _parked_lines(parked: Mapping[str, ParkedOperator], given: Run) -> Iterator[str]:
    for name, one in parked.items():
        way_out = f"drover resume {name} --from {given.checkpoint}"
        yield f"{describe_parked(name, one)} To run it again: {way_out}"


def _existing(overwrite: bool, adopt: bool) -> str:
    if overwrite and adopt:
        raise click.UsageError("--overwrite deletes rows of other runs and --adopt keeps them: give one of the two")
    return "overwrite" if overwrite else "adopt" if adopt else "refuse"


def _allowed(given: tuple[str, ...]) -> bool | list[str]:
    """Return the names in the values of --allow-changes, or True if it was given without a name."""
    return True if EVERYTHING in given else [name for value in given for name in value.split(",")]


def _command(file: str, checkpoint: str | None, once: bool) -> str:
    """Return the command that was given, as far as it says what to run."""
    words = [
        "drover",
        "run",
        file,
        *(["--checkpoint", checkpoint] if checkpoint else []),
        *(["--once"] if once else []),
    ]
    return shlex.join(words)


def _follow(
    given: Run,
    spark: Any,  # Any: a Spark session
    options: StartOptions,
    once: bool,
    limit: float | None,
    as_json: bool,
    statistics: str | None,
) -> tuple[RunFigures, Mapping[str, ParkedOperator]]:
    """Run the network and show its progress until it ends; then write the statistics, if a file is given.

    Return the figures of the run, and the operators that are parked at its end.
    """
    from drover.spark.bind import start  # noqa: PLC0415 - as above
    from drover.spark.failures import readable  # noqa: PLC0415 - as above
    from drover.spark.meter import Meter  # noqa: PLC0415 - as above
    from drover.spark.sinks import Tail  # noqa: PLC0415 - as above

    network = given.network
    tails = {stream: Tail(SHOWN) for stream in network.outputs}
    figures = RunFigures(tuple(source.name for source in network.sources), network.outputs, time.monotonic())
    with catch_interrupts() as stopped, readable(f"network {network.name!r}"):
        besides = {stream: [tail] for stream, tail in tails.items()}
        handle = start(spark, given, once=once, besides=besides, options=options)
        meter = Meter(network)
        handle.on_batch(meter)
        end = figures.began + limit if limit is not None else float("inf")
        with _display(network.name, tails, as_json) as display:
            if handle.engine is not None and (handle.engine.why or handle.engine.encrypted_by):
                display.add_message(figures, str(handle.engine))
            try:
                watch(handle, figures, display, lambda: stopped.is_set() or time.monotonic() > end)
            finally:
                handle.stop()
            poll(handle, figures, display)
    if statistics is not None:
        write_text(statistics, dumps(meter.statistics(), network))
    return figures, handle.held


def _display(name: str, tails: dict[str, Any], as_json: bool) -> Display:  # Any: sinks, whose module needs Spark
    console = Console(stderr=True)
    if as_json or not console.is_terminal:
        return LineView(as_json=as_json)

    def last() -> tuple[str, list[dict[str, Any]]]:
        stream, tail = max(tails.items(), key=lambda item: item[1].batch)
        return f"last of {tail.count:,} {stream}", list(tail.last.iter_rows(named=True))

    return TerminalView(console, f"{name}: press Ctrl-C to stop; nothing is lost", last)


def closing_line(figures: RunFigures, file: str, once: bool) -> str:
    """Return the line that sums a run up."""
    took = ", ".join(f"{count:,} from {source}" for source, count in figures.rows_in.items()) or "none"
    gave = ", ".join(f"{count:,} {stream}" for stream, count in figures.rows_out.items()) or "none"
    last = f", the last one {figures.last['batch']}" if figures.batches else ""
    end = "all rows are processed" if once else f"to continue: drover run {file}"
    return (
        f"{figures.batches:,} batches of {figures.per_batch:.2f} s{last}; rows in: {took}; rows out: {gave}; "
        f"{figures.now - figures.began:.0f} s. Everything up to here is committed; {end}"
    )


def unused_lines(figures: RunFigures, given: Run) -> Iterator[str]:
    """Yield what became of rows that were not used, and where they are."""
    yield from (f"warning: {sentence}" for sentence in figures.unused())
    if figures.dead and not given.dead_letters:
        yield f"rows that did not fit are in the checkpoint: drover dead-letters {given.checkpoint}"
    if figures.late and not given.late:
        yield "late rows are only counted; to keep them, name a sink in the run file: late: {write: json, path: ...}"
