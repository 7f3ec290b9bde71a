"""The process that Spark forks its Python workers from: Spark's own, but silent when the session ends.

A worker that waits for work when Java closes its socket answers into that socket, which fails at once with the sockets
of Unix, and Spark's daemon prints the traceback on the terminal of whoever has just stopped the session.

Spark's planners of Python sources fork from a daemon of their own, which no setting changes. But they import what
belongs to drover: the package `pyspark_drover` when they look for sources, `replay` when they use one: both `hush`.

Rule 1: nothing is imported here that starts threads: a fork would copy them half.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final

from pyspark import daemon

GONE: Final = 1  # the exit code of a worker whose Java has gone

Worker = Callable[..., int]


def quiet(worker: Worker) -> Worker:
    """Return Spark's worker function, ended without a word if nobody listens any more."""

    def run(*args: object) -> int:
        try:
            return worker(*args)
        except BrokenPipeError:
            return GONE

    return run


def hush(main: ModuleType) -> None:
    """Make the worker that this process is quiet, if `main` is Spark's own daemon: it looks its function up anew."""
    if getattr(main.__spec__, "name", "") == daemon.__name__ and main.worker.__module__ == main.__name__:
        main.worker = quiet(main.worker)  # type: ignore[attr-defined]  # a module at run time


if __name__ == "__main__":
    daemon.worker = quiet(daemon.worker)  # `manager` looks it up by its name
    daemon.manager()
