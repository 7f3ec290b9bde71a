"""The query service of a run: the one object that the handle, the endpoint and the batch loop call about queries.

Rule 1: the catalog decides which queries run where. The service feeds it with measurements and writes results.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from drover.errors import DroverError
from drover.flow.parking import WatermarkCaps
from drover.flow.query_log.figures import write_figures
from drover.flow.schedule import Schedule
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.flow.watermarks import SourceProgress
from drover.network.model import Network
from drover.spark.batch import BatchResult
from drover.spark.facts import QueryFacts
from drover.spark.queries.admission import QueryLike
from drover.spark.queries.batch import (
    BatchQueries,
    failed_members,
    make_batch_queries,
    results_of,
    sent_bytes,
)
from drover.spark.queries.catalog import BatchStart, QueryCatalog, Receipt
from drover.spark.queries.families import rates_of
from drover.spark.queries.listing import listing
from drover.spark.queries.metrics import WINDOW, QueryMetrics
from drover.spark.queries.quotas import QuotaEnforcer
from drover.spark.queries.refining import Refiner
from drover.spark.queries.results import QueryResults, rows_in_memory
from drover.spark.sinks import Sink

REVIEW_EVERY: Final = WINDOW  # batches; every measured batch then counts in exactly one review
log = logging.getLogger(__name__)


class QueryService:
    """Submitted queries of one run. Call `open` first and `close` last.

    `sink` takes the results of queries; without one, the run accepts no queries. `refine` is the fraction of queries
    that may move per hour to reduce traffic.
    """

    def __init__(
        self,
        network: Network,
        catalog: QueryCatalog,
        *,
        sink: Sink | None = None,
        refine: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._catalog = catalog
        self._sink = sink
        self._results = None if sink is None else QueryResults(sink)
        self._metrics = QueryMetrics()
        self._quotas = QuotaEnforcer(catalog)
        self._refiner = Refiner(catalog, refine)
        self._clock = clock
        self._last_batch_at = clock()
        self._saved: int | None = None  # the batch of the figures that were saved last
        self._reviewed: int | None = None  # the newest batch that was reviewed

    @property
    def sink(self) -> Sink | None:
        """The sink for results of queries."""
        return self._sink

    def use_sink(self, sink: Sink) -> None:
        """Write results to another sink; call this before `open`."""
        self._sink = sink
        self._results = QueryResults(sink)

    # For the handle and the endpoint.

    def submit(self, given: Iterable[QueryLike], *, atomic: bool = False) -> Receipt:
        """Accept or refuse queries; see `QueryCatalog.submit`."""
        if self._sink is None:
            raise DroverError(
                "the run has no sink for results of queries, so it accepts none. Start it with queries: in its run "
                "file, or drover.run(..., queries=SINK)."
            )
        # New queries have no measurements of their own, so the placer assumes the cost of their family.
        return self._catalog.submit(given, atomic=atomic, weights=self._metrics.weights())

    def drop(self, names: Sequence[str] = (), *, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Drop queries; see `QueryCatalog.drop`."""
        return self._catalog.drop(names, tenant=tenant, every=every)

    def move(self, name: str, node: int) -> None:
        """Move a query to a node; see `QueryCatalog.move`."""
        self._catalog.move(name, node)

    def names(self) -> Collection[str]:
        """Return the names of all accepted queries."""
        return self._catalog.names()

    def table(self, tenant: str | None = None) -> pl.DataFrame:
        """Return one row per query."""
        members, waiting = self._catalog.tables()
        return listing(members, waiting, self._metrics.figures(), self._metrics.lag, tenant)

    def results(self, query: str) -> pl.DataFrame:
        """Return all rows of a query so far; DroverError if the run's sink does not keep them in memory."""
        return rows_in_memory(self._sink, query)

    # For the batch loop.

    def open(self, checkpoint: Checkpoint, nodes: int) -> None:
        """Continue where the last run on this checkpoint ended, and accept requests."""
        self._catalog.open(checkpoint, nodes)

    def close(self) -> None:
        """Accept no further requests, and save the last measurements for reports."""
        self._catalog.close()
        try:
            self._save_figures(self._metrics.figures(), self._catalog.update_rates({}))
        except DroverError as error:  # only reports read this file, so the run ends as it would without
            log.warning("the last measurements of queries are not saved: %s", error)

    def begin_batch(
        self,
        batch: int,
        schedule: Schedule,
        progress: SourceProgress,
        caps: WatermarkCaps | None = None,
        without: Mapping[int, str] = MappingProxyType({}),
        *,
        again: bool,
    ) -> BatchQueries:
        """Return the queries of a batch, written to the query log; a batch run `again` has the same ones as before."""
        start = self._catalog.begin(batch, schedule.nodes, again=again)
        return self.assign(start, batch, schedule, progress, caps, without)

    def assign(
        self,
        start: BatchStart,
        batch: int,
        schedule: Schedule,
        progress: SourceProgress,
        caps: WatermarkCaps | None,
        without: Mapping[int, str],
    ) -> BatchQueries:
        """Return the queries of one attempt of a batch, in which those of `without` do not run."""
        return make_batch_queries(start, batch, self._network, schedule, progress, caps, without)

    def number_of(self, name: str) -> int:
        """Return the number of a query; DroverError if no query has that name."""
        return self._catalog.number_of(name)

    def name_of(self, number: int) -> str:
        """Return the name of a query that has run."""
        return self._catalog.name_of(number)

    def raise_failures(self, result: BatchResult) -> None:
        """Raise DroverError if queries failed in a batch."""
        if failed := failed_members(result):
            reasons = "; ".join(f"{self._catalog.name_of(one.member)}: {one.reason}" for one in failed[:3])
            raise DroverError(f"queries failed and on_failure is stop: {reasons}")

    def write_results(self, result: BatchResult, batch: int, spark: SparkSession, *, again: bool) -> None:
        """Write the results of a batch to the sink; `again` if an earlier attempt may have written other ones."""
        tables = results_of(result)
        if (tables or again) and self._results is not None:
            self._results.write(tables, batch, spark, again=again)

    def finish_batch(self, queries: BatchQueries, batch: int, lag: float, result: BatchResult) -> QueryFacts | None:
        """Take the measurements of a committed batch; return its facts about queries, None if the run never had any."""
        if not queries.is_used:
            return None
        # The notes of the commit have these failures, too: a run that restarts here parks the same queries.
        self._catalog.park(queries.failures(result))
        now = self._clock()
        seconds = now - self._last_batch_at
        self._last_batch_at = now
        counts = [counts for report in result.reports for counts in report.tallies]
        self._metrics.record(seconds, lag, counts, batch=batch, sent=sent_bytes(result))
        newest = self._metrics.newest
        # Figures of a million queries take a second, so they are not computed again from the same measurements.
        if batch % REVIEW_EVERY == 0 and newest != self._reviewed:
            self._reviewed = newest
            try:
                self._review()
            except Exception:  # quotas and rates are advisory, so a defect here must not stop the run
                log.exception("the measurements of queries could not be reviewed after batch %s", batch)
        self._refiner.after_batch(batch, seconds)
        return replace(queries.facts(result, self._catalog.update_rates({})), refinement=self._refiner.news())

    def compact(self) -> None:
        """Delete files that are no longer needed. Call it only when the last batch that began is committed."""
        self._catalog.compact()

    def _review(self) -> None:
        """Give the placer new rates, enforce quotas, and save the measurements."""
        figures = self._metrics.figures()
        replication = self._catalog.update_rates(rates_of(self._metrics.topics()))
        self._catalog.update_states(figures)
        self._quotas.enforce(figures)
        self._save_figures(figures, replication)

    def _save_figures(self, figures: pl.DataFrame, replication: float) -> None:
        summary = self._metrics.summary(figures, replication)
        if summary is not None and summary.batch != self._saved:
            write_figures(*open_root(self._catalog.root), summary)
            self._saved = summary.batch
