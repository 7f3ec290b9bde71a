"""The watch over a batch: if something in it runs for long, the log says what.

Rule 1: the watch only reads. It ends nothing, because a long call may be right.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from drover.flow.breadcrumbs import Breadcrumb, read_breadcrumbs, sweep_breadcrumbs

LONG: Final = 10.0  # seconds that one operator or family takes in one batch
log = logging.getLogger(__name__)


def long_running(root: str, now: float, batch: int | None = None) -> list[tuple[Breadcrumb, float]]:
    """Return what has been running for long, with its seconds."""
    return [(one, now - one.since) for one in read_breadcrumbs(root, batch) if now - one.since >= LONG]


def describe_running(crumb: Breadcrumb, seconds: float) -> str:
    """Return in words what a node has been running, and for how long."""
    return f"node {crumb.node} has been running {describe_work(crumb)} for {seconds:.0f} s in batch {crumb.batch}"


def log_unfinished_work(root: str, batch: int) -> None:
    """Log what the last run was running when it ended in the middle of `batch`, and remove its breadcrumbs."""
    for crumb in read_breadcrumbs(root, batch):
        log.warning("the last run ended in batch %s while node %s ran %s", batch, crumb.node, describe_work(crumb))
    sweep_breadcrumbs(root, batch)


def describe_work(crumb: Breadcrumb) -> str:
    """Return in words what a node was running."""
    return f"the family of queries {crumb.name}" if crumb.kind == "family" else f"operator {crumb.name}"


@contextmanager
def watched(root: str, batch: int, clock: Callable[[], float] = time.time, every: float = LONG) -> Iterator[None]:
    """Log what runs for long, as long as the block takes."""
    ended = threading.Event()

    def watch() -> None:
        pause = every
        while not ended.wait(pause):
            for crumb, seconds in long_running(root, clock(), batch):
                log.warning("%s", describe_running(crumb, seconds))
            pause *= 2  # a call that never ends must not fill the log

    thread = threading.Thread(target=watch, name="drover watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
