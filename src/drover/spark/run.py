"""Starts a network: sources, sinks, plan and checkpoint together make a running query."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from drover.control.engine_choice import DEFAULT_ENGINE, EngineChoice, engine_choice, node_count
from drover.control.failing import HOLD_BYTES, failure_policy
from drover.control.popularity import ExpectedQueries, popularity_of
from drover.control.rename import rename_history
from drover.control.settings import Control, check_pins, control_of
from drover.control.tenants import AllLimits, limits_of
from drover.control.tree import Hierarchy
from drover.errors import DroverError
from drover.flow.instances import explicit
from drover.flow.state.storage import absolute, local_path, open_root
from drover.flow.tables import Address, AnyAddress, addresses
from drover.hierarchy.cluster import TreeCluster
from drover.network.model import Network
from drover.placement.plan import Plan, units_of
from drover.placement.starting_plans import DEFAULT_NODES, DEFAULT_PLAN, STARTING_PLANS
from drover.spark.backlog import backlog_of
from drover.spark.controller import Controller
from drover.spark.dead_letter_store import DeadLetterStore
from drover.spark.driver import Driver
from drover.spark.endpoint import Endpoint
from drover.spark.engines import choose_for, engine_of
from drover.spark.executors import executors_of
from drover.spark.handle import Handle
from drover.spark.idle import close_when_idle
from drover.spark.offsets import location
from drover.spark.opening import Permissions
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from drover.spark.sink_folders import existing_rows
from drover.spark.sinks import Function, Several, Sink, refuse_shared
from drover.spark.slots import slot_offer, task_slots
from drover.spark.source_columns import columns_to_read
from drover.spark.sources import Given, read_sources
from drover.spark.spark_logs import delete_unfinished
from drover.spark.trees import on_tree
from drover.spark.worker_python import check_workers

log = logging.getLogger(__name__)

AnySink = Sink | Callable[[DataFrame, int], object]


def run(
    network: Network,
    sources: Mapping[str, Given],
    sinks: Mapping[str, AnySink | Sequence[AnySink]],
    *,
    checkpoint: str,
    nodes: int | str = DEFAULT_NODES,
    plan: str | Plan = DEFAULT_PLAN,
    trigger: Mapping[str, Any] | None = None,  # Any: the arguments of Spark's own `trigger`
    on_failure: str | None = None,
    hold_bytes: int = HOLD_BYTES,
    resume: Sequence[str] = (),
    without: Sequence[str] = (),
    stop_on_failure: bool = False,
    dead_letters: AnySink | None = None,
    tables: Mapping[str, AnyAddress] | None = None,
    control: Control | str | Mapping[str, Any] | None = None,  # Any: fields of Control
    endpoint: bool = True,
    queries: AnySink | Sequence[AnySink] | None = None,
    limits: Mapping[str, Any] | None = None,  # Any: Limits, or its fields
    refine: float = 0.0,
    popularity: Sequence[ExpectedQueries | Mapping[str, Any]] | None = None,  # Any: as in a run file
    cluster: TreeCluster | Mapping[str, Any] | None = None,  # Any: as in a run file
    allow_changes: bool | str | Sequence[str] = False,
    existing: str = "refuse",
    late: AnySink | None = None,
    engine: str = DEFAULT_ENGINE,
) -> Handle:
    """Start a network and return its handle.

    - `sources`: a streaming DataFrame per source, or `drover.streams` of one DataFrame that holds several.
    - `sinks`: one sink or several per output. A sink is one of `drover.sinks`, or a function of a DataFrame and a batch
      number, as for `foreachBatch`.
    - `checkpoint`: a directory (path or URI) for this network alone. Starting again on it continues where the last run
      ended.
    - `nodes` (a number, or "auto" for as many as Spark has slots) and `plan` ("round-robin", "hash", or a Plan): used
      for a new checkpoint. An existing checkpoint continues with its own plan.
    - `trigger`: the arguments of Spark's `trigger`, such as {"processingTime": "1 second"} or {"availableNow": True}.
    - `on_failure`: what an operator that fails does with its input. "hold", the default: it is parked and keeps its
      input, up to `hold_bytes`, until you resume it, so nothing is lost. "skip": it is parked and its input is lost.
      "stop": the run stops. `stop_on_failure=True` is an older word for "stop".
    - `resume`: parked operators that run again from the next batch on, for example because you have fixed a function.
    - `without`: operators and submitted queries that are parked before the first batch, even if it has begun. This is
      the last resort if they keep the run from starting.
    - `dead_letters`: a sink for rows that do not fit their source. Without one, the checkpoint keeps the newest of
      them: see `drover dead-letters`. With one, and with `queries`, all declared columns are read; else, those in use.
    - `late`: a sink for rows that came after the watermark of an operator, with the operator, the source, the event
      time, the watermark, and the row as JSON. Late rows are counted with and without a sink. Late rows of submitted
      queries are only counted.
    - `tables`: the database of each table as a URI (`sqlite:///path/to/file.db`, `postgresql://user@host/database`).
      Append `#name` or `#schema.name` if the table has another name there. A table that is left out is in `tables.db`
      in the checkpoint. A table that operators write is created if it does not exist; one that they only read must
      exist. A table with other columns than declared is refused.
    - `control`: how load is managed: "observe" (the default), "propose" or "auto", or settings of `drover.Control`.
    - `endpoint`: whether commands such as `drover status`, `plan` and `apply` can reach the run. The checkpoint must be
      on a local disk. See docs/how-to/operations.md.
    - `queries`: one sink or several for the results of queries that are submitted during the run. `limits` are the
      limits of tenants, and `refine` is the fraction of queries that drover may move per hour, so that rows travel to
      fewer nodes. `popularity` says how many queries are expected to read the same rows. See docs/how-to/queries.md.
    - `cluster`: a tree of nodes, as in a run file. Units start as low in it as they can, unless `plan` is a Plan; in
      mode "auto" they move between neighbours. See docs/how-to/trees.md.
    - `allow_changes`: what a changed network may lose of the checkpoint's state: names of operators and tables, or True
      for everything. Changes that lose nothing need no permission. See docs/how-to/upgrade.md.
    - `engine`: how batches are computed. "shuffle", the default, is one Spark job per batch with a shuffle per hop.
      "resident" runs every node as a long-running Spark task, which needs a slot per node and one for reading. "auto"
      takes resident nodes where they fit; `handle.engine` says which it took, and why. See docs/how-to/engines.md.
    - `existing`: what to do if the folder of a sink has rows of another run. "refuse" does not start, "overwrite"
      deletes the files that drover wrote there, "adopt" adds rows to them. It does not concern the run's own rows.
    """
    checkpoint = absolute(checkpoint)
    chosen = engine_choice(engine)
    allowed = limits_of(limits)
    settings = check_pins(control_of(control), units_of(network))
    delivered = _sinks(network, sinks, {"dead_letters": dead_letters, "late": late, "queries": queries})
    tree = None if cluster is None else on_tree(network, cluster, settings, nodes, plan, takes_queries=bool(queries))
    reading = read_sources(network, sources)
    spark = reading.frame.sparkSession
    check_workers(spark)
    wanted = _plan(network, plan, node_count(nodes, chosen, partial(task_slots, spark)), tree)
    planner = Planner(checkpoint, explicit(wanted, network), tree)
    controller = Controller(network, planner, settings, executors=executors_of(spark), offer=slot_offer(spark, trigger))
    catalog = _catalog(network, checkpoint, allowed, controller, popularity)
    service = QueryService(network, catalog, sink=_one_sink(queries), refine=refine)
    driver = Driver(
        network,
        reading,
        delivered,
        checkpoint,
        planner,
        service,
        failure_policy(on_failure, hold_bytes, stop_on_failure=stop_on_failure),
        DeadLetterStore(checkpoint) if dead_letters is None else _sink(dead_letters),
        _addresses(network, tables or {}, checkpoint),
        Permissions((allow_changes,) if isinstance(allow_changes, str) else allow_changes, existing_rows(existing)),
        late=None if late is None else _sink(late),
    )
    _open(driver, sources, resume, without)
    _choose_engine(driver, controller, chosen)
    _start_control(driver, controller)
    listening = _listen(controller, service, checkpoint) if endpoint else None
    try:
        query = _start_query(driver, controller, trigger)
    except BaseException:
        _close(listening, controller, driver)
        raise
    if not (drains := _drains(trigger)):
        close_when_idle(spark, query, driver)
    return Handle(spark, query, driver, controller, service, listening, closes=drains)


def _catalog(
    network: Network,
    checkpoint: str,
    limits: AllLimits,
    controller: Controller,
    popularity: Sequence[ExpectedQueries | Mapping[str, Any]] | None,  # Any: as in `run`
) -> QueryCatalog:
    return QueryCatalog(
        network,
        checkpoint,
        limits,
        closed_nodes=controller.closed,
        capacities=controller.query_capacities,
        popularity=popularity_of(popularity),
    )


def _drains(trigger: Mapping[str, Any] | None) -> bool:  # Any: as in `run`
    """Return whether the run ends with the rows that are available now."""
    return any((trigger or {}).get(word) for word in ("availableNow", "once"))


def _open(driver: Driver, sources: Mapping[str, Given], resume: Sequence[str], without: Sequence[str]) -> None:
    """Open the checkpoint, and ask for operators that shall run again or not at all."""
    driver.open()
    try:
        rename_history(*open_root(driver.root), driver.renamed)
        for operator in resume:
            driver.planner.resume(operator)
        driver.attempts.leave_out(without)
        _read_less(driver, sources)
    except BaseException:
        driver.close()
        raise


def _read_less(driver: Driver, sources: Mapping[str, Given]) -> None:
    """Let an opened driver read only what its operators use, unless queries or whole dead letters may need more."""
    keeps_letters = not isinstance(driver.dead_letters, DeadLetterStore)
    if driver.queries.sink is None and not driver.queries.names() and not keeps_letters:
        columns = columns_to_read(driver.network, sources, driver.attempts.pruner.source_columns())
        driver.reading = read_sources(driver.network, sources, columns)


def _choose_engine(driver: Driver, controller: Controller, choice: EngineChoice) -> None:
    """Give an opened driver its engine: only the checkpoint says how many nodes there are."""
    spark = driver.reading.frame.sparkSession
    try:
        controller.engine = choose_for(spark, choice, driver.planner.plan.nodes)
        driver.engine = engine_of(controller.engine, spark)
    except BaseException:
        driver.close()
        raise


def _start_control(driver: Driver, controller: Controller) -> None:
    driver.listen(controller)
    controller.start()


def _close(*opened: Endpoint | Controller | Driver | None) -> None:
    for one in opened:
        if one is not None:
            one.close()


def _start_query(
    driver: Driver, controller: Controller, trigger: Mapping[str, Any] | None
) -> StreamingQuery:  # Any: as in `run`
    delete_unfinished(*open_root(driver.root))
    writer = driver.reading.frame.writeStream.queryName(driver.network.name).foreachBatch(driver.process)
    writer = writer.option("checkpointLocation", location(driver.root))
    query = (writer.trigger(**trigger) if trigger else writer).start()
    controller.sources.backlog = lambda: backlog_of(query.lastProgress)
    return query


def _listen(controller: Controller, queries: QueryService, checkpoint: str) -> Endpoint | None:
    """Start the endpoint of a run whose checkpoint is on a local disk; without one, the run continues."""
    folder = local_path(*open_root(checkpoint))
    if folder is None:
        return None
    try:
        listening = Endpoint(controller, folder, queries)
        listening.start()
    except OSError as error:
        log.warning("the run has no control endpoint, so commands do not reach it: %s", error)
        return None
    return listening


def _plan(network: Network, plan: str | Plan, nodes: int, tree: Hierarchy | None) -> Plan:
    if isinstance(plan, Plan):
        if set(plan.node_of) != set(units_of(network)):
            raise DroverError(
                f"the plan places {sorted(plan.node_of)}, but the units are {sorted(units_of(network))}. "
                "Place every unit of the network, and nothing else."
            )
        return plan if tree is None else tree.check_plan(plan)
    if tree is not None:
        return Plan(1, len(tree.cluster.nodes), tree.complete_placement(tree.cluster.at))
    if plan not in STARTING_PLANS:
        raise DroverError(f"plan is {plan!r}, but must be a Plan or one of {', '.join(STARTING_PLANS)}. Choose one.")
    return STARTING_PLANS[plan](network, nodes)


def _addresses(network: Network, given: Mapping[str, AnyAddress], checkpoint: str) -> dict[str, Address]:
    folder = local_path(*open_root(checkpoint))
    return addresses(network, given, None if folder is None else str(folder))


def _sink(given: AnySink) -> Sink:
    return given if hasattr(given, "write") else Function(given)


def _named_sinks(
    delivered: Mapping[str, Sequence[Sink]], others: Mapping[str, AnySink | Sequence[AnySink] | None]
) -> Iterator[tuple[str, Sink]]:
    """Yield every sink of a run with its name for people."""
    for stream, several in delivered.items():
        yield from ((f"output {stream!r}", sink) for sink in several)
    for name, given in others.items():
        if (sink := _one_sink(given)) is not None:
            yield name, sink


def _one_sink(given: AnySink | Sequence[AnySink] | None) -> Sink | None:
    if given is None or not isinstance(given, Sequence):
        return None if given is None else _sink(given)
    return Several(tuple(map(_sink, given)))


def _sinks(
    network: Network,
    sinks: Mapping[str, AnySink | Sequence[AnySink]],
    others: Mapping[str, AnySink | Sequence[AnySink] | None],
) -> dict[str, tuple[Sink, ...]]:
    """Return the sinks of each output; DroverError if one is for no output, or replaces the rows of another."""
    if strangers := sorted(set(sinks) - set(network.outputs)):
        raise DroverError(
            f"there is a sink for {strangers[0]!r}, but the outputs of {network.name!r} are "
            f"{', '.join(network.outputs)}. Name one of these, or add it to the outputs."
        )
    delivered = {
        stream: tuple(_sink(one) for one in (given if isinstance(given, Sequence) else (given,)))
        for stream, given in sinks.items()
    }
    refuse_shared(_named_sinks(delivered, others))
    return delivered
