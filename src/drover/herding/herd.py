"""A herd: queries that come and go, on servers that come and go.

Rule 1: a herd is what a runtime holds; it decides at once and keeps its state up to date, not by looking at all of it.
Rule 2: all of that state follows from the queries and their servers, so a snapshot holds these, and little else.
Rule 3: a query is a number that the herd gives out; after the query has left, the number is given to another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from drover.errors import ProblemError
from drover.herding.online.play import Moment, draws_for, number_of, observe, play, settled
from drover.herding.online.state import ARRIVED, LEAST_TYPES, LIVE, TURN, Rules, State, empty_state, with_server
from drover.herding.problem import RATE_GRAIN, Problem, round_to
from drover.herding.refine.search import refine
from drover.herding.roster import Roster, no_queries
from drover.load.arrays import Floats, Ints, frozen


@dataclass(frozen=True, slots=True)
class Placed:
    """A query and its server."""

    query: int
    server: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A query that has another server now."""

    query: int
    source: int  # the server it was on, or the one that is gone
    target: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Snapshot:
    """A herd as arrays, to be saved."""

    policy: str
    slack: float
    allowance: float
    rate: Floats  # (m,)
    capacity: Floats  # (K,) 0 for a server that is gone
    query: Ints  # (n,) numbers of the queries
    start: Ints  # (n + 1,)
    source: Ints
    weight: Floats  # (n,)
    state: Floats  # (n,) bytes
    server: Ints  # (n,)
    free: Ints  # numbers to give out, the next one last
    arrived: int  # queries so far
    turn: int  # whose turn it is


