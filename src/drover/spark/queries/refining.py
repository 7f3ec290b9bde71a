"""Refinement: now and then a few queries move of themselves, so that rows travel to fewer nodes.

Rule 1: the herd looks for moves in a thread of its own; a batch only takes over what was found.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from drover.control.allowance import Allowance
from drover.spark.queries.clerk import Clerk
from drover.spark.queries.standing import WINDOW

EVERY: Final = WINDOW  # batches from one look to the next
log = logging.getLogger(__name__)


class Refiner:
    """Lets queries move within an allowance."""

    def __init__(self, clerk: Clerk, share: float = 0.0) -> None:
        self._clerk, self._allowance = clerk, Allowance(share)
        self._thread: threading.Thread | None = None
        self._moved = 0  # by the thread, when it has ended

    def look(self, batch: int, seconds: float) -> None:
        """Take note of a batch, `seconds` after the one before it; every so many, look for moves."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread, self._allowance = None, self._allowance.without(self._moved)
        self._allowance = self._allowance.after(seconds, len(self._clerk.names.by_name))
        most = int(self._allowance.saved)
        if batch % EVERY == 0 and most >= 1 and self._thread is None:
            self._thread = threading.Thread(target=self._work, args=(most,), name="drover refinement", daemon=True)
            self._thread.start()

    def join(self) -> None:
        """Wait until nobody looks for moves."""
        if self._thread is not None:
            self._thread.join()

    def _work(self, most: int) -> None:
        self._moved = 0
        try:
            self._moved = self._clerk.refine(most)
        except Exception:  # who looks for better places must not stop what runs
            log.exception("no better places for queries could be looked for")
        if self._moved:
            log.info("%s queries move, so that rows travel to fewer nodes", self._moved)
