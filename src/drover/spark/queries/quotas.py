"""Tenant quotas on what queries use while they run: the heaviest queries of a tenant over its limits are parked."""

from __future__ import annotations

import logging

import polars as pl

from drover.control.tenants import too_heavy
from drover.spark.queries.catalog import QueryCatalog

log = logging.getLogger(__name__)


class QuotaEnforcer:
    """Parks queries of tenants that exceed their limits."""

    def __init__(self, catalog: QueryCatalog) -> None:
        self._catalog = catalog

    def enforce(self, figures: pl.DataFrame) -> None:
        """Compare measured figures with the limits, and park as few queries as bring every tenant within them."""
        if not self._catalog.limits:
            return
        live = self._catalog.query_log.live.select("number", "tenant")
        # Queries may have been dropped or parked since they were measured; the join keeps those that run.
        used = figures.join(live, on="number")
        measured = used.select("number", "tenant", "busy", pl.col("state_bytes").alias("state"))
        parked = dict(too_heavy(measured, self._catalog.limits).iter_rows())
        if parked:
            log.warning("%s queries are parked: %s", len(parked), next(iter(parked.values())))
            self._catalog.park(parked)
