"""Now and then a look at what queries take: tenants over their limits lose the heaviest, and the herd learns rates."""

from __future__ import annotations

import logging
from typing import Final

import polars as pl

from drover.control.tenants import too_heavy
from drover.spark.queries.clerk import Clerk
from drover.spark.queries.standing import WINDOW, Standing

log = logging.getLogger(__name__)
EVERY: Final = WINDOW  # batches from one look to the next: each is judged once


class Inspector:
    """Judges tenants by measured figures."""

    def __init__(self, clerk: Clerk, standing: Standing) -> None:
        self._clerk, self._standing = clerk, standing

    def look(self, batch: int) -> None:
        """Park what is over a tenant's limits, every so many batches."""
        if batch % EVERY or not self._clerk.limits:
            return
        live = self._clerk.book.live.select("number", "tenant")
        figures = self._standing.figures().join(live, on="number")
        measured = figures.select("number", "tenant", "busy", pl.col("state_bytes").alias("state"))
        parked = dict(too_heavy(measured, self._clerk.limits).iter_rows())
        if parked:
            log.warning("%s queries are parked: %s", len(parked), next(iter(parked.values())))
            self._clerk.park(parked)
