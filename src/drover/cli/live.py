"""How a board looks: a picture that changes in place on a terminal, a line per batch elsewhere.

Rule 1: all of it goes to standard error; standard output is for results.
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

from drover.cli.board import Board, Entry, line_of
from drover.errors import visible

BAR: Final = 18  # characters
HOTTEST: Final = 6  # operators
SHOWN: Final = 3  # sentences
COLOURS: Final = ((0.8, "red"), (0.5, "yellow"), (0.0, "green"))  # from this share of a core on

Rows = Sequence[Mapping[str, Any]]  # Any: cells
Last = Callable[[], tuple[str, Rows]]  # a title, and the last rows of the results
Share = Callable[[], float | None]  # of the work done, where that is known


class Display(Protocol):
    """Shows a run while it goes on."""

    def show(self, board: Board, entries: Sequence[Entry]) -> None:
        """Show the board after some new batches."""

    def say(self, board: Board, sentence: str) -> None:
        """Tell that something was done."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Lines:
    """A line per batch on standard error, and with `as_json` an object per batch on standard output."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet

    def show(self, board: Board, entries: Sequence[Entry]) -> None:  # noqa: ARG002 - Display's signature
        """Print the batches."""
        for entry in entries:
            if self.as_json:
                click.echo(json.dumps(entry))
                sys.stdout.flush()
            elif not self.quiet:
                click.echo(line_of(entry), err=True)

    def say(self, board: Board, sentence: str) -> None:
        """Print the sentence."""
        board.messages.append(sentence)
        click.echo(visible(sentence), err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Picture:
    """A picture in place, on a terminal."""

    def __init__(self, console: Console, title: str, last: Last, share: Share = lambda: None) -> None:
        self.title = title
        self.last = last
        self.share = share
        waiting = Text("waiting for the first batch: Spark's workers are starting ...", style="dim")
        self.live = Live(waiting, console=console, refresh_per_second=4, screen=True)

    def show(self, board: Board, entries: Sequence[Entry]) -> None:  # noqa: ARG002 - Display's signature
        """Draw the board."""
        if board.batches:
            self.live.update(picture(board, self.title, self.last(), self.share()))

    def say(self, board: Board, sentence: str) -> None:
        """Write the sentence below the board."""
        board.messages.append(sentence)
        self.show(board, ())

    def __enter__(self) -> Self:
        self.live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.__exit__(kind, error, trace)


def picture(board: Board, title: str, last: tuple[str, Rows], share: float | None) -> RenderableType:
    """Return the board as something that rich can draw."""
    two = Table.grid(expand=True, padding=(0, 2))
    two.add_column(ratio=4)
    two.add_column(ratio=7)
    two.add_row(_sources(board), _nodes(board))
    said = [Text.assemble(("> ", "bold cyan"), (visible(text), "")) for text in board.messages[-SHOWN:]]
    return Group(
        Panel(Group(_head(board, share), Text(), two), title=visible(title), title_align="left", border_style="dim"),
        _hottest(board),
        Text(),
        _rows(*last),
        Text(),
        *said,
    )


def _head(board: Board, share: float | None) -> RenderableType:
    entry = board.last
    text = Text.assemble(
        ("batch ", "dim"), f"{entry['batch']:,}", ("   plan ", "dim"), str(entry["plan"]),
        ("   nodes ", "dim"), str(entry["nodes"]), ("   hops ", "dim"), str(entry["hops"]),
        ("   per batch ", "dim"), f"{board.per_batch:.2f} s",
        ("   running ", "dim"), f"{board.now - board.began:.0f} s",
    )  # fmt: skip
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column()
    grid.add_column(ratio=1)
    grid.add_column(justify="right", width=4)
    reached = f"{told:%Y-%m-%d %H:%M}" if (told := board.event_time) else "-"
    bar = "" if share is None else ProgressBar(total=1.0, completed=min(share, 1.0))
    grid.add_row(Text.assemble(("event time ", "dim"), reached), bar, "" if share is None else f"{share:.0%}")
    return Group(text, grid)


def _table(*columns: str) -> Table:
    """Return a table without lines; columns that begin with > hold figures."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left", no_wrap=True)
    return table


def _sources(board: Board) -> Table:
    table = _table("source", ">rows/s", ">rows")
    for source in board.sources:
        table.add_row(visible(source), f"{board.rate(source):,.0f}", f"{board.rows_in[source]:,}")
    return table


def _nodes(board: Board) -> Table:
    table = _table(">node", "load", ">", "runs")
    loads, homes = board.loads(), board.homes()
    most = max(loads, default=0.0) or 1.0
    for node, load in enumerate(loads):
        colour = next(colour for least, colour in COLOURS if load >= least)
        full = round(BAR * load / most)
        bar = Text("█" * full, style=colour).append("░" * (BAR - full), style="bright_black")
        names = Text(visible(", ".join(homes.get(node, [])) or "-"), overflow="ellipsis")
        table.add_row(str(node), bar, f"{load:.1%}", names)
    return table


def _hottest(board: Board) -> Table:
    table = _table("operators, hottest first", ">node", ">rows/s", ">busy ms/s", ">state kB")
    for hot in board.hottest()[:HOTTEST]:
        table.add_row(
            visible(hot.operator), str(hot.node), f"{hot.rows:,.0f}", f"{1000 * hot.busy:.1f}",
            f"{hot.state_bytes / 1000:,.1f}",
        )  # fmt: skip
    return table


def _rows(title: str, rows: Rows) -> RenderableType:
    if not rows:
        return Text(f"{visible(title)}: none yet", style="dim")
    table = _table(*(f"{'>' if isinstance(cell, int | float) else ''}{name}" for name, cell in rows[0].items()))
    for row in rows:
        table.add_row(*(cell_text(cell) for cell in row.values()))
    return Group(Text(visible(title), style="bold"), table)


def cell_text(cell: object) -> str:
    """Return a cell as people read it."""
    match cell:
        case float():
            return f"{cell:,.1f}"
        case bool() | None:
            return str(cell)
        case int():
            return f"{cell:,}"
        case _:
            return visible(str(cell).removesuffix("+00:00"), 40)