class Herd:
    """Assigns queries to servers as they come."""

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
        sizes, rates = np.asarray(capacity, dtype=np.float64), np.asarray(rate, dtype=np.float64)
        checked = no_queries(rates, sizes, slack, allowance)
        self.policy = policy
        self._rules = Rules(number_of(policy), slack, allowance)
        self._rng = rng
        self._state: State = empty_state(checked.rate, checked.capacity)
        self._roster = Roster(counts_types=self._rules.policy == LEAST_TYPES)

    @property
    def live(self) -> int:
        """The number of queries that are here."""
        return int(self._state.totals[LIVE])

    @property
    def servers(self) -> list[int]:
        """The servers there are."""
        return np.flatnonzero(self._state.capacity > 0).tolist()

    @property
    def loads(self) -> Floats:
        """The load of each server, (K,)."""
        return frozen(self._state.load)

    @property
    def traffic(self) -> Floats:
        """The rate of the sources that each server receives, (K,)."""
        return frozen(self._state.traffic)

    def observe(self) -> Moment:
        """Return how things stand."""
        return observe(self._state, self._state.totals[ARRIVED])

    def server_of(self, query: int) -> int:
        """Return the server of a query that is here."""
        self._roster.need(np.array([query]))
        return int(self._roster.store.server[query])

    def servers_of(self, queries: Sequence[int] | Ints) -> Ints:
        """Return the servers of queries that are here, (n,)."""
        numbers = np.asarray(queries, dtype=np.int64)
        self._roster.need(numbers)
        return frozen(self._roster.store.server[numbers])

    def arrive(self, sources: Sequence[int], weight: float = 1.0, state: float = 0.0) -> Placed:
        """Take in a query, and return its number and its server; `state` is the bytes it takes to move it."""
        ordered = np.unique(np.asarray(sources, dtype=np.int64))
        (query,) = self.arrive_many(np.array([0, len(ordered)]), ordered, [weight], [state]).tolist()
        return Placed(query, int(self._roster.store.server[query]))

    def arrive_many(self, start: ArrayLike, source: ArrayLike, weight: ArrayLike = (), state: ArrayLike = ()) -> Ints:
        """Take in queries, given as the arrays of a problem, in order; return their numbers, (n,)."""
        given = Problem(
            start=np.asarray(start, dtype=np.int64),
            source=np.asarray(source, dtype=np.int64),
            rate=self._state.rate,
            capacity=np.ones(1),
            weight=np.asarray(weight, dtype=np.float64),
            state=np.asarray(state, dtype=np.float64) if np.size(state) else np.zeros(np.size(start) - 1),
        )
        numbers = self._roster.numbers(given.n)
        self._roster.admit(numbers, given)
        self._play(numbers, arrives=True)
        return numbers

    def leave(self, query: int) -> None:
        """Let a query go."""
        self.leave_many([query])

    def leave_many(self, queries: Sequence[int] | Ints) -> None:
        """Let queries go, in order."""
        numbers = np.asarray(queries, dtype=np.int64)
        self._roster.need(numbers)
        self._play(numbers, arrives=False)
        self._roster.forget(numbers)

    def add_source(self, rate: float) -> int:
        """Add a source of that rate, and return its number."""
        return self.add_sources([rate])

    def add_sources(self, rates: ArrayLike) -> int:
        """Add sources of those rates, and return the number of the first."""
        old, new = self._state, round_to(rates, RATE_GRAIN)
        if not np.isfinite(new).all() or (new < 0).any():
            raise ProblemError(f"rates are {new.tolist()}, but must be at least 0 and finite. Correct them.")
        more = np.zeros(len(new), dtype=np.int64)
        grown = {name: np.concatenate([getattr(old, name), more]) for name in ("degree", "at", "size", "room")}
        self._state = old._replace(rate=np.concatenate([old.rate, new]), **grown)
        return len(old.rate)

    def set_rates(self, rate: ArrayLike) -> None:
        """Take other rates, (m,), for all sources."""
        new = round_to(rate, RATE_GRAIN)
        if new.shape != self._state.rate.shape or not np.isfinite(new).all() or (new < 0).any():
            m = len(self._state.rate)
            raise ProblemError(f"rate has shape {new.shape}, but must be {m} numbers of at least 0. Give one for each.")
        self._rebuild(new, self._state.capacity)

    def add_server(self, capacity: float = 1.0) -> int:
        """Add a server of that size, and return its number: that of one that is gone, or the next."""
        if not (np.isfinite(capacity) and capacity > 0):
            raise ProblemError(f"capacity is {capacity}, but must be above 0 and finite. Give the size of the server.")
        sizes = self._state.capacity
        gone = np.flatnonzero(sizes <= 0)
        j = int(gone[0]) if len(gone) else len(sizes)
        self._state = with_server(self._state, j, float(capacity))
        return j

    def remove_server(self, server: int) -> tuple[Moved, ...]:
        """Remove a server, and assign its queries again, in order of their numbers."""
        if server not in self.servers or len(self.servers) == 1:
            rule = "it is the last one" if self.servers == [server] else f"the servers are {self.servers}"
            raise ProblemError(f"server is {server}, but {rule}. Name another one, or add one first.")
        homeless = np.flatnonzero(self._roster.store.server == server)
        self._play(homeless, arrives=False)
        self._state = with_server(self._state, server, 0.0)
        self._play(homeless, arrives=True, moved=True)
        return tuple(Moved(q, server, int(self._roster.store.server[q])) for q in homeless.tolist())

    def relocate(self, query: int, server: int) -> Moved:
        """Move one query to a server, as somebody wishes."""
        self._roster.need(np.array([query]))
        if server not in self.servers:
            raise ProblemError(f"server is {server}, but the servers are {self.servers}. Name one of them.")
        before = int(self._roster.store.server[query])
        self._roster.store.server[query] = server
        self._rebuild(self._state.rate, self._state.capacity)
        return Moved(query, before, server)

    def refine(self, budget: float = np.inf, *, queries: float = np.inf) -> tuple[Moved, ...]:
        """Move queries so that traffic falls: at most so many bytes of state, and at most so many queries."""
        if np.isnan(budget) or budget < 0 or np.isnan(queries) or queries < 0:
            raise ProblemError(
                f"budget is {budget}, of {queries} queries, but must be at least 0. Use 0 to move nothing."
            )
        roster = self._roster
        self._state, before = refine(self._state, self._rules, roster.store, roster.state, budget, queries)
        now = roster.store.server
        return tuple(Moved(q, int(before[q]), int(now[q])) for q in np.flatnonzero(before != now).tolist())

    def snapshot(self) -> Snapshot:
        """Return the herd as arrays."""
        roster, totals = self._roster, self._state.totals
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
        """Return the herd of a snapshot; it goes on as the one that was saved, if the generator does."""
        sizes = np.where(saved.capacity > 0, saved.capacity, 1.0)  # those that are gone follow below
        herd = cls(saved.rate, sizes, rng, saved.policy, slack=saved.slack, allowance=saved.allowance)
        given = Problem(
            start=saved.start,
            source=saved.source,
            rate=saved.rate,
            capacity=np.ones(1),
            weight=saved.weight,
            state=saved.state,
        )
        herd._roster.fill(saved.query, given, saved.server, saved.free)
        herd._state.totals[ARRIVED], herd._state.totals[TURN] = saved.arrived, saved.turn
        herd._rebuild(saved.rate, saved.capacity)
        return herd

    def recomputed(self) -> State:
        """Return the state computed afresh: what it must be equal to."""
        fresh = settled(self._state.rate, self._state.capacity, self._roster.store)
        fresh.totals[ARRIVED], fresh.totals[TURN] = self._state.totals[ARRIVED], self._state.totals[TURN]
        return fresh

    def _play(self, queries: Ints, *, arrives: bool, moved: bool = False) -> None:
        draws = draws_for(self._rules, len(queries) if arrives else 0, self._rng)
        draws = draws if arrives else np.zeros(len(queries))
        flags = np.full(len(queries), arrives)
        self._state = play(self._state, self._rules, self._roster.store, queries, flags, draws, moved=moved)

    def _rebuild(self, rate: Floats, capacity: Floats) -> None:
        self._state = self._state._replace(rate=rate, capacity=capacity)
        self._state = self.recomputed()
