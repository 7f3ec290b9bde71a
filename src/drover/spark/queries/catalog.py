"""The catalog of a run's queries: it admits, drops, moves and parks queries, and says what each batch starts with.

Rule 1: an accepted query is in a file before its request is answered, and runs from the next batch on.
Rule 2: what a batch starts with is in a file before the batch starts, so a replayed batch starts with the same.
Rule 3: requests wait for checks, for the disk and for placement. A batch never does: it takes what is ready.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.random import default_rng

from drover.control.popularity import ExpectedQueries, topics_expected
from drover.control.query_placer import QueryPlacer
from drover.control.refinement import Refinement
from drover.control.tenants import AllLimits
from drover.errors import DroverError, shorten
from drover.flow.families.members import sweep_members, write_members
from drover.flow.query_log.files import compact, write_change, write_manifest
from drover.flow.query_log.log import ADDED, PLACED, BatchManifest, Change, QueryLog, advance, parked_frame
from drover.flow.state.commits import Checkpoint
from drover.flow.state.storage import open_root
from drover.load.arrays import Flags, Ints
from drover.network.model import Network
from drover.network.queries import Shapes
from drover.network.queries.text_shapes import TextShapes
from drover.spark.queries.admission import QueryLike, RefusedQuery
from drover.spark.queries.families import Families, Family, Topic, families_named, topics_of, update_families
from drover.spark.queries.names import QueryNames
from drover.spark.queries.recovery import PendingChange, recover_catalog
from drover.spark.queries.remembered import remembered
from drover.spark.queries.requests import all_or_none, check_request

UNMEASURED: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a submission: names of accepted queries, which run from the next batch on, and refused queries."""

    accepted: tuple[str, ...]
    refused: tuple[RefusedQuery, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BatchStart:
    """The queries that a batch starts with, and the families of the batch before it."""

    query_log: QueryLog
    families: Families
    before: Families


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """The nodes that queries may use in a batch."""

    nodes: int
    closed: frozenset[int] = frozenset()
    capacity: tuple[float, ...] = ()  # in any unit; empty if all nodes are equal


class QueryCatalog:
    """The queries of one checkpoint. Call `open` first and `close` last; every method may be called from any thread.

    `closed_nodes` returns the nodes that may not run queries now. `capacities` returns what each of so many nodes can
    spend, in any unit, or nothing if all are equal. `popularity` are the queries that are expected.
    """

    def __init__(
        self,
        network: Network,
        root: str,
        limits: AllLimits,
        *,
        closed_nodes: Callable[[], Collection[int]] = frozenset,
        capacities: Callable[[int], tuple[float, ...]] = lambda _nodes: (),
        popularity: Sequence[ExpectedQueries] = (),
        seed: int = 0,
    ) -> None:
        self.root = root
        self.limits = limits
        self.query_log = QueryLog()
        self.families = Families()
        self._closed_nodes = closed_nodes
        self._capacities = capacities
        self._names = QueryNames()
        self._shapes = TextShapes(Shapes(network))
        expected = topics_expected(network, popularity)
        self._placer = QueryPlacer(1, default_rng(seed), expected=expected)
        self._pending: list[PendingChange] = []
        self._failed: dict[int, str] = {}  # to be parked with the next batch
        self._moved: set[int] = set()  # since the last batch, by request or by refinement; the placer knows where to
        self._begun: BatchManifest | None = None  # of a batch that an earlier run may have begun
        self._last_serial = 0
        self._last_link = ""  # checksum of the change with that serial number
        self._next_number = 0
        self._open = False
        self._replication = 0.0
        self._placed_for = NodeChoice(1)
        # Three locks, so that a batch waits neither for a long submission nor for a long search for better places.
        # They are taken in this order: request, state, placer.
        self._request_lock = threading.RLock()  # held while a request is served, which may take seconds
        self._state_lock = threading.Lock()  # held while the log or pending changes are read or changed
        self._placer_lock = threading.Lock()  # held while the placer works

    def __len__(self) -> int:
        """Return the number of accepted queries, parked and waiting ones included."""
        return len(self._names.by_name)

    def open(self, checkpoint: Checkpoint, nodes: int) -> None:
        """Continue where the last run on this checkpoint ended, and accept requests."""
        found = recover_catalog(self.root, checkpoint, self._shapes.shapes)
        self.query_log = found.query_log
        self.families = found.families
        self._names = found.names
        self._pending = list(found.pending)
        self._failed = found.failed
        self._begun = found.begun
        self._last_serial = found.last_serial
        self._last_link = found.last_link
        self._next_number = found.next_number
        # The last run may have had more nodes. With this value, the first new batch places queries again whose node
        # is gone.
        self._placed_for = NodeChoice(0)
        self._placer.set_nodes(nodes)
        named = np.array([query.number for query in self._names.by_name.values()], dtype=np.int64)
        families = [family for pending in found.pending for family in pending.tables.values()]
        numbers, topics = topics_of([*found.families.by_id.values(), *families], named)
        known = pl.DataFrame({"number": numbers}).join(found.nodes, on="number", how="left", maintain_order="left")
        servers: Ints = known["node"].fill_null(-1).to_numpy()
        placed: Flags = servers >= 0
        past = remembered(self.root)
        weights = past.weights(numbers, self.query_log.members.select("number", "family"))
        self._placer.restore(numbers[placed], topics.only(placed), servers[placed], weights[placed])
        self._placer.update_rates(past.rates)
        self._placer.update_states(past.queries["number"].to_numpy(), past.queries["state_bytes"])
        self._placer.place(numbers[~placed], topics.only(~placed), weights[~placed])
        self._open = True

    def close(self) -> None:
        """Accept no further requests; a request that is being served is served to its end."""
        with self._request_lock:
            self._open = False

    def submit(
        self, given: Iterable[QueryLike], *, atomic: bool = False, weights: Mapping[str, float] = UNMEASURED
    ) -> Receipt:
        """Check each query and accept or refuse it; with `atomic`, accept all or none. Accepted queries are durable.

        `weights` is the cost of a query by family, relative to the mean of all queries; a family without one weighs 1.
        """
        with self._request_lock:
            self._check_open()
            names = self._names
            request = check_request(
                given, self._shapes, names.by_name, names.counts, self.limits, first=self._next_number
            )
            if atomic:
                request = all_or_none(request)
            if request.added.height:
                self._add(request.added, request.families, weights)
            return Receipt(tuple(request.added["name"]), tuple(request.refused))

    def _add(self, added: pl.DataFrame, families: Mapping[str, Family], weights: Mapping[str, float]) -> None:
        numbers, topics = topics_of(families.values())
        # Place first: the placer may fail, and an accepted query must have a node.
        with self._placer_lock:
            expected = added["family"].replace_strict(weights, default=1.0, return_dtype=pl.Float64)
            self._placer.place(numbers, topics, expected)
        try:
            self._append(PendingChange(Change(self._last_serial + 1, added), families))
        except BaseException:
            with self._placer_lock:
                self._placer.remove(numbers.tolist())
            raise
        # Only now are the numbers used up: no file has them if writing the change failed.
        self._next_number = int(numbers[-1]) + 1
        self._names.add(added.select("name", "number", "tenant").iter_rows())

    def _append(self, pending: PendingChange) -> None:
        """Write a change to the log; from then on, it holds."""
        change = write_change(*open_root(self.root), replace(pending.change, previous=self._last_link))
        self._last_serial = change.serial
        self._last_link = change.link
        with self._state_lock:
            self._pending.append(replace(pending, change=change))

    def drop(self, names: Sequence[str] = (), *, tenant: str | None = None, every: bool = False) -> tuple[str, ...]:
        """Drop all named queries or none, and return their names. The next batch does not run them."""
        with self._request_lock:
            self._check_open()
            chosen = self._names.select(names, tenant, every=every)
            if chosen:
                numbers = tuple(self._names.by_name[name].number for name in chosen)
                self._append(PendingChange(Change(self._last_serial + 1, dropped=numbers)))
                # The name is free at once, although the query runs until the current batch ends.
                self._names.remove(chosen)
                with self._placer_lock:
                    self._placer.remove(numbers)
            return tuple(chosen)

    def move(self, name: str, node: int) -> None:
        """Move a query with its state to another node, from the next batch on.

        The manifest of that batch makes the move durable. DroverError if the query or the node cannot be used.
        """
        with self._request_lock:
            self._check_open()
            number = self._names.number_of(name)
            with self._state_lock:
                parked = self.query_log.members.filter(pl.col("number") == number)["parked"]
                reason = self._failed.get(number, parked[0] if len(parked) else None)
            if reason is not None:
                raise DroverError(
                    f"query {shorten(name)} is parked, so it cannot move: {reason}. Drop it and submit it again first."
                )
            # The placer learns of closed nodes with the next batch only, so ask here, too.
            if node in self._closed_nodes():
                raise DroverError(
                    f"node {node} is lost or is being emptied, so query {shorten(name)} cannot move there. "
                    "Choose another node."
                )
            with self._placer_lock:
                self._placer.move(number, node)
            with self._state_lock:
                self._moved.add(number)

    def _check_open(self) -> None:
        if not self._open:
            raise DroverError("the run has ended. Start again on the same checkpoint.")

    def park(self, reasons: Mapping[int, str]) -> None:
        """Stop running queries from the next batch on, and keep the reason; an earlier reason wins."""
        with self._state_lock:
            self._failed = {**reasons, **self._failed}

    def update_rates(self, rates: Mapping[Topic, float]) -> float:
        """Give the placer measured rates of topics, in bytes per second, and return the replication.

        The replication is the mean number of nodes that a row is sent to. While the placer is busy, this returns the
        last known value and ignores the rates, because a batch must not wait.
        """
        if self._placer_lock.acquire(blocking=False):
            try:
                self._placer.update_rates(rates)
                self._replication = self._placer.replication
            finally:
                self._placer_lock.release()
        return self._replication

    def update_states(self, figures: pl.DataFrame) -> None:
        """Give the placer the measured bytes of state of queries, unless it is busy; FIGURES has the columns."""
        if self._placer_lock.acquire(blocking=False):
            try:
                self._placer.update_states(figures["number"].to_numpy(), figures["state_bytes"])
            finally:
                self._placer_lock.release()

    def refine(self, most: int) -> Refinement:
        """Move at most `most` queries with the next batch: off nodes above their limit, and to reduce replication.

        While the placer is busy, nothing moves.
        """
        if not self._placer_lock.acquire(blocking=False):
            return Refinement()
        try:
            found = self._placer.refine(most)
        finally:
            self._placer_lock.release()
        with self._state_lock:
            self._moved.update(found.numbers)
        return found

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the queries of the current batch, and those that wait for their first batch."""
        with self._state_lock:
            members = self.query_log.members
            added = [pending.change.added for pending in self._pending]
            dropped = [number for pending in self._pending for number in pending.change.dropped]
        waiting = pl.concat([pl.DataFrame(schema=ADDED), *added]).filter(~pl.col("number").is_in(dropped))
        return members, waiting

    def names(self) -> Collection[str]:
        """Return the names of all accepted queries."""
        return self._names.by_name.keys()

    def number_of(self, name: str) -> int:
        """Return the number of a query; DroverError if no query has that name."""
        return self._names.number_of(name)

    def name_of(self, number: int) -> str:
        """Return the name of a query that has run."""
        found = self.query_log.members.filter(pl.col("number") == number)["name"]
        return str(found[0]) if len(found) else f"query number {number}"

    def begin(self, batch: int, nodes: int, *, again: bool) -> BatchStart:
        """Return what a batch starts with, after writing it down; a batch run `again` starts as it did before."""
        # This calls into the control loop, which has locks of its own, so do it before taking one here.
        choice = NodeChoice(nodes, frozenset(self._closed_nodes()), self._capacities(nodes))
        with self._state_lock:
            manifest = self._begun if again and not self._is_stuck(nodes) else self._next_manifest(batch, choice)
            self._begun = None
            before = self.families
            if manifest is not None:
                self._apply(manifest)
            self._store_families()
            return BatchStart(self.query_log, self.families, before)

    def _is_stuck(self, nodes: int) -> bool:
        """Return whether a batch was begun on fewer nodes, but no manifest places the queries of lost nodes again.

        Such a batch cannot have computed anything, so it may start differently.
        """
        return self._begun is None and self.query_log.live.filter(pl.col("node") >= nodes).height > 0

    def _next_manifest(self, batch: int, choice: NodeChoice) -> BatchManifest | None:
        """Return the manifest of a new batch, written to the log; None if nothing changed since the last batch."""
        placed = pl.DataFrame(schema=PLACED)
        if choice != self._placed_for or self._pending or self._moved:
            added = {number for pending in self._pending for number in pending.change.added["number"]}
            with self._placer_lock:
                # Queries may have been accepted before the placer knew of a new node. Those moved by request stay.
                waiting = added - self._moved
                replaced = self._placer.set_nodes(choice.nodes, choice.closed, choice.capacity, waiting)
                chosen = self._placer.nodes_of(sorted(added | self._moved))
            # A query may be in both tables, with the same node in each.
            placed = pl.concat([replaced, chosen]).unique("number", maintain_order=True)
            self._placed_for = choice
        if not (self._pending or self._failed or placed.height):
            return None
        before = self.query_log
        newest = (before.last_serial, before.change)
        if self._pending:
            newest = (self._pending[-1].change.serial, self._pending[-1].change.link)
        parked = parked_frame(self._failed)
        manifest = BatchManifest(batch, newest[0], placed, parked, (before.batch, before.link), newest[1])
        manifest = write_manifest(*open_root(self.root), manifest)
        self._moved.clear()
        return manifest

    def _apply(self, manifest: BatchManifest) -> None:
        """Bring the log and the families to the state that a manifest describes."""
        included = [pending for pending in self._pending if pending.change.serial <= manifest.last_serial]
        self._pending = self._pending[len(included) :]
        after = advance(self.query_log, [pending.change for pending in included], manifest)
        dropped = [number for pending in included for number in pending.change.dropped]
        changed = [manifest.placed["number"], manifest.parked["number"], pl.Series("number", dropped, pl.Int64)]
        touched = families_named(self.query_log.members, pl.concat(changed))
        self.families = update_families(self.families, after, [pending.tables for pending in included], touched)
        self.query_log = after
        # A parked query takes no rows, so it must not count as load on its node.
        parked = manifest.parked["number"].to_list()
        for number in parked:
            self._failed.pop(number, None)
        if parked:
            with self._placer_lock:
                self._placer.remove(parked)

    def _store_families(self) -> None:
        fs, path = open_root(self.root)
        # Workers read these files during the batch. A family that has not changed keeps its file.
        self.families = Families(
            {
                name: family
                if family.stored is not None
                else replace(family, stored=write_members(fs, path, family.shape, family.table))
                for name, family in self.families.by_id.items()
            }
        )

    def compact(self) -> None:
        """Delete files that are no longer needed. Call it only when the last batch that began is committed."""
        fs, path = open_root(self.root)
        with self._state_lock:
            if self.query_log.batch >= 0:
                compact(fs, path, self.query_log)
                sweep_members(fs, path, list(self.families.stored.values()))
