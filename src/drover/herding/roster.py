"""The queries of a herd: their numbers, sources, weights and servers.

Rule 1: the number of a query that has left is reused. Arrays grow and never shrink.
Rule 2: the sources of queries that have left are removed once they are the larger part.
"""

from __future__ import annotations

import numpy as np

from drover.errors import ProblemError
from drover.herding.online.state import QueryStore
from drover.herding.problem import HerdingProblem
from drover.load.arrays import Floats, Ints


class Roster:
    """Queries by number."""

    def __init__(self, *, counts_types: bool) -> None:
        nothing = np.empty(0, dtype=np.int64)
        self.store = QueryStore(nothing, nothing, nothing, np.empty(0), nothing, nothing)
        self.state = np.empty(0)  # (N,) bytes that move with a query
        self.free: Ints = nothing  # free numbers, the next one last
        self._kinds: dict[bytes, int] | None = {} if counts_types else None
        self._dead = 0  # unused entries of `source`

    def allocate(self, count: int) -> Ints:
        """Allocate numbers for new queries."""
        missing = count - len(self.free)
        if missing > 0:
            size = len(self.store.server)
            # Growing by half keeps the cost per query constant.
            more = max(missing, size // 2, 16)
            self.free = np.concatenate([np.arange(size + more - 1, size - 1, -1), self.free])
            self._extend(more)
        given = self.free[len(self.free) - count :][::-1].copy()
        self.free = self.free[: len(self.free) - count]
        return given

    def _extend(self, more: int) -> None:
        nobody = np.full(more, -1)
        zeros = np.zeros(more, dtype=np.int64)
        old = self.store
        self.store = QueryStore(
            np.concatenate([old.start, zeros]),
            np.concatenate([old.stop, zeros]),
            old.source,
            np.concatenate([old.weight, np.ones(more)]),
            np.concatenate([old.kind, nobody]),
            np.concatenate([old.server, nobody]),
        )
        self.state = np.concatenate([self.state, np.zeros(more)])

    def add(self, numbers: Ints, given: HerdingProblem) -> None:
        """Store queries, (n,), under their numbers; they have no server yet."""
        # Before the new sources are appended, so that they are not copied twice.
        self._compact()
        store = self.store
        offset = len(self.store.source)
        store.start[numbers] = offset + given.start[:-1]
        store.stop[numbers] = offset + given.start[1:]
        store.weight[numbers] = given.weight
        store.server[numbers] = -1
        self.state[numbers] = given.state
        store.kind[numbers] = self._kinds_of(given)
        self.store = store._replace(source=np.concatenate([store.source, given.source]))

    def _kinds_of(self, given: HerdingProblem) -> Ints:
        """Return the types of queries, (n,), or -1 for all if types are not counted."""
        kinds = self._kinds
        if kinds is None:
            return np.full(given.n, -1)
        return np.array(
            [kinds.setdefault(given.sources_of(q).tobytes(), len(kinds)) for q in range(given.n)], dtype=int
        )

    def _compact(self) -> None:
        """Drop the sources of queries that have left, if they are more than half."""
        if 2 * self._dead <= len(self.store.source):
            return
        here = np.flatnonzero(self.store.server >= 0)
        start, source = self.packed(here)
        self.store.start[:] = 0
        self.store.stop[:] = 0
        self.store.start[here] = start[:-1]
        self.store.stop[here] = start[1:]
        self.store = self.store._replace(source=source)
        self._dead = 0

    def packed(self, queries: Ints) -> tuple[Ints, Ints]:
        """Return the sources of queries as `start` and `source` of a problem."""
        sizes = (self.store.stop - self.store.start)[queries]
        start = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(int(start[-1])) - np.repeat(start[:-1], sizes)
        return start, self.store.source[np.repeat(self.store.start[queries], sizes) + within]

    def check_present(self, queries: Ints) -> None:
        """Refuse queries that are not live, and duplicates."""
        present = (queries >= 0) & (queries < len(self.store.server))
        present[present] = self.store.server[queries[present]] >= 0
        if not present.all():
            absent = int(queries[~present][0])
            raise ProblemError(
                f"query is {absent}, but there is no live query of that number. It may have left already."
            )
        if len(np.unique(queries)) < len(queries):
            raise ProblemError(f"queries are {queries.tolist()[:9]}, but each can leave only once. Remove duplicates.")

    def release(self, queries: Ints) -> None:
        """Free the numbers of queries that have left."""
        self._dead += int((self.store.stop - self.store.start)[queries].sum())
        self.free = np.concatenate([self.free, queries])

    def restore(self, queries: Ints, given: HerdingProblem, server: Ints, free: Ints) -> None:
        """Restore the roster from stored queries, their servers and the free numbers."""
        self.allocate(max([-1, *queries.tolist(), *free.tolist()]) + 1)
        self.add(queries, given)
        self.store.server[queries] = server
        self.free = free.copy()


def no_queries(rate: Floats, capacity: Floats, slack: float, allowance: float) -> HerdingProblem:
    """Return a problem without queries, which checks the given values."""
    nothing = np.empty(0, dtype=np.int64)
    start = np.zeros(1, dtype=np.int64)
    return HerdingProblem(start=start, source=nothing, rate=rate, capacity=capacity, slack=slack, allowance=allowance)
