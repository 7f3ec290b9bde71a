"""Refinement: every few batches, some queries move so that rows are sent to fewer nodes.

Rule 1: the search for moves runs in a thread of its own; a batch only takes the moves that were found.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from drover.control.allowance import Allowance
from drover.control.refinement import Refinement
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.metrics import WINDOW

EVERY: Final = WINDOW  # batches from one search to the next
# A search with a smaller allowance would pass over all groups of queries that only save traffic together.
GROUP: Final = 16  # queries; as many as one source of a node is worth searching for
log = logging.getLogger(__name__)


class Refiner:
    """Moves queries within an allowance: `fraction` of all queries per hour."""

    def __init__(self, catalog: QueryCatalog, fraction: float = 0.0) -> None:
        self._catalog = catalog
        self._allowance = Allowance(fraction)
        self._thread: threading.Thread | None = None
        self._found = Refinement()  # by the last search; read only when its thread has ended
        self._news = ""

    def after_batch(self, batch: int, seconds: float) -> None:
        """Count a batch that ended `seconds` after the one before it, and search for moves if it is time."""
        # The moves of a search are charged when it has ended, in this thread, so that the allowance needs no lock.
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
            self._allowance = self._allowance.without(self._found.charge)
            self._news = self._found.text if self._found.numbers else ""
        self._allowance = self._allowance.after(seconds, len(self._catalog))
        most = int(self._allowance.saved)
        # With few queries, the allowance never gets that large.
        enough = min(GROUP, int(self._allowance.most(len(self._catalog))))
        if batch % EVERY == 0 and most >= max(enough, 1) and self._thread is None:
            self._thread = threading.Thread(target=self._search, args=(most,), name="drover refinement", daemon=True)
            self._thread.start()

    def news(self) -> str:
        """Return once what the last search moved, and why; empty if nothing moved since the last call."""
        text = self._news
        self._news = ""
        return text

    def join(self) -> None:
        """Wait for a search that is running."""
        if self._thread is not None:
            self._thread.join()

    def _search(self, most: int) -> None:
        self._found = Refinement()
        try:
            self._found = self._catalog.refine(most)
        except Exception:  # better places are optional, so a defect here must not stop the run
            log.exception("the search for better places of queries failed")
        if self._found.numbers:
            log.info("%s", self._found.text)
