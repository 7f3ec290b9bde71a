"""The plain twins of the kernels: the same policies in readable Python.

Rule 1: clarity before speed: loads, holders and degrees are computed from scratch for every decision.
Rule 2: sums go over sources in ascending order, as in the kernels, so that equal scores are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from drover.herding.problem import ROUNDING, HerdingProblem
from drover.load.arrays import Floats, Ints

STAYING = 0.75
PENALTY = 0.3
WEALTH = 0.5


@dataclass
class PlainQuery:
    """A present query."""

    sources: tuple[int, ...]
    weight: float
    server: int = -1


@dataclass
class PlainHerd:
    """Queries on servers, without any derived state."""

    rate: Floats
    capacity: list[float]
    slack: float
    allowance: float
    queries: dict[int, PlainQuery] = field(default_factory=dict)
    arrived: int = 0
    turn: int = 0

    def load(self, j: int) -> float:
        """Return the load of server j."""
        return sum(query.weight for query in self.queries.values() if query.server == j)

    def count(self, s: int, j: int) -> int:
        """Return the number of queries of server j that subscribe to source s."""
        return sum(s in query.sources for query in self.queries.values() if query.server == j)

    def degree(self, s: int) -> int:
        """Return the number of queries that subscribe to source s."""
        return sum(s in query.sources for query in self.queries.values())

    def traffic(self, j: int) -> float:
        """Return the total rate of the sources that server j receives."""
        return float(sum(self.rate[s] for s in sorted(self.held(j))))

    def held(self, j: int) -> set[int]:
        """Return the sources that server j receives."""
        return {s for query in self.queries.values() if query.server == j for s in query.sources}

    def types(self, j: int) -> set[tuple[int, ...]]:
        """Return the types on server j."""
        return {query.sources for query in self.queries.values() if query.server == j}

    def limit(self, fair: float) -> float:
        """Return the load limit of a server with this fair share."""
        return max(fair + self.allowance, (1 + self.slack) * fair) * (1 + ROUNDING)

    def arrive(self, number: int, sources: tuple[int, ...], weight: float, policy: str, draw: float = 0.0) -> int:
        """Add a query and return its server."""
        total = sum(query.weight for query in self.queries.values()) + weight
        density = total / sum(self.capacity)
        there = [j for j, size in enumerate(self.capacity) if size > 0]
        is_open = [j for j in there if self.load(j) + weight <= self.limit(density * self.capacity[j])]
        found = self.choose(sources, policy, draw, density, is_open)
        if found < 0:
            found = self.lightest(is_open or there)
        self.queries[number] = PlainQuery(sources, weight, found)
        self.turn = (found + 1) % len(self.capacity)
        return found

    def lightest(self, servers: Iterable[int]) -> int:
        """Return the server with the least relative load, then the lowest number."""
        return min(servers, key=lambda j: (self.load(j) / self.capacity[j], j))

    def choose(self, sources: tuple[int, ...], policy: str, draw: float, density: float, is_open: list[int]) -> int:
        """Return the server that a policy chooses among open ones, or -1 if it has no preference."""
        if not is_open:
            return -1
        if policy == "random":
            return is_open[int(draw * len(is_open))]
        if policy in {"round-robin", "hash"}:
            size = len(self.capacity)
            first = self.turn if policy == "round-robin" else spread(self.arrived + 1) % size
            return min(is_open, key=lambda j: (j - first) % size)
        relative = {j: self.load(j) / self.capacity[j] for j in is_open}
        if policy == "least-types":
            return min(is_open, key=lambda j: (len(self.types(j) | {sources}), relative[j], j))
        held = {j: [s for s in sources if self.count(s, j)] for j in is_open}
        gain = {j: float(sum(self.rate[s] for s in held[j])) for j in is_open}
        if policy == "least-source":
            whole = float(sum(self.rate[s] for s in sources))
            return min(is_open, key=lambda j: (self.traffic(j) + (whole - gain[j]), relative[j], j))
        if max(gain.values()) <= 0:
            return -1
        best = [j for j in is_open if gain[j] == max(gain.values())]
        near = {j: self.preference(sources, policy, density, j) for j in best}
        # Even the best server lacks a source, so one has to be copied.
        copies = max(gain.values()) < sum(self.rate[s] for s in sources)
        hopes = copies and self.staying and policy not in {"least-cost", "rare-first"}
        hope = {j: self.future_value(density, j) if hopes else 0.0 for j in best}
        return min(best, key=lambda j: (-near[j], -hope[j], relative[j], j))

    def preference(self, sources: tuple[int, ...], policy: str, density: float, j: int) -> float:
        """Return the preference for server j among those with equal cost."""
        rare = gathered = whole = gain = 0.0
        for s in sources:
            scarcity = self.rate[s] / (self.degree(s) + 1)
            count = self.count(s, j)
            whole += self.rate[s]
            if count and self.rate[s] > 0:
                gain += self.rate[s]
                holders = sum(self.count(s, i) > 0 for i in range(len(self.capacity)))
                rare += scarcity * (1.0 if policy == "rare-first" else float(np.sqrt(holders)))
                gathered += scarcity * count
        if policy == "least-cost":
            return 0.0
        if policy == "rare-first":
            return rare
        if self.staying:
            return rare if gain < whole else 0.0
        fair = density * self.capacity[j]
        room = self.limit(fair) - fair
        rate = whole / len(sources)
        return gathered - PENALTY * rate * (self.load(j) - fair) / room if room > 0 else gathered

    @property
    def staying(self) -> bool:
        """Whether most of the queries that arrived are still live."""
        return len(self.queries) >= STAYING * self.arrived

    def future_value(self, density: float, j: int) -> float:
        """Return the expected future benefit of server j for a query that needs a new copy of a source."""
        held = [len(self.held(i)) for i in range(len(self.capacity))]
        fair = density * self.capacity[j]
        share = sum(held) * self.capacity[j] / sum(self.capacity)
        room = self.limit(fair) - fair
        wealth = WEALTH * held[j] / share if share > 0 else 0.0
        return wealth - (self.load(j) - fair) / room if room > 0 else wealth


def spread(number: int) -> int:
    """Return the number mixed as the kernels mix it."""
    mixed = number * 0x9E3779B97F4A7C15 % 2**64
    return mixed ^ (mixed >> 32)


def assign_online(problem: HerdingProblem, policy: str, draws: Floats) -> Ints:
    """Return the server of each query, (n,), in order of arrival."""
    plain = PlainHerd(problem.rate, problem.capacity.tolist(), problem.slack, problem.allowance)
    servers = []
    for q in range(problem.n):
        sources = tuple(problem.sources_of(q).tolist())
        servers.append(plain.arrive(q, sources, float(problem.weight[q]), policy, float(draws[q])))
        plain.arrived += 1
    return np.array(servers, dtype=np.int64)


def assign_greedily(problem: HerdingProblem, *, whole: bool, ties: str) -> Ints:
    """Return the server of each query, (n,), by the pair of type and server of least cost: IC, or MMS if `whole`."""
    kind = problem.types()
    server = np.full(problem.n, -1)
    room = problem.limits()
    load = np.zeros(problem.k)
    held = [set[int]() for _ in range(problem.k)]
    left = {
        t: sorted(np.flatnonzero(kind == t).tolist(), key=lambda q: (problem.weight[q], q)) for t in set(kind.tolist())
    }
    sources = {t: problem.sources_of(queries[0]).tolist() for t, queries in left.items()}
    degree = problem.degrees()
    size = {t: float(problem.weight[queries].sum()) for t, queries in left.items()}
    rank = {t: -size[t] if ties == "many" else float(degree[sources[t]].sum()) for t in left}

    def cost(t: int, j: int) -> float:
        adds = sum(problem.rate[s] for s in sources[t] if s not in held[j])
        return float(adds + (sum(problem.rate[s] for s in held[j]) if whole else 0.0))

    # Slow on purpose: every step tries every pair again, so there is no state that could go wrong.
    while pairs := [
        (t, j) for t in left for j in range(problem.k) if left[t] and problem.weight[left[t][0]] <= room[j]
    ]:
        t, j = min(pairs, key=lambda p: (cost(*p), rank[p[0]], load[p[1]] / problem.capacity[p[1]], p[0], p[1]))
        held[j].update(sources[t])
        while left[t] and problem.weight[left[t][0]] <= room[j]:
            q = left[t].pop(0)
            server[q] = j
            room[j] -= problem.weight[q]
            load[j] += problem.weight[q]
    return server
