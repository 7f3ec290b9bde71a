"""`drover demo`: the traffic example on its real log."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

from drover.cli.show import print_tree
from drover.errors import DroverError

CLONE: Final = Path(__file__).resolve().parents[3]
SHOWN: Final = 10  # rows of the result


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for programs.")
def demo(as_json: bool) -> None:
    """Run the traffic example on a real web log, to find clients that sent many small requests.

    The log is that of a NASA web server on 1 August 1995, 30,969 requests. The network runs as plain Spark batch jobs.
    Takes about half a minute, most of it for Spark to start.
    """
    example = _example("traffic")
    network = example.build()
    if not as_json:
        print_tree(network, schemas=False)
    seconds: dict[str, float] = {}
    with _step("starting Spark", seconds, "start"):
        from drover.spark.session import session  # noqa: PLC0415 - a second that other commands need not wait

        spark = session("drover demo")
    try:
        with _step("running the network on the log", seconds, "run"):
            from drover.spark.reference import reference  # noqa: PLC0415 - as above

            inputs = example.inputs(spark)
            counts = {name: frame.count() for name, frame in inputs.items()}
            rows = reference(network, inputs, watermark="end").streams["suspects"].toArrow().to_pylist()
    finally:
        spark.stop()
    rows.sort(key=lambda row: (-row["requests"], row["window_start"], row["client"]))
    if as_json:
        result = [{key: str(cell) if hasattr(cell, "tzinfo") else cell for key, cell in row.items()} for row in rows]
        click.echo(json.dumps({"rows": counts, "seconds": seconds, "suspects": result}, indent=2))
    else:
        _print(rows, sum(counts.values()), seconds)


def _example(name: str) -> Any:  # Any: a module found at run time
    """Return the module of an example; it is part of a clone, not of the installed package."""
    if not (CLONE / "examples" / f"{name}.py").is_file():
        raise DroverError(
            f"there is no examples folder in {CLONE}, but the demo runs on its data. Run it in a clone: make demo."
        )
    sys.path.insert(0, str(CLONE))
    return importlib.import_module(f"examples.{name}")


@contextmanager
def _step(what: str, seconds: dict[str, float], key: str) -> Iterator[None]:
    """Show on standard error that something is going on, and note how long it took."""
    started = time.monotonic()
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(f"{what} ..."):
            yield
    else:
        click.echo(f"{what} ...", err=True)
        yield
    seconds[key] = round(time.monotonic() - started, 1)


def _print(rows: list[dict[str, Any]], count: int, seconds: dict[str, float]) -> None:
    table = Table("minute", "client", "requests", "mean bytes", title=f"the {SHOWN} busiest of {len(rows)} suspects")
    for row in rows[:SHOWN]:
        minute = f"{row['window_start']:%Y-%m-%d %H:%M}"
        table.add_row(minute, row["client"], str(row["requests"]), f"{row['mean_bytes']:,.0f}")
    Console(width=None if sys.stdout.isatty() else 100).print(table)
    click.echo(f"{count:,} requests; Spark started in {seconds['start']} s and ran the network in {seconds['run']} s.")
