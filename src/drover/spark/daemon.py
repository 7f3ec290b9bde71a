"""The process that Spark forks its Python workers from: Spark's own daemon, but silent when the session ends.

When the session stops, Java closes the socket of every waiting worker. The worker then writes into the closed socket.
With Unix sockets this fails at once, and Spark's daemon prints a traceback on the user's terminal.

Spark plans Python sources in processes of another daemon, which no setting replaces. These processes import modules of
drover: the package `pyspark_drover` when they look for sources, and `replay` when they use one. Both call
`silence_broken_pipe`.

Rule 1: import nothing here that starts threads: a fork would copy them in the middle of their work.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final

from pyspark import daemon

GONE: Final = 1  # the exit code of a worker whose Java process has ended

Worker = Callable[..., int]


def quiet(worker: Worker) -> Worker:
    """Return Spark's worker function, which then ends silently if its socket is closed."""

    def run(*args: object) -> int:
        try:
            return worker(*args)
        except BrokenPipeError:
            return GONE

    return run


def silence_broken_pipe(main: ModuleType) -> None:
    """Silence the workers of this process if `main` is Spark's own daemon: it looks its function up at each fork."""
    if getattr(main.__spec__, "name", "") == daemon.__name__ and main.worker.__module__ == main.__name__:
        main.worker = quiet(main.worker)  # type: ignore[attr-defined]  # a module at run time


if __name__ == "__main__":
    daemon.worker = quiet(daemon.worker)  # `manager` looks it up by its name
    daemon.manager()
