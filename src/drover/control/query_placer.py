"""Placement of submitted queries on nodes, by the herding algorithm: topics are its sources, nodes its servers.

Rule 1: a topic is what a query reads of a stream: the rows with one value in one column, or all rows. Queries that
share topics are placed together, so that a row is sent to few nodes.
Rule 2: a query is placed when it is accepted. The query log keeps its node, and after a restart the placer is restored
from the log.
Rule 3: when nodes are lost, only their queries are placed again. When nodes are added, no query moves: new queries go
there, and `refine` moves others within its budget.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import ArrayLike

from drover.control.node_shares import NodeShares, share_out
from drover.control.refinement import STATELESS, Refinement
from drover.errors import DroverError
from drover.flow.query_log.log import PLACED
from drover.herding.herd import Herd, Snapshot
from drover.load.arrays import Flags, Floats, Ints

POLICY = "gather"
UNLIKE = 0.1  # relative change of a node's share of the capacity that is taken over; less is noise of the measurement
LEAST = 4_096  # topics; below this number, unused ones are not worth forgetting


@dataclass(frozen=True, slots=True, eq=False)
class TopicsRead:
    """The topics of queries, as arrays: query q reads `topics[t]` for every t in `topic[start[q] : start[q + 1]]`.

    No topic is there twice, and no query reads one twice.
    """

    topics: Sequence[Hashable]
    start: Ints  # (n + 1,)
    topic: Ints  # (start[n],)

    def only(self, chosen: Flags) -> TopicsRead:
        """Return the topics of some of the queries, (n,)."""
        counts = np.diff(self.start)
        start = np.concatenate([[0], np.cumsum(counts[chosen])])
        return TopicsRead(self.topics, start, self.topic[np.repeat(chosen, counts)])


class QueryPlacer:
    """Places the queries of one run. The first call compiles kernels, which may take ten seconds."""

    def __init__(
        self,
        nodes: int,
        rng: Generator,
        closed: Collection[int] = (),
        policy: str = POLICY,
        expected: Sequence[tuple[Sequence[Hashable], float]] = (),
    ) -> None:
        self._rng = rng
        self._expected = expected  # topics of a type, and how many queries of it
        self._shares: NodeShares | None = None  # of the expected queries, on the nodes of `_shared_on`
        self._shared_on: Floats = np.empty(0)
        self._policy = policy
        self._sizes = _sizes(nodes, closed)  # (nodes,)
        self._topics: dict[Hashable, int] = {}
        self._rates: list[float] = []
        self._measured: list[bool] = []  # whether a rate is measured; the others are the usual one
        self._usual = 1.0  # mean of the rates that were measured last
        # The herd numbers its queries itself and reuses numbers; the query log never does.
        self._member_of: dict[int, int] = {}  # number in the query log, by number in the herd
        self._number_of: dict[int, int] = {}  # number in the herd, by number in the query log
        self._herd: Herd | None = None
        self._known = 0  # topics that the herd knows
        self._many = LEAST  # topics; beyond this number, unused ones are forgotten

    @property
    def replication(self) -> float:
        """Mean number of nodes that a row is sent to, weighted by the rates of topics; 0 without queries."""
        if self._herd is None or not self._number_of:
            return 0.0
        return float(np.nan_to_num(self._herd.observe().replication))

    def place(self, members: Sequence[int] | Ints, topics: TopicsRead, weights: ArrayLike) -> pl.DataFrame:
        """Place new queries, and return `number` and `node` of each; `weights` are their expected costs."""
        if not len(members):
            return pl.DataFrame(schema=PLACED)
        start, source = self._packed(topics)
        preferred = self._preferred(start, source)
        if self._herd is None:
            self._herd = self._fresh(self._sizes)
        elif self._known < len(self._rates):
            self._herd.add_sources(self._rates[self._known :])
        self._known = len(self._rates)
        numbers = self._herd.arrive_many(start, source, weights, np.full(len(members), STATELESS), preferred)
        self._map(members, numbers)
        return self.nodes_of(members)

    def restore(
        self, members: Sequence[int] | Ints, topics: TopicsRead, nodes: ArrayLike, weights: ArrayLike = ()
    ) -> None:
        """Add queries that have nodes already. The next `set_nodes` places those again whose node is closed or gone."""
        if not len(members):
            return
        start, source = self._packed(topics)
        server: Ints = np.asarray(nodes, dtype=np.int64)
        most = max(len(self._sizes), int(server.max()) + 1)
        # The log may name nodes beyond those of this run.
        capacity = np.ones(most)  # as the last run had it; `set_nodes` brings it up to date
        count = np.arange(len(members))
        self._known = len(self._rates)
        self._herd = Herd.restored(
            Snapshot(
                policy=self._policy,
                slack=0.05,
                allowance=10.0,
                rate=np.array(self._rates),
                capacity=capacity,
                query=count,
                start=start,
                source=source,
                weight=np.asarray(weights, dtype=np.float64) if np.size(weights) else np.ones(len(members)),
                state=np.full(len(members), STATELESS),
                server=server,
                free=np.empty(0, dtype=np.int64),
                arrived=len(members),
                turn=0,
            ),
            self._rng,
        )
        self._map(members, count)

    def remove(self, members: Sequence[int]) -> None:
        """Remove queries; unknown numbers are ignored."""
        numbers = [self._number_of.pop(member) for member in members if member in self._number_of]
        for number in numbers:
            del self._member_of[number]
        if numbers and self._herd is not None:
            self._herd.leave_many(numbers)
            if len(self._topics) > self._many:
                self._forget(self._herd.snapshot())

    def _forget(self, saved: Snapshot) -> None:
        """Forget unused topics; otherwise a long run would keep every constant that any query ever had."""
        used, source = np.unique(saved.source, return_inverse=True)
        kept = set(used.tolist())
        self._topics = {topic: int(np.searchsorted(used, t)) for topic, t in self._topics.items() if t in kept}
        self._rates = [self._rates[t] for t in used]
        self._measured = [self._measured[t] for t in used]
        self._shares = None  # it has the old numbers of topics
        self._known = len(used)
        self._many = max(2 * len(used), LEAST)  # doubling keeps the cost per added topic constant
        self._herd = Herd.restored(replace(saved, rate=np.array(self._rates), source=source), self._rng)

    def move(self, member: int, node: int) -> None:
        """Move a query to a node; DroverError if either does not exist or the node is closed."""
        if self._herd is None or member not in self._number_of:
            raise DroverError("the query is gone or parked, so it is on no node. See drover queries.")
        nodes = len(self._sizes)
        if not 0 <= node < nodes:
            raise DroverError(f"node is {node}, but the nodes are 0 to {nodes - 1}. Name one of them.")
        if self._sizes[node] <= 0:
            raise DroverError(
                f"node {node} is lost or is being emptied, so no query can move there. Choose another node."
            )
        self._herd.relocate(self._number_of[member], node)

    def refine(self, most: float) -> Refinement:
        """Move queries off nodes above their limit, and then queries whose rows then travel to fewer nodes.

        All moves together are charged at most `most`, see `Refinement.charge`.
        """
        if self._herd is None or not self._number_of:
            return Refinement()
        before = self._herd.snapshot()
        unit = float(before.state.mean())
        was = self.replication
        relieved = [move.query for move in self._herd.relieve(most * unit, queries=most)]
        left = most * unit - self._bytes(before, relieved)
        self._herd.refine(max(left, 0.0), queries=most - len(relieved))
        moved = before.query[before.server != self._herd.servers_of(before.query)].tolist()
        return Refinement(
            tuple(sorted(self._member_of[query] for query in moved)),
            len(set(relieved) & set(moved)),
            self._bytes(before, moved) - STATELESS * len(moved),
            unit,
            was,
            self.replication,
        )

    def _bytes(self, saved: Snapshot, queries: Sequence[int]) -> float:
        return float(saved.state[np.isin(saved.query, queries)].sum())

    def update_states(self, members: Sequence[int] | Ints, sizes: ArrayLike) -> None:
        """Take the measured bytes of state of queries, (n,); unknown numbers are ignored."""
        numbers = [self._number_of.get(member, -1) for member in np.asarray(members, dtype=np.int64).tolist()]
        found: Ints = np.array(numbers, dtype=np.int64)
        here = found >= 0
        if here.any() and self._herd is not None:
            self._herd.set_state(found[here], np.asarray(sizes, dtype=np.float64)[here] + STATELESS)

    def nodes_of(self, members: Sequence[int] | Ints) -> pl.DataFrame:
        """Return `number` and `node` of queries; those that are not placed are left out."""
        here = [member for member in np.asarray(members, dtype=np.int64).tolist() if member in self._number_of]
        if not here or self._herd is None:
            return pl.DataFrame(schema=PLACED)
        nodes = self._herd.servers_of([self._number_of[member] for member in here])
        return pl.DataFrame({"number": here, "node": nodes}, schema=PLACED)

    def set_nodes(
        self,
        nodes: int,
        closed: Collection[int] = (),
        capacity: Sequence[float] = (),
        waiting: Collection[int] = (),
    ) -> pl.DataFrame:
        """Change the nodes, and return `number` and `node` of the queries that are placed again.

        These are the queries of nodes that are closed or gone, and those of `waiting`, which have not run yet and so
        move for nothing. `capacity` is what each node can spend, in any unit.
        """
        self._sizes = _sizes(nodes, closed, capacity)
        if self._herd is None:
            return pl.DataFrame(schema=PLACED)
        now = self._herd.capacity
        # The herd keeps a server for every node it ever had; those beyond `nodes` get capacity 0.
        sizes = np.zeros(max(len(now), nodes))
        sizes[:nodes] = self._sizes
        if _similar(now, sizes):
            return pl.DataFrame(schema=PLACED)
        saved = self._herd.snapshot()
        fresh = [self._number_of[member] for member in waiting if member in self._number_of]
        orphaned = (sizes[saved.server] <= 0) | np.isin(saved.query, fresh)
        self._rebuild(saved, sizes, orphaned)
        return self._place_again(saved, orphaned)

    def update_rates(self, rates: Mapping[Any, float]) -> None:  # Any: topics
        """Take the measured rates of topics, in any unit. Topics that were never measured get their mean."""
        changed = {self._topics[topic]: rate for topic, rate in rates.items() if topic in self._topics}
        if not changed:
            return
        self._usual = sum(changed.values()) / len(changed)
        for number, rate in changed.items():
            self._rates[number] = rate
            self._measured[number] = True
        self._rates = [rate if known else self._usual for rate, known in zip(self._rates, self._measured, strict=True)]
        if self._herd is not None and self._known == len(self._rates):
            self._herd.set_rates(self._rates)

    def _rebuild(self, saved: Snapshot, sizes: Floats, orphaned: Flags) -> None:
        """Rebuild the herd with new capacities and without the orphaned queries."""
        stay = np.flatnonzero(~orphaned)
        lengths = np.diff(saved.start)
        kept = np.repeat(~orphaned, lengths)
        self._herd = Herd.restored(
            replace(
                saved,
                capacity=sizes,
                query=saved.query[stay],
                start=np.concatenate([[0], np.cumsum(lengths[stay])]),
                source=saved.source[kept],
                weight=saved.weight[stay],
                state=saved.state[stay],
                server=saved.server[stay],
                # Their numbers are free again; otherwise the herd would grow with every lost node.
                free=np.concatenate([saved.query[orphaned], saved.free]),
                # They arrive again. Counted twice, they would look like queries that have left.
                arrived=saved.arrived - int(orphaned.sum()),
            ),
            self._rng,
        )

    def _place_again(self, saved: Snapshot, orphaned: Flags) -> pl.DataFrame:
        """Place the orphaned queries as if they were new."""
        lengths = np.diff(saved.start)[orphaned]
        members = [self._member_of[number] for number in saved.query[orphaned].tolist()]
        if not members or self._herd is None:
            return pl.DataFrame(schema=PLACED)
        source = saved.source[np.repeat(orphaned, np.diff(saved.start))]
        start = np.concatenate([[0], np.cumsum(lengths)])
        # Of topics that the herd does not know yet, no query is there.
        preferred = self._preferred(start, source)
        numbers = self._herd.arrive_many(start, source, saved.weight[orphaned], saved.state[orphaned], preferred)
        for number in saved.query[orphaned].tolist():
            del self._member_of[number]
        self._map(members, numbers)
        return self.nodes_of(members)

    def _packed(self, read: TopicsRead) -> tuple[Ints, Ints]:
        """Return the topics of queries as the arrays of a herding problem; new topics get numbers."""
        found = self._numbers(read.topics)
        source = found[read.topic]
        query = np.repeat(np.arange(len(read.start) - 1), np.diff(read.start))
        return read.start, source[np.lexsort((source, query))]

    def _numbers(self, topics: Iterable[Hashable]) -> Ints:
        numbers = self._topics
        found = np.array([numbers.setdefault(topic, len(numbers)) for topic in topics], dtype=np.int64)
        more = len(numbers) - len(self._rates)
        self._rates += [self._usual] * more  # until they are measured
        self._measured += [False] * more
        return found

    def _preferred(self, start: Ints, source: Ints) -> Floats:
        """Return the node that each query prefers, (n,), or -1; empty if no queries are expected."""
        if not self._expected:
            return np.empty(0)
        if self._shares is None or not np.array_equal(self._shared_on, self._sizes):
            counts: dict[tuple[int, ...], float] = {}
            for topics, count in self._expected:
                of_type = tuple(sorted(self._numbers(topics).tolist()))
                counts[of_type] = counts.get(of_type, 0.0) + count
            types = [np.array(one, dtype=np.int64) for one in counts]
            rates = np.array(self._rates)
            self._shares = share_out(types, np.array([*counts.values()]), rates, self._sizes)
            self._shared_on = self._sizes
        return self._shares.preferred(start, source, self._rng.random(len(start) - 1))

    def _fresh(self, sizes: Floats) -> Herd:
        # The herd starts with all servers and then closes some: a capacity of 0 is not allowed at the start.
        herd = Herd(self._rates, np.where(sizes > 0, sizes, 1.0), self._rng, self._policy)
        for node in np.flatnonzero(sizes <= 0).tolist():
            herd.remove_server(node)
        return herd

    def _map(self, members: Sequence[int] | Ints, numbers: Ints) -> None:
        # Lists, because dicts of numpy's own integers would be large and slow.
        placed = np.asarray(members, dtype=np.int64).tolist()
        self._number_of.update(zip(placed, numbers.tolist(), strict=True))
        self._member_of.update(zip(numbers.tolist(), placed, strict=True))


def _sizes(nodes: int, closed: Collection[int], capacity: Sequence[float] = ()) -> Floats:
    """Return the size of each node: its capacity relative to the mean, or 0 if it is closed.

    A capacity that is not given is 1. If all nodes are closed, queries must run anyway, so all are open.
    """
    given = np.array([*capacity[:nodes], *[1.0] * (nodes - len(capacity))])
    given = given / given.mean()
    open_ones = np.array([node not in closed for node in range(nodes)])
    return np.where(open_ones, given, 0.0) if open_ones.any() else given


def _similar(now: Floats, wanted: Floats) -> bool:
    """Return whether the same nodes are open, with about the same shares of the capacity."""
    if len(now) != len(wanted) or ((now > 0) != (wanted > 0)).any():
        return False
    shares = now / now.sum()
    return bool((np.abs(wanted / wanted.sum() - shares) <= UNLIKE * shares).all())
