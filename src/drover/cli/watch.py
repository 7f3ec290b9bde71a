"""Watching a running network: from its handle to a board and a display."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from drover.cli.board import Board, Entry
from drover.cli.live import Display

if TYPE_CHECKING:
    from drover.spark.handle import Handle

EVERY: Final = 0.1  # seconds between looks


def look(handle: Handle, board: Board, display: Display) -> None:
    """Take the batches that have ended since the last look, and show them."""
    entries: Sequence[Entry] = [
        entry for entry in handle.recentProgress if entry["batch"] > board.last.get("batch", -1)
    ]
    board.take(entries, time.monotonic())
    display.show(board, entries)


def watch(handle: Handle, board: Board, display: Display, enough: Callable[[], bool]) -> None:
    """Look again and again, until there is enough or the run has ended; if by an error, raise it."""
    while True:
        active = handle.isActive
        look(handle, board, display)
        if enough():
            return
        if not active:
            handle.awaitTermination()
            look(handle, board, display)
            return
        time.sleep(EVERY)
