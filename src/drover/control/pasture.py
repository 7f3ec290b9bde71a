"""Which node a submitted query runs on: topics as the sources of a herd, nodes as its servers.

Rule 1: a topic is what a query wants to see of a stream: the rows with one value in one column, or all of them; queries
that share topics are herded together, so that a row travels to few nodes.
Rule 2: the herd decides when queries come; what it has decided is in the book, and from the book it is made again.
Rule 3: who loses a node is placed again, and nobody else moves; when there are more nodes, all are placed again.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import ArrayLike

from drover.errors import DroverError
from drover.flow.book.book import PLACED
from drover.herding.herd import Herd, Snapshot
from drover.load.arrays import Flags, Floats, Ints

POLICY = "gather"
LEAST = 4_096  # topics that are kept, whether somebody wants them or not
Topics = Sequence[Hashable]  # of one query


class Pasture:
    """Places the queries of one run. The first call compiles the herd's kernels, which may take ten seconds."""

    def __init__(self, nodes: int, rng: Generator, closed: Collection[int] = (), policy: str = POLICY) -> None:
        self._rng, self._policy = rng, policy
        self._sizes = _sizes(nodes, closed)
        self._topics: dict[Hashable, int] = {}
        self._rates: list[float] = []
        self._member_of: dict[int, int] = {}  # of the herd's numbers
        self._number_of: dict[int, int] = {}  # the other way round
        self._herd: Herd | None = None
        self._known = 0  # topics that the herd has heard of
        self._many = LEAST  # topics, after which those that nobody wants are forgotten

    @property
    def replication(self) -> float:
        """Mean number of nodes that a row of a wanted topic travels to, by rates; 0 without queries."""
        if self._herd is None or not self._number_of:
            return 0.0
        return float(np.nan_to_num(self._herd.observe().replication))

    def place(self, members: Sequence[int], topics: Sequence[Topics], weights: ArrayLike) -> pl.DataFrame:
        """Take in queries, and return their nodes: `number` and `node`."""
        if not members:
            return pl.DataFrame(schema=PLACED)
        start, source = self._packed(topics)
        if self._herd is None:
            self._herd = self._fresh(self._sizes)
        elif self._known < len(self._rates):
            self._herd.add_sources(self._rates[self._known :])
        self._known = len(self._rates)
        numbers = self._herd.arrive_many(start, source, weights)
        self._note(members, numbers)
        return self.nodes_of(members)

    def restore(self, members: Sequence[int], topics: Sequence[Topics], nodes: ArrayLike) -> None:
        """Take in queries that have their nodes; those whose node is closed or gone wait for `settle`."""
        if not members:
            return
        start, source = self._packed(topics)
        server: Ints = np.asarray(nodes, dtype=np.int64)
        most = max(len(self._sizes), int(server.max()) + 1)
        capacity = np.ones(most)  # of a herd as it was; `settle` makes it one as it is
        count = np.arange(len(members))
        self._known = len(self._rates)
        self._herd = Herd.restored(
            Snapshot(
                policy=self._policy, slack=0.05, allowance=10.0, rate=np.array(self._rates), capacity=capacity,
                query=count, start=start, source=source, weight=np.ones(len(members)),
                state=np.zeros(len(members)), server=server, free=np.empty(0, dtype=np.int64),
                arrived=len(members), turn=0,
            ),
            self._rng,
        )  # fmt: skip
        self._note(members, count)

    def leave(self, members: Sequence[int]) -> None:
        """Let queries go."""
        numbers = [self._number_of.pop(member) for member in members if member in self._number_of]
        for number in numbers:
            del self._member_of[number]
        if numbers and self._herd is not None:
            self._herd.leave_many(numbers)
            if len(self._topics) > self._many:
                self._forget(self._herd.snapshot())

    def _forget(self, saved: Snapshot) -> None:
        """Forget the topics that nobody wants, or a run would remember every constant that it was ever asked for."""
        used, source = np.unique(saved.source, return_inverse=True)
        kept = set(used.tolist())
        self._topics = {topic: int(np.searchsorted(used, t)) for topic, t in self._topics.items() if t in kept}
        self._rates = [self._rates[t] for t in used]
        self._known = len(used)
        self._many = max(2 * len(used), LEAST)  # so that it takes no longer than to take in as many
        self._herd = Herd.restored(replace(saved, rate=np.array(self._rates), source=source), self._rng)

    def move(self, member: int, node: int) -> None:
        """Let a query be on a node, as somebody wishes; DroverError if either is not there, or the node is closed."""
        if self._herd is None or member not in self._number_of:
            raise DroverError("the query is gone or parked, so it is on no node. See drover queries.")
        nodes = len(self._sizes)
        if not 0 <= node < nodes:
            raise DroverError(f"node is {node}, but the nodes are 0 to {nodes - 1}. Name one of them.")
        if self._sizes[node] <= 0:
            raise DroverError(
                f"node {node} is lost or is being emptied, so no query can go there. Choose another node."
            )
        self._herd.relocate(self._number_of[member], node)

    def refine(self, most: int) -> list[int]:
        """Move at most so many queries so that rows travel to fewer nodes, and return who moves."""
        if self._herd is None:
            return []
        return [self._member_of[move.query] for move in self._herd.refine(queries=most)]

    def nodes_of(self, members: Sequence[int]) -> pl.DataFrame:
        """Return where queries are: `number` and `node`; those that are not here are left out."""
        here = [member for member in members if member in self._number_of]
        if not here or self._herd is None:
            return pl.DataFrame(schema=PLACED)
        nodes = self._herd.servers_of([self._number_of[member] for member in here])
        return pl.DataFrame({"number": here, "node": nodes}, schema=PLACED)

    def settle(self, nodes: int, closed: Collection[int] = ()) -> pl.DataFrame:
        """Take other nodes, and return who is placed again: `number` and `node`."""
        before, self._sizes = self._sizes, _sizes(nodes, closed)
        if self._herd is None:
            return pl.DataFrame(schema=PLACED)
        saved = self._herd.snapshot()
        sizes = np.zeros(max(len(saved.capacity), nodes))
        sizes[:nodes] = self._sizes
        if np.array_equal(sizes[: len(saved.capacity)], saved.capacity) and len(sizes) == len(saved.capacity):
            return pl.DataFrame(schema=PLACED)
        grows = bool((self._sizes[: len(before)] > before[:nodes]).any()) or nodes > len(before)
        homeless = np.full(len(saved.query), fill_value=True) if grows else sizes[saved.server] <= 0
        self._rebuild(saved, sizes, homeless)
        return self._again(saved, homeless)

    def measure(self, rates: Mapping[Any, float]) -> None:  # Any: topics
        """Take the measured rates of topics, in rows per second; those that are not named keep theirs."""
        changed = {self._topics[topic]: rate for topic, rate in rates.items() if topic in self._topics}
        for number, rate in changed.items():
            self._rates[number] = rate
        if changed and self._herd is not None and self._known == len(self._rates):
            self._herd.set_rates(self._rates)

    def _rebuild(self, saved: Snapshot, sizes: Floats, homeless: Flags) -> None:
        """Make the herd again with other servers, without those that have lost theirs."""
        stay = np.flatnonzero(~homeless)
        lengths = np.diff(saved.start)
        kept = np.repeat(~homeless, lengths)
        self._herd = Herd.restored(
            replace(
                saved, capacity=sizes, query=saved.query[stay],
                start=np.concatenate([[0], np.cumsum(lengths[stay])]), source=saved.source[kept],
                weight=saved.weight[stay], state=saved.state[stay], server=saved.server[stay],
                free=np.concatenate([saved.query[homeless], saved.free]),
            ),
            self._rng,
        )  # fmt: skip

    def _again(self, saved: Snapshot, homeless: Flags) -> pl.DataFrame:
        """Let those arrive again that have lost their servers."""
        lengths = np.diff(saved.start)[homeless]
        members = [self._member_of[number] for number in saved.query[homeless].tolist()]
        if not members or self._herd is None:
            return pl.DataFrame(schema=PLACED)
        source = saved.source[np.repeat(homeless, np.diff(saved.start))]
        start = np.concatenate([[0], np.cumsum(lengths)])
        numbers = self._herd.arrive_many(start, source, saved.weight[homeless], saved.state[homeless])
        for number in saved.query[homeless].tolist():
            del self._member_of[number]
        self._note(members, numbers)
        return self.nodes_of(members)

    def _packed(self, topics: Sequence[Topics]) -> tuple[Ints, Ints]:
        """Return the topics of queries as the arrays of a problem; new topics get numbers."""
        numbers = self._topics
        rows = []
        for wanted in topics:
            for topic in wanted:
                if topic not in numbers:
                    numbers[topic] = len(numbers)
                    self._rates.append(1.0)
            rows.append(sorted({numbers[topic] for topic in wanted}))
        start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        return start, np.array([number for row in rows for number in row], dtype=np.int64)

    def _fresh(self, sizes: Floats) -> Herd:
        herd = Herd(self._rates, np.where(sizes > 0, sizes, 1.0), self._rng, self._policy)
        for node in np.flatnonzero(sizes <= 0).tolist():
            herd.remove_server(node)
        return herd

    def _note(self, members: Sequence[int], numbers: Ints) -> None:
        for member, number in zip(members, numbers.tolist(), strict=True):
            self._number_of[member] = number
            self._member_of[number] = member


def _sizes(nodes: int, closed: Collection[int]) -> Floats:
    """Return the capacity of each node: 1, or 0 for one that is closed; with all closed, as if none were."""
    open_ones = np.array([float(node not in closed) for node in range(nodes)])
    return open_ones if open_ones.any() else np.ones(nodes)
