"""Progress in rows, on standard error: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

EVERY: Final = 5.0  # seconds between lines


@contextmanager
def show_row_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many rows are done, of how many."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield advance


def _lines(what: str) -> Callable[[int, int], None]:
    last = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= EVERY:
            last = now
            click.echo(f"{what}: {done} of {total} rows", err=True)

    return advance
