"""The process that Spark forks its Python workers from: Spark's own, but silent when the session ends.

A worker that waits for work when Java closes its socket answers into that socket, which fails at once with the sockets
of Unix, and Spark's daemon prints the traceback on the terminal of whoever has just stopped the session.

Rule 1: nothing is imported here that starts threads: a fork would copy them half.
"""

from __future__ import annotations

from collections.abc import Callable
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


if __name__ == "__main__":
    daemon.worker = quiet(daemon.worker)  # `manager` looks it up by its name
    daemon.manager()
