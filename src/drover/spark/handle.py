"""The handle of a running network, shaped like Spark's StreamingQuery.

Rule 1: a method with a name of Spark's does what Spark's does. Rule 2: the handle decides nothing; it passes calls on.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from drover.control.engine_choice import EngineInUse
from drover.control.explain import Explanation
from drover.control.proposals import CurrentProposal
from drover.control.record import PeriodRecord
from drover.errors import DroverError
from drover.flow.parking import ParkedOperator, describe_parked
from drover.network.grid import SpreadLike
from drover.network.queries import Query
from drover.network.queries.notation import QueryEntry
from drover.placement.plan import Plan
from drover.spark.controller import Controller
from drover.spark.driver import Driver, Listener
from drover.spark.endpoint import Endpoint
from drover.spark.failures import as_drover_error
from drover.spark.progress import describe, state_operators
from drover.spark.queries.admission import QueryLike
from drover.spark.queries.catalog import Receipt
from drover.spark.queries.moving import move
from drover.spark.queries.service import QueryService
from drover.spark.row_totals import RowTotals

log = logging.getLogger(__name__)


class Handle:
    """A running network: the interface of Spark's StreamingQuery, plus plan, control loop and submitted queries."""

    def __init__(
        self,
        spark: SparkSession,
        query: StreamingQuery,
        driver: Driver,
        controller: Controller,
        queries: QueryService,
        endpoint: Endpoint | None = None,
        *,
        closes: bool,
    ) -> None:
        self.control = controller  # the control loop
        self._queries = queries
        self._endpoint = endpoint
        self._spark = spark
        self._query = query
        self._driver = driver
        self._closes = closes  # whether to close all windows once the sources have ended
        self._stopped = threading.Event()

    @property
    def id(self) -> str:
        """Spark's id of the query. It stays the same after a restart from the checkpoint."""
        return str(self._query.id)

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether the network is running."""
        return bool(self._query.isActive)

    @property
    def status(self) -> Mapping[str, Any]:
        """What Spark's query is doing now."""
        return dict(self._query.status)

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """The figures of the last batch: Spark's, and drover's under the key `drover`."""
        history = list(self._driver.history)
        if not history:
            return None
        progress: Mapping[str, Any] = self._query.lastProgress or {}
        # Spark reports a batch a moment after drover has committed it. Take the last batch that both have reported.
        reported = progress.get("batchId")
        both = [facts for facts in history if facts.spark_batch == reported]
        facts = (both or history)[-1]
        return {**progress, "stateOperators": state_operators(facts), "drover": describe(facts)}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        """The figures of the last batches, oldest first, each as in `lastProgress`.

        A batch that only closes windows has the figures of the last of Spark's batches before it.
        """
        of_spark: dict[int, Mapping[str, Any]] = {one["batchId"]: one for one in self._query.recentProgress}
        history = list(self._driver.history)
        return [{**of_spark.get(facts.spark_batch, {}), "drover": describe(facts)} for facts in history]

    @property
    def batches(self) -> list[dict[str, Any]]:
        """The figures of the last batches, oldest first; drover's only."""
        return [describe(facts) for facts in list(self._driver.history)]

    @property
    def plan(self) -> Plan:
        """The plan that the next batch will use."""
        return self._driver.planner.plan

    @property
    def engine(self) -> EngineInUse | None:
        """What computes batches, and why if `auto` has chosen it."""
        return self.control.engine

    def move(self, name: str, node: int) -> Plan:
        """Move the unit or the query of that name to a node, with its state, from the next batch on."""
        return move(self.control, self._queries, name, node)

    def scale(self, nodes: int) -> Plan:
        """Change the number of nodes from the next batch on."""
        return self._driver.planner.replan(lambda plan: plan.scale(nodes))

    def spread(self, join: str, spread: SpreadLike) -> Plan:
        """Spread a join over that many instances, over a grid (rows, columns), or as the control loop decides (`auto`).

        This takes effect with the next batch. Results stay the same. The setting survives a restart and holds until you
        call `spread` again.
        """
        return self.control.spread(join, spread)

    @property
    def proposal(self) -> CurrentProposal:
        """The proposal that you can apply now, with loads, goals and reasons; or the reason why there is none."""
        return self.control.proposal()

    def apply(self, proposal: str) -> PeriodRecord:
        """Carry out a proposal, by its id, exactly as it was shown; DroverError if it is no longer applicable."""
        return self.control.approve(proposal)

    def explain(self, unit: str) -> Explanation:
        """Return why a unit is on its node."""
        return self.control.explain(unit)

    @property
    def decisions(self) -> list[PeriodRecord]:
        """The decisions of the control loop in the last periods, oldest first."""
        return self.control.records

    @property
    def health(self) -> str:
        """Whether the run keeps up, and why not, in one sentence; empty before the first period."""
        return self.control.health

    @property
    def capacity(self) -> tuple[float, ...]:
        """Busy seconds per second that each node can spend."""
        return self.control.capacity

    def mode(self, mode: str) -> None:
        """Set what the control loop does: `observe`, `propose`, or move units without asking (`auto`)."""
        self.control.change(mode=mode)

    def drain(self, node: int, *, empty: bool = True) -> None:
        """Empty a node from the next period on and keep it empty; with `empty=False`, use it again."""
        self.control.drain(node, empty=empty)

    def submit(self, queries: Iterable[QueryLike] | QueryLike, *, atomic: bool = False) -> Receipt:
        """Submit queries (`drover.Query`, or dicts as in a query file). Accepted queries run from the next batch on.

        Each query is accepted or refused by itself, with reasons. With `atomic`, all are accepted or none.
        """
        given = [queries] if isinstance(queries, (Query, QueryEntry, Mapping)) else queries
        return self._queries.submit(given, atomic=atomic)

    def drop(self, *names: str, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Drop queries from the next batch on, by name, or all with `every`; return their names."""
        return self._queries.drop(names, tenant=tenant, every=every)

    def queries(self, tenant: str | None = None) -> pl.DataFrame:
        """Return one row per submitted query: state, node, rates, cost, and why it is parked, if it is."""
        return self._queries.table(tenant)

    def results(self, query: str) -> pl.DataFrame:
        """Return all rows of one query so far. The run needs a `Memory` sink for queries."""
        return self._queries.results(query)

    @property
    def parked(self) -> dict[str, str]:
        """The operators that failed and do not run, each with the reason."""
        return self._driver.parked

    @property
    def held(self) -> dict[str, ParkedOperator]:
        """The parked operators with what they hold: rows, bytes, and since which batch and time."""
        return dict(self._driver.planner.parked)

    @property
    def row_totals(self) -> RowTotals:
        """The rows that the run did not use, over all batches: late rows by operator, and dead letters by source."""
        return self._driver.row_totals

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on, with its state from before the failure.

        It works off the rows that it holds first. This needs no new rows: a batch without rows does it.
        """
        self._driver.planner.resume(operator)

    def listen(self, listener: Callable[[Mapping[str, Any]], object]) -> None:  # Any: JSON
        """Call a function with drover's figures of every batch, as in `batches`; see `on_batch`."""
        self._driver.listen(lambda facts: listener(describe(facts)))

    def on_batch(self, listener: Listener) -> None:
        """Call a function with the `BatchFacts` of every committed batch, in the thread of the batch.

        A function that raises is not called again. The batch is not affected.
        """
        self._driver.listen(listener)

    def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
        """Wait until all rows that are available now are processed, and close every window that can be closed."""
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise self._failed(error) from error
        self._close_windows()

    def awaitTermination(self, timeout: int | None = None) -> bool:  # noqa: N802 - Spark's name
        """Wait until the run ends, at most `timeout` seconds; return whether it has ended.

        If an error ended the run, it is raised here: a DroverError for a problem with tables, sinks or operators,
        otherwise Spark's own error. Parked operators are no error: they are in `parked`, and a warning names them.
        """
        try:
            ended = self._query.awaitTermination(timeout) if timeout is not None else self._query.awaitTermination()
        except StreamingQueryException as error:
            raise self._failed(error) from error
        if ended is False:
            return False
        if self._driver.failure is not None and not self._stopped.is_set():  # it failed while closing windows
            raise self._failed(self._driver.failure)
        if self._closes and not self._stopped.is_set():
            self._closes = False
            self._close_windows()
        for name, parked in self.held.items():
            log.warning("the run has ended, and %s", describe_parked(name, parked))
        self._end()
        return True

    def exception(self) -> DroverError | None:
        """Return the error that ended the run; None while it is running, or if you stopped it."""
        error = self._query.exception()
        if error is not None:
            return self._failed(error)
        failure = self._driver.failure
        return None if failure is None or self._stopped.is_set() else as_drover_error(failure)

    def stop(self) -> None:
        """Stop after the current batch. A new run on the same checkpoint continues from there."""
        self._stopped.set()  # first; otherwise `awaitTermination` would close windows as if the sources had ended
        self._driver.finish()
        ender = threading.Thread(target=self._stop_query, name="drover stop")
        ender.start()
        while self._query.isActive:
            time.sleep(0.01)
        self._driver.release()
        ender.join()
        self._end()

    def _stop_query(self) -> None:
        with contextlib.suppress(ConnectionError):  # Java has ended, and `stop` says so
            self._query.stop()

    def _close_windows(self) -> None:
        try:
            self._driver.close_windows(self._spark)
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> DroverError:
        """Release the checkpoint and return the error that the driver saw: it is nearer to the cause than Spark's."""
        self._end()
        return as_drover_error(self._driver.failure or error)

    def _end(self) -> None:
        """Release the checkpoint, after both loops have ended and pending requests are answered."""
        if self._endpoint is not None:
            self._endpoint.close()
        self.control.close()
        self._driver.close()
