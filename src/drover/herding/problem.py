"""The assignment problem: queries that subscribe to sources, and servers that share the queries.

Rule 1: letters are those of the text [Zong15]: query q of n, source s of m, server j of k, type t; d sources per query.
Rule 2: a HerdingProblem is valid: some assignment is within its limits, and every greedy one can be.
Rule 3: weights and rates are multiples of a grain, a power of two. So their sums are exact in any order, and state that
is updated incrementally equals state that is computed from scratch, bit for bit.

[Zong15] is B. Zong, C. Gkantsidis, M. Vojnovic: Herding "small" streaming queries, MSR-TR-2015-26.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from drover.errors import ProblemError
from drover.load.arrays import Floats, Ints, frozen

GRAIN: Final = 2.0**-24  # of weights; sums are exact up to 5e8
RATE_GRAIN: Final = 2.0**-14  # of rates; sums are exact up to 5e11
ROUNDING: Final = 1e-12  # relative tolerance: rounding must not push (1 + nu) n / k below a whole number


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HerdingProblem:
    """The queries to assign, and how evenly."""

    start: Ints  # (n + 1,) the sources of query q are source[start[q] : start[q + 1]]
    source: Ints  # (start[n],) ascending within a query
    rate: Floats  # (m,) tuples, or bytes, per second of source s
    capacity: Floats  # (k,) size of server j, in any unit
    weight: Floats = field(default_factory=_no_floats)  # (n,) load of query q, 1 by default
    state: Floats = field(default_factory=_no_floats)  # (n,) bytes that move with query q, 1 by default
    slack: float = 0.05  # nu: a server may have this fraction more than its share
    allowance: float = 10.0  # alpha: or this much more load, whichever is larger; for arrivals only

    def __post_init__(self) -> None:
        """Fill in defaults, store read-only copies, and refuse contradictions."""
        n = max(np.size(self.start) - 1, 0)
        self._store_subscriptions()
        self._store("rate", round_to(self.rate, RATE_GRAIN), None)
        self._store("capacity", self.capacity, None, positive=True)
        weight = self.weight if np.size(self.weight) else np.ones(n)
        self._store("weight", round_to(weight, GRAIN), n, positive=True)
        self._store("state", self.state if np.size(self.state) else np.ones(n), n)
        if not len(self.capacity):
            raise ProblemError("capacity is empty, but there must be at least one server. Set one size per server.")
        for name in ("slack", "allowance"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ProblemError(f"{name} is {value}, but must be at least 0 and finite. Use 0 for no slack.")
        if len(self.source) and not 0 <= int(self.source.min()) <= int(self.source.max()) < self.m:
            wrong = next(int(s) for s in self.source if not 0 <= s < self.m)
            raise ProblemError(f"source is {wrong}, but the sources are 0 to {self.m - 1}. Set its rate, too.")

    def _store(self, name: str, given: ArrayLike, length: int | None, *, positive: bool = False) -> None:
        array = np.asarray(given, dtype=np.float64)
        if array.ndim != 1 or (length is not None and len(array) != length):
            wanted = "one row of numbers" if length is None else f"one number for each of {length} queries"
            raise ProblemError(f"{name} has shape {array.shape}, but must be {wanted}. Set one for each.")
        wrong = ~np.isfinite(array) | (array <= 0 if positive else array < 0)
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise ProblemError(
                f"{name}[{at}] is {array[at]:g}, but must be {'above' if positive else 'at least'} 0 and finite. "
                "Correct the number, or remove its entry."
            )
        object.__setattr__(self, name, frozen(array))

    def _store_subscriptions(self) -> None:
        start = np.asarray(self.start, dtype=np.int64)
        source = np.asarray(self.source, dtype=np.int64)
        sizes = np.diff(start)
        if start.ndim != 1 or not len(start) or start[0] != 0 or start[-1] != len(source) or (sizes < 0).any():
            raise ProblemError(
                f"start has shape {start.shape}, but must rise from 0 to {len(source)}, the length of source. "
                "Set the start of each query's sources, followed by the total number."
            )
        if (sizes == 0).any():
            q = int(np.flatnonzero(sizes == 0)[0])
            raise ProblemError(f"query {q} has no source, but must have one. Remove it, or add a source.")
        rising = np.diff(source) > 0
        rising[start[1:-1] - 1] = True  # the sources may decrease from one query to the next
        if not rising.all():
            q = int(np.searchsorted(start, np.flatnonzero(~rising)[0], side="right")) - 1
            raise ProblemError(
                f"the sources of query {q} are {source[start[q] : start[q + 1]].tolist()}, but must be distinct and "
                "ascending. Sort them, and remove duplicates."
            )
        object.__setattr__(self, "start", frozen(start))
        object.__setattr__(self, "source", frozen(source))

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.start) - 1

    @property
    def m(self) -> int:
        """The number of sources."""
        return len(self.rate)

    @property
    def k(self) -> int:
        """The number of servers."""
        return len(self.capacity)

    @property
    def share(self) -> Floats:
        """Each server's share of all capacity, (k,)."""
        return np.asarray(self.capacity / self.capacity.sum())

    @property
    def plain(self) -> bool:
        """Whether all queries weigh 1 and all servers are equal, as in the text."""
        return bool((self.weight == 1).all() and (self.capacity == self.capacity[0]).all())

    def limits(self) -> Floats:
        """Return the load up to which each server may be filled, (k,).

        It is (1 + nu) times its share. If queries are coarse, it is the share plus the largest query, minus half the
        smallest query divided by k. That always suffices: if a query fitted nowhere, every server would hold its share
        but for that little, and all servers together more than the load of all other queries. With unit weights it is
        max(floor((1 + nu) n / k), ceil(n / k)).
        """
        if not self.n:
            return np.zeros(self.k)
        fair = self.weight.sum() * self.share
        least = float(self.weight.min())
        largest = float(self.weight.max())
        coarse = fair + largest - least / 2 / self.k
        limits = np.maximum((1 + self.slack) * fair * (1 + ROUNDING), coarse)
        # A multiple of the grain, like the loads that are compared with it (rule 3).
        return np.asarray(np.floor(limits / GRAIN) * GRAIN)

    def sources_of(self, q: int) -> Ints:
        """Return the sources of a query."""
        return self.source[self.start[q] : self.start[q + 1]]

    def types(self) -> Ints:
        """Return the type of each query, (n,): equal numbers for equal sets of sources, in order of the sets."""
        sizes = np.diff(self.start)
        rank = np.zeros(self.n, dtype=np.int64)
        for column in range(int(sizes.max()) if self.n else 0):
            there = sizes > column
            value = np.full(self.n, -1)
            value[there] = self.source[self.start[:-1][there] + column]
            # Column by column, like a radix sort: queries with equal ranks agree in all columns so far.
            rank = np.unique(rank * (self.m + 1) + value + 1, return_inverse=True)[1]
        return rank

    def degrees(self) -> Ints:
        """Return the number of queries that subscribe to each source, (m,)."""
        return np.bincount(self.source, minlength=self.m)


def round_to(values: ArrayLike, grain: float) -> Floats:
    """Return values as multiples of a grain; positive values stay positive."""
    array = np.asarray(values, dtype=np.float64)
    rounded = np.round(array / grain) * grain
    # A weight of 0 would let any number of queries onto one server.
    return np.asarray(np.where((array > 0) & (rounded == 0), grain, rounded))
