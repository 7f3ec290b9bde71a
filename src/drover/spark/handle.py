"""The handle of a running network, shaped like Spark's StreamingQuery."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from drover.control.explain import Explanation
from drover.control.offer import Offer
from drover.control.record import Record
from drover.errors import DroverError
from drover.network.grid import SpreadLike
from drover.network.queries import Query
from drover.network.queries.notation import Entry
from drover.placement.plan import Plan
from drover.spark.controller import Controller
from drover.spark.driver import Driver, Listener
from drover.spark.endpoint import Endpoint
from drover.spark.failures import clear
from drover.spark.queries.clerk import Given, Receipt
from drover.spark.queries.moving import move
from drover.spark.queries.office import Office
from drover.spark.sinks import Memory, Several


class Handle:
    """A running network. Everything Spark's StreamingQuery tells and does, and the plan besides."""

    def __init__(
        self, spark: SparkSession, query: StreamingQuery, driver: Driver, controller: Controller, office: Office,
        endpoint: Endpoint | None = None, *, closes: bool,
    ) -> None:  # fmt: skip
        self.control = controller  # the loop that decides on the plan
        self._office = office
        self._endpoint = endpoint
        self._spark = spark
        self._query = query
        self._driver = driver
        self._closes = closes  # whether to close windows when the sources are drained
        self._stopped = threading.Event()

    @property
    def id(self) -> str:
        """Spark's id of the query, the same after a restart from its checkpoint."""
        return str(self._query.id)

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        """Whether it is running."""
        return bool(self._query.isActive)

    @property
    def status(self) -> Mapping[str, Any]:
        """What it is doing now."""
        return dict(self._query.status)

    @property
    def lastProgress(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """What the last batch did: Spark's figures, and drover's under `drover`."""
        history = list(self._driver.history)
        if not history:
            return None
        progress: Mapping[str, Any] = self._query.lastProgress or {}
        # Spark tells of a batch a moment after drover has committed it: take the last that both have told of.
        told = progress.get("batchId")
        both = [entry for entry in history if entry["sparkBatch"] == told]
        return {**progress, "drover": (both or history)[-1]}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        """What the last batches did; drover's figures only."""
        return list(self._driver.history)

    @property
    def plan(self) -> Plan:
        """The plan from the next batch on."""
        return self._driver.planner.plan

    def move(self, name: str, node: int) -> Plan:
        """Move a unit, or else the query of that name, to a node, with its state, from the next batch on."""
        return move(self.control, self._office, name, node)

    def scale(self, nodes: int) -> Plan:
        """Go on with another number of nodes from the next batch on."""
        return self._driver.planner.replan(lambda plan: plan.scale(nodes))

    def spread(self, join: str, spread: SpreadLike) -> Plan:
        """Spread a join over so many instances, over a grid, (rows, columns), or (`auto`) as the control loop decides.

        From the next batch on; the pairs stay the same. It holds until something else is asked, also after a restart.
        """
        return self.control.spread(join, spread)

    @property
    def proposal(self) -> Offer:
        """The change of plan that waits, or one worked out now, with loads, goals and reasons; or why there is none."""
        return self.control.proposal()

    def apply(self, proposal: str) -> Record:
        """Carry out a proposal, by its id, exactly as it was shown; DroverError if the world has changed since."""
        return self.control.approve(proposal)

    def explain(self, unit: str) -> Explanation:
        """Return why a unit is where it is."""
        return self.control.explain(unit)

    @property
    def decisions(self) -> list[Record]:
        """What the control loop has decided in the last periods, oldest first."""
        return self.control.records

    def mode(self, mode: str) -> None:
        """Let the control loop `observe`, `propose` or move by itself (`auto`) from now on."""
        self.control.change(mode=mode)

    def drain(self, node: int, *, empty: bool = True) -> None:
        """Empty a node from the next period on and keep it empty, or (`empty` False) use it again."""
        self.control.drain(node, empty=empty)

    def submit(self, queries: Iterable[Given] | Given, *, atomic: bool = False) -> Receipt:
        """Hand in queries (`drover.Query`, or dicts as in a query file); those accepted run from the next batch on.

        Each is judged by itself, and refused with its reasons or accepted; with `atomic` all are, or none.
        """
        given = [queries] if isinstance(queries, (Query, Entry, Mapping)) else queries
        return self._office.submit(given, atomic=atomic)

    def drop(self, *names: str, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Take queries out from the next batch on: those named, or every one; return their names."""
        return self._office.drop(names, tenant=tenant, every=every)

    def queries(self, tenant: str | None = None) -> pl.DataFrame:
        """Return one row per submitted query: state, node, rates, cost, and why some are parked."""
        return self._office.table(tenant)

    def results(self, query: str) -> pl.DataFrame:
        """Return all rows of one query so far, of a run whose sink for queries keeps them in memory."""
        sink = self._office.sink
        for one in sink.sinks if isinstance(sink, Several) else (sink,):
            if isinstance(one, Memory):
                return one.rows(query)
        raise DroverError("no sink keeps results of queries in memory. Give drover.run(..., queries=sinks.Memory()).")

    @property
    def parked(self) -> dict[str, str]:
        """Operators that failed and are not run any more, with the reason."""
        return self._driver.parked

    def resume(self, operator: str) -> None:
        """Run a parked operator again from the next batch on, with the state it had before it failed."""
        self._driver.resume(operator)

    def listen(self, listener: Listener) -> None:
        """Call a function with drover's figures of every batch, once it is committed, in the thread of the batch.

        A function that raises is not called again; the batch goes on.
        """
        self._driver.listen(listener)

    def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
        """Wait until all rows that are there now are processed, and close the windows they allow to close."""
        try:
            self._query.processAllAvailable()
        except StreamingQueryException as error:
            raise self._failed(error) from error
        self._close_windows()

    def awaitTermination(self, timeout: int | None = None) -> bool:  # noqa: N802 - Spark's name
        """Wait until it ends, by itself, by `stop` or by an error, which is raised here; at most `timeout` seconds.

        An error is a DroverError if it says what is wrong with tables, sinks or operators, else Spark's own.
        """
        try:
            ended = self._query.awaitTermination(timeout) if timeout is not None else self._query.awaitTermination()
        except StreamingQueryException as error:
            raise self._failed(error) from error
        if ended is False:
            return False
        if self._driver.failure is not None and not self._stopped.is_set():  # while closing windows
            raise self._failed(self._driver.failure)
        if self._closes and not self._stopped.is_set():
            self._closes = False
            self._close_windows()
        self._end()
        return True

    def exception(self) -> DroverError | None:
        """Return what stopped it, or None if it is running or was stopped on purpose."""
        error = self._query.exception()
        if error is not None:
            return self._failed(error)
        failure = self._driver.failure
        return None if failure is None or self._stopped.is_set() else clear(failure)

    def stop(self) -> None:
        """Stop it after the batch that is running; a new run on the same checkpoint goes on where this one ends."""
        self._stopped.set()  # first, so that nobody who waits for the end takes it for the sources' end
        self._driver.finish()
        ender = threading.Thread(target=self._query.stop, name="drover stop")
        ender.start()
        while self._query.isActive:
            time.sleep(0.01)
        self._driver.let_go()
        ender.join()
        self._end()

    def _close_windows(self) -> None:
        try:
            self._driver.close_windows(self._spark)
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> DroverError:
        """Let go of the checkpoint and return what happened, as the driver saw it: nearer to the cause than Spark."""
        self._end()
        return clear(self._driver.failure or error)

    def _end(self) -> None:
        """Let go of the checkpoint, once both loops have ended and who has asked something has the answer."""
        if self._endpoint is not None:
            self._endpoint.close()
        self.control.close()
        self._driver.close()
