"""A herd: queries that come and go, on servers that come and go.

Rule 1: a runtime holds a herd, which decides at once and updates its state incrementally.
Rule 2: the state follows from the queries and their servers, so a snapshot holds little else.
Rule 3: the herd numbers its queries; it reuses the number of a query that has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from drover.errors import ProblemError
from drover.herding.online.play import HerdSnapshot, draws_for, number_of, observe, play, rebuild_state
from drover.herding.online.state import (
    ARRIVED,
    LEAST_TYPES,
    LIVE,
    RESERVED,
    TURN,
    HerdState,
    Rules,
    empty_state,
    with_server,
)
from drover.herding.problem import RATE_GRAIN, HerdingProblem, round_to
from drover.herding.refine import refine
from drover.herding.relief import relieve
from drover.herding.roster import Roster, no_queries
from drover.load.arrays import Floats, Ints, frozen


@dataclass(frozen=True, slots=True)
class PlacedQuery:
    """A query and its server."""

    query: int
    server: int


@dataclass(frozen=True, slots=True)
class QueryMove:
    """A query that has moved to another server."""

    query: int
    source: int  # the server it was on, which may have been removed
    target: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Snapshot:
    """A herd as arrays, to be stored."""

    policy: str
    slack: float
    allowance: float
    rate: Floats  # (m,)
    capacity: Floats  # (K,) 0 for a removed server
    query: Ints  # (n,) numbers of the queries
    start: Ints  # (n + 1,)
    source: Ints
    weight: Floats  # (n,)
    state: Floats  # (n,) bytes
    server: Ints  # (n,)
    free: Ints  # free numbers, the next one last
    arrived: int  # number of arrivals so far
    turn: int  # next server of round-robin


class Herd:
    """Assigns queries to servers as they arrive."""

    def __init__(
        self,
        rate: ArrayLike,
        capacity: ArrayLike,
        rng: Generator,
        policy: str = "gather",
        *,
        slack: float = 0.05,
        allowance: float = 10.0,
    ) -> None:
        sizes = np.asarray(capacity, dtype=np.float64)
        rates = np.asarray(rate, dtype=np.float64)
        checked = no_queries(rates, sizes, slack, allowance)
        self.policy = policy
        self._rules = Rules(number_of(policy), slack, allowance)
        self._rng = rng
        self._state: HerdState = empty_state(checked.rate, checked.capacity)
        self._roster = Roster(counts_types=self._rules.policy == LEAST_TYPES)

    @property
    def live(self) -> int:
        """The number of live queries."""
        return int(self._state.totals[LIVE])

    @property
    def servers(self) -> list[int]:
        """The existing servers."""
        return np.flatnonzero(self._state.capacity > 0).tolist()

    @property
    def capacity(self) -> Floats:
        """The size of each server, (K,); 0 for a removed one."""
        return frozen(self._state.capacity)

    @property
    def loads(self) -> Floats:
        """The load of each server, (K,)."""
        return frozen(self._state.load)

    @property
    def traffic(self) -> Floats:
        """The rate of the sources that each server receives, (K,)."""
        return frozen(self._state.traffic)

    def observe(self) -> HerdSnapshot:
        """Return the current measures."""
        return observe(self._state, self._state.totals[ARRIVED])

    def server_of(self, query: int) -> int:
        """Return the server of a live query."""
        self._roster.check_present(np.array([query]))
        return int(self._roster.store.server[query])

    def servers_of(self, queries: Sequence[int] | Ints) -> Ints:
        """Return the servers of live queries, (n,)."""
        numbers = np.asarray(queries, dtype=np.int64)
        self._roster.check_present(numbers)
        return frozen(self._roster.store.server[numbers])

    def arrive(self, sources: Sequence[int], weight: float = 1.0, state: float = 0.0) -> PlacedQuery:
        """Add a query, and return its number and its server; `state` is the number of bytes that move with it."""
        ordered = np.unique(np.asarray(sources, dtype=np.int64))
        (query,) = self.arrive_many(np.array([0, len(ordered)]), ordered, [weight], [state]).tolist()
        return PlacedQuery(query, int(self._roster.store.server[query]))

    def arrive_many(
        self,
        start: ArrayLike,
        source: ArrayLike,
        weight: ArrayLike = (),
        state: ArrayLike = (),
        preferred: ArrayLike = (),
    ) -> Ints:
        """Add queries in order, given as the arrays of a problem; return their numbers, (n,).

        With `preferred`, (n,), a query goes to this server if it is open; -1 for none. Then, `gather` decides.
        """
        given = HerdingProblem(
            start=np.asarray(start, dtype=np.int64),
            source=np.asarray(source, dtype=np.int64),
            rate=self._state.rate,
            capacity=np.ones(1),
            weight=np.asarray(weight, dtype=np.float64),
            state=np.asarray(state, dtype=np.float64) if np.size(state) else np.zeros(np.size(start) - 1),
        )
        # The problem has checked everything by now: an invalid query changes nothing.
        numbers = self._roster.allocate(given.n)
        self._roster.add(numbers, given)
        self._process(numbers, arrives=True, preferred=np.asarray(preferred, dtype=np.float64))
        return numbers

    def leave(self, query: int) -> None:
        """Remove a query."""
        self.leave_many([query])

    def leave_many(self, queries: Sequence[int] | Ints) -> None:
        """Remove queries, in order."""
        numbers = np.asarray(queries, dtype=np.int64)
        self._roster.check_present(numbers)
        self._process(numbers, arrives=False)
        self._roster.release(numbers)

    def add_source(self, rate: float) -> int:
        """Add a source with this rate, and return its number."""
        return self.add_sources([rate])

    def add_sources(self, rates: ArrayLike) -> int:
        """Add sources with these rates, and return the number of the first."""
        old = self._state
        new = round_to(rates, RATE_GRAIN)
        if not np.isfinite(new).all() or (new < 0).any():
            raise ProblemError(f"rates are {new.tolist()}, but must be at least 0 and finite. Correct them.")
        more = np.zeros(len(new), dtype=np.int64)
        # New sources have empty lists, so nothing else changes.
        grown = {name: np.concatenate([getattr(old, name), more]) for name in ("degree", "at", "size", "room")}
        self._state = old._replace(rate=np.concatenate([old.rate, new]), **grown)
        return len(old.rate)

    def set_state(self, queries: Sequence[int] | Ints, state: ArrayLike) -> None:
        """Set the bytes of state, (n,), that move with live queries."""
        numbers = np.asarray(queries, dtype=np.int64)
        self._roster.check_present(numbers)
        sizes = np.asarray(state, dtype=np.float64)
        if sizes.shape != numbers.shape or not np.isfinite(sizes).all() or (sizes < 0).any():
            raise ProblemError(
                f"state has shape {sizes.shape}, but must be {len(numbers)} numbers of at least 0. Set one per query."
            )
        self._roster.state[numbers] = sizes

    def set_rates(self, rate: ArrayLike) -> None:
        """Replace the rates, (m,), of all sources."""
        new = round_to(rate, RATE_GRAIN)
        if new.shape != self._state.rate.shape or not np.isfinite(new).all() or (new < 0).any():
            m = len(self._state.rate)
            raise ProblemError(
                f"rate has shape {new.shape}, but must be {m} numbers of at least 0. Set one per source."
            )
        self._rebuild(new, self._state.capacity)

    def add_server(self, capacity: float = 1.0) -> int:
        """Add a server of this size; return its number, which is the lowest free one."""
        if not (np.isfinite(capacity) and capacity > 0):
            raise ProblemError(f"capacity is {capacity}, but must be above 0 and finite. Set the size of the server.")
        sizes = self._state.capacity
        # Reused, so that arrays do not grow when servers come and go.
        gone = np.flatnonzero(sizes <= 0)
        j = int(gone[0]) if len(gone) else len(sizes)
        self._state = with_server(self._state, j, float(capacity))
        return j

    def resize_server(self, server: int, capacity: float) -> None:
        """Change the size of an existing server. No query moves: limits change for arrivals and for `relieve`."""
        if server not in self.servers:
            raise ProblemError(f"server is {server}, but the servers are {self.servers}. Choose one of these.")
        if not (np.isfinite(capacity) and capacity > 0):
            raise ProblemError(f"capacity is {capacity}, but must be above 0 and finite. Remove the server instead.")
        self._state = with_server(self._state, server, float(capacity))

    def remove_server(self, server: int) -> tuple[QueryMove, ...]:
        """Remove a server, and assign its queries again, in order of their numbers."""
        if server not in self.servers or len(self.servers) == 1:
            rule = "it is the last one" if self.servers == [server] else f"the servers are {self.servers}"
            raise ProblemError(f"server is {server}, but {rule}. Choose another server, or add one first.")
        orphaned = np.flatnonzero(self._roster.store.server == server)
        # The queries leave before the server does, so that limits and totals are right when they arrive again.
        self._process(orphaned, arrives=False)
        self._state = with_server(self._state, server, 0.0)
        self._process(orphaned, arrives=True, moved=True)
        return tuple(QueryMove(q, server, int(self._roster.store.server[q])) for q in orphaned.tolist())

    def relocate(self, query: int, server: int) -> QueryMove:
        """Move one query to a server on request."""
        self._roster.check_present(np.array([query]))
        if server not in self.servers:
            raise ProblemError(f"server is {server}, but the servers are {self.servers}. Choose one of these.")
        before = int(self._roster.store.server[query])
        self._roster.store.server[query] = server
        # The kernels choose servers themselves. Here the server is given, so the state is computed from scratch.
        self._rebuild(self._state.rate, self._state.capacity)
        return QueryMove(query, before, server)

    def refine(self, budget: float = np.inf, *, queries: float = np.inf) -> tuple[QueryMove, ...]:
        """Move queries to reduce traffic, within a budget of bytes of state and of queries."""
        left = _budget(budget, queries)
        roster = self._roster
        self._state, before = refine(self._state, self._rules, roster.store, roster.state, *left)
        return self._moved_since(before)

    def relieve(self, budget: float = np.inf, *, queries: float = np.inf) -> tuple[QueryMove, ...]:
        """Move queries off servers above their limit, within a budget of bytes of state and of queries."""
        left = _budget(budget, queries)
        roster = self._roster
        price = np.maximum(roster.state, 1.0)
        self._state, before = relieve(self._state, self._rules, roster.store, price, left)
        return self._moved_since(before)

    def _moved_since(self, before: Ints) -> tuple[QueryMove, ...]:
        now = self._roster.store.server
        return tuple(QueryMove(q, int(before[q]), int(now[q])) for q in np.flatnonzero(before != now).tolist())

    def snapshot(self) -> Snapshot:
        """Return the herd as arrays."""
        roster = self._roster
        totals = self._state.totals
        here = np.flatnonzero(roster.store.server >= 0)
        start, source = roster.packed(here)
        return Snapshot(
            policy=self.policy,
            slack=self._rules.slack,
            allowance=self._rules.allowance,
            rate=self._state.rate.copy(),
            capacity=self._state.capacity.copy(),
            query=here,
            start=start,
            source=source,
            weight=roster.store.weight[here],
            state=roster.state[here],
            server=roster.store.server[here],
            free=roster.free.copy(),
            arrived=int(totals[ARRIVED]),
            turn=int(totals[TURN]),
        )

    @classmethod
    def restored(cls, saved: Snapshot, rng: Generator) -> Herd:
        """Return the herd of a snapshot; with an equal generator, it continues as the stored one would."""
        sizes = np.where(saved.capacity > 0, saved.capacity, 1.0)  # removed servers are set to 0 below
        herd = cls(saved.rate, sizes, rng, saved.policy, slack=saved.slack, allowance=saved.allowance)
        given = HerdingProblem(
            start=saved.start,
            source=saved.source,
            rate=saved.rate,
            capacity=np.ones(1),
            weight=saved.weight,
            state=saved.state,
        )
        herd._roster.restore(saved.query, given, saved.server, saved.free)
        # These two do not follow from the queries: gather, hash and round-robin depend on them.
        herd._state.totals[ARRIVED] = saved.arrived
        herd._state.totals[TURN] = saved.turn
        herd._rebuild(saved.rate, saved.capacity)
        return herd

    def recomputed(self) -> HerdState:
        """Return the state computed from scratch, which the current state must equal."""
        fresh = rebuild_state(self._state.rate, self._state.capacity, self._roster.store)
        fresh.totals[ARRIVED] = self._state.totals[ARRIVED]
        fresh.totals[TURN] = self._state.totals[TURN]
        return fresh

    def _process(self, queries: Ints, *, arrives: bool, moved: bool = False, preferred: Floats | None = None) -> None:
        rules = self._rules
        draws = draws_for(rules, len(queries) if arrives else 0, self._rng)
        if preferred is not None and len(preferred):
            rules = rules._replace(policy=RESERVED)
            draws = preferred
        # Departures use up no draws, so that the draws of arrivals do not depend on them.
        draws = draws if arrives else np.zeros(len(queries))
        flags = np.full(len(queries), arrives)
        self._state = play(self._state, rules, self._roster.store, queries, flags, draws, moved=moved)

    def _rebuild(self, rate: Floats, capacity: Floats) -> None:
        self._state = self._state._replace(rate=rate, capacity=capacity)
        self._state = self.recomputed()


def _budget(budget: float, queries: float) -> Floats:
    """Return a budget of bytes of state and of queries as an array, (2,)."""
    if np.isnan(budget) or budget < 0 or np.isnan(queries) or queries < 0:
        raise ProblemError(
            f"budget is {budget} and queries is {queries}, but both must be at least 0. Use 0 to move nothing."
        )
    return np.array([budget, queries], dtype=np.float64)
