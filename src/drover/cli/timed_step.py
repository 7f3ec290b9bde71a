"""Steps of a command that take a while: announced on standard error, and timed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console


@contextmanager
def timed_step(what: str, seconds: dict[str, float], key: str) -> Iterator[None]:
    """Announce a step on standard error, and store under `key` how many seconds it took."""
    started = time.monotonic()
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(f"{what} ..."):
            yield
    else:
        click.echo(f"{what} ...", err=True)
        yield
    seconds[key] = round(time.monotonic() - started, 1)
