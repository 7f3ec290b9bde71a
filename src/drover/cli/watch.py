"""Watch a running network: from its handle to figures and a display."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from drover.cli.live import Display
from drover.cli.run_figures import Entry, RunFigures

if TYPE_CHECKING:
    from drover.spark.handle import Handle

EVERY: Final = 0.1  # seconds between polls


def poll(handle: Handle, figures: RunFigures, display: Display) -> None:
    """Add the batches that ended since the last poll, and show them."""
    entries: Sequence[Entry] = [entry for entry in handle.batches if entry["batch"] > figures.last.get("batch", -1)]
    figures.add(entries, time.monotonic())
    if entries:
        figures.health, figures.capacity = handle.health, handle.capacity
    display.show(figures, entries)


def watch(handle: Handle, figures: RunFigures, display: Display, enough: Callable[[], bool]) -> None:
    """Poll until `enough` returns True or the run ends; raise the error if one ended it."""
    while True:
        active = handle.isActive
        poll(handle, figures, display)
        if enough():
            return
        if not active:
            handle.awaitTermination()
            poll(handle, figures, display)
            return
        time.sleep(EVERY)
