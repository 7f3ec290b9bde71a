"""Displays of a running network: a picture that is updated in place on a terminal, a line per batch elsewhere.

Rule 1: displays write to standard error; standard output is for results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Protocol, Self

import click
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from drover.cli.run_figures import Entry, RunFigures, line_of
from drover.errors import visible

BAR: Final = 18  # characters
HOTTEST: Final = 6  # operators
SHOWN: Final = 3  # messages
COLOURS: Final = ((0.8, "red"), (0.5, "yellow"), (0.0, "green"))  # from this share of a node's capacity upwards

Rows = Sequence[Mapping[str, Any]]  # Any: cells
Last = Callable[[], tuple[str, Rows]]  # a title and the newest result rows
Share = Callable[[], float | None]  # completed share of the work, if known


class Display(Protocol):
    """Shows a run while it is running."""

    def show(self, figures: RunFigures, entries: Sequence[Entry]) -> None:
        """Show the figures after some new batches."""

    def add_message(self, figures: RunFigures, message: str) -> None:
        """Show a message."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LineView:
    """A line per batch on standard error, and with `as_json` an object per batch on standard output."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def show(self, figures: RunFigures, entries: Sequence[Entry]) -> None:  # noqa: ARG002 - Display's signature
        """Print the batches."""
        for entry in entries:
            if self.as_json:
                click.echo(json.dumps(entry))
                sys.stdout.flush()
            elif not self.quiet:
                click.echo(line_of(entry), err=True)

    def add_message(self, figures: RunFigures, message: str) -> None:
        """Print the message."""
        figures.messages.append(message)
        click.echo(visible(message), err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class TerminalView:
    """A picture on a terminal, updated in place."""

    def __init__(self, console: Console, title: str, last: Last, share: Share = lambda: None) -> None:
        self.title = title
        self.last = last
        self.share = share
        waiting = Text("waiting for the first batch: Spark's workers are starting ...", style="dim")
        self.live = Live(waiting, console=console, refresh_per_second=4, screen=True)

    def show(self, figures: RunFigures, entries: Sequence[Entry]) -> None:  # noqa: ARG002 - Display's signature
        """Draw the figures."""
        if figures.batches:
            self.live.update(picture(figures, self.title, self.last(), self.share()))

    def add_message(self, figures: RunFigures, message: str) -> None:
        """Show the message below the figures."""
        figures.messages.append(message)
        self.show(figures, ())

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.__exit__(kind, error, trace)


def picture(figures: RunFigures, title: str, last: tuple[str, Rows], share: float | None) -> RenderableType:
    """Return the figures as something that rich can draw."""
    two = Table.grid(expand=True, padding=(0, 2))
    two.add_column(ratio=4)
    two.add_column(ratio=7)
    two.add_row(_sources(figures), _nodes(figures))
    messages = [Text.assemble(("> ", "bold cyan"), (visible(text), "")) for text in figures.messages[-SHOWN:]]
    return Group(
        Panel(
            Group(_head(figures, share), *_health(figures), *_unused(figures), Text(), two),
            title=visible(title),
            title_align="left",
            border_style="dim",
        ),
        _hottest(figures),
        Text(),
        _rows(*last),
        Text(),
        *messages,
    )


def _head(figures: RunFigures, share: float | None) -> RenderableType:
    entry = figures.last
    text = Text.assemble(
        ("batch ", "dim"),
        f"{entry['batch']:,}",
        ("   plan ", "dim"),
        str(entry["plan"]),
        ("   nodes ", "dim"),
        str(entry["nodes"]),
        ("   hops ", "dim"),
        str(entry["hops"]),
        ("   engine ", "dim"),
        str(entry.get("engine", "-")),
        ("   per batch ", "dim"),
        f"{figures.per_batch:.2f} s",
        ("   running ", "dim"),
        f"{figures.now - figures.began:.0f} s",
    )
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column()
    grid.add_column(ratio=1)
    grid.add_column(justify="right", width=4)
    reached = f"{time:%Y-%m-%d %H:%M}" if (time := figures.event_time) else "-"
    bar = "" if share is None else ProgressBar(total=1.0, completed=min(share, 1.0))
    grid.add_row(Text.assemble(("event time ", "dim"), reached), bar, "" if share is None else f"{share:.0%}")
    return Group(text, grid)


def _health(figures: RunFigures) -> list[Text]:
    """Return whether the run keeps up, on one line."""
    style = "green" if figures.health.startswith("keeping up") else "bold red"
    line = Text(visible(figures.health), style=style, no_wrap=True, overflow="ellipsis")
    return [line] if figures.health else []


def _unused(figures: RunFigures) -> list[Text]:
    """Return the rows that were not used, on one line, so that they are seen."""
    said = "; ".join(figures.unused())
    return [Text(visible(said), style="yellow", no_wrap=True, overflow="ellipsis")] if said else []


def _table(*columns: str) -> Table:
    """Return a table without borders; columns that begin with > are aligned to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left", no_wrap=True)
    return table


def _sources(figures: RunFigures) -> Table:
    table = _table("source", ">rows/s", ">rows")
    for source in figures.sources:
        table.add_row(visible(source), f"{figures.rate(source):,.0f}", f"{figures.rows_in[source]:,}")
    return table


def _nodes(figures: RunFigures) -> Table:
    table = _table(">node", "load", ">", "runs")
    loads = figures.shares()
    operators = figures.operators_by_node()
    most = max(loads, default=0.0) or 1.0
    for node, load in enumerate(loads):
        colour = next(colour for least, colour in COLOURS if load >= least)
        full = round(BAR * load / most)
        bar = Text("█" * full, style=colour).append("░" * (BAR - full), style="bright_black")
        names = Text(visible(", ".join(operators.get(node, [])) or "-"), overflow="ellipsis")
        table.add_row(str(node), bar, f"{load:.1%}", names)
    return table


def _hottest(figures: RunFigures) -> Table:
    table = _table("operators, hottest first", ">node", ">rows/s", ">busy ms/s", ">state kB")
    for hot in figures.hottest()[:HOTTEST]:
        table.add_row(
            visible(hot.operator),
            str(hot.node),
            f"{hot.rows:,.0f}",
            f"{1000 * hot.busy:.1f}",
            f"{hot.state_bytes / 1000:,.1f}",
        )
    return table


def _rows(title: str, rows: Rows) -> RenderableType:
    if not rows:
        return Text(f"{visible(title)}: none yet", style="dim")
    table = _table(*(f"{'>' if isinstance(cell, int | float) else ''}{name}" for name, cell in rows[0].items()))
    for row in rows:
        table.add_row(*(cell_text(cell) for cell in row.values()))
    return Group(Text(visible(title), style="bold"), table)


def cell_text(cell: object) -> str:
    """Return a cell as text for people."""
    match cell:
        case float():
            return f"{cell:,.1f}"
        case bool() | None:
            return str(cell)
        case int():
            return f"{cell:,}"
        case _:
            return visible(str(cell).removesuffix("+00:00"), 40)
