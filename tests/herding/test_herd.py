"""A herd equals a plain recomputation after any sequence of arrivals, departures and changes of servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.random import default_rng

from drover.errors import ProblemError
from drover.herding.herd import Herd, QueryMove, Snapshot
from drover.herding.online.play import ONLINE
from drover.herding.online.state import CAPACITY, HELD, KINDS, LIVE, LOAD, HerdState, holders, types_on
from drover_lab.herding.twins import PlainHerd

SOURCES = 6


def same(one: HerdState, other: HerdState) -> bool:
    """Whether two states are equal, apart from where their lists are."""
    parts = ("load", "capacity", "traffic", "held", "kinds", "rate", "degree", "size")
    totals = [LOAD, CAPACITY, LIVE, KINDS, HELD]
    return (
        all(getattr(one, name).tolist() == getattr(other, name).tolist() for name in parts)
        and one.totals[totals].tolist() == other.totals[totals].tolist()
        and one.tree[1] == other.tree[1]
        and holders(one) == holders(other)
        and types_on(one) == types_on(other)
    )


def same_snapshot(one: Snapshot, other: Snapshot) -> bool:
    return all(np.array_equal(getattr(one, part.name), getattr(other, part.name)) for part in fields(Snapshot))


class HerdMachine(RuleBasedStateMachine):
    """A herd beside its plain twin."""

    @initialize(policy=st.sampled_from(ONLINE), seed=st.integers(0, 99), servers=st.integers(1, 4), equal=st.booleans())
    def begin(self, policy: str, seed: int, servers: int, equal: bool) -> None:
        rng = default_rng(seed)
        rate = np.ones(SOURCES) if equal else np.round(rng.exponential(10, SOURCES), 3)
        capacity = np.ones(servers) if equal else rng.choice([1.0, 2.0], servers)
        self.policy = policy
        self.draws = default_rng(seed)
        self.herd = Herd(rate, capacity, default_rng(seed), policy, slack=0.1, allowance=1.0)
        self.plain = PlainHerd(self.herd.snapshot().rate, capacity.tolist(), 0.1, 1.0)

    def draw(self) -> float:
        return self.draws.random() if self.policy == "random" else 0.0

    @rule(
        sources=st.sets(st.integers(0, SOURCES - 1), min_size=1, max_size=3),
        weight=st.sampled_from([1.0, 0.5, 1 / 3]),
        state=st.sampled_from([0.0, 7.0]),
    )
    def arrive(self, sources: set[int], weight: float, state: float) -> None:
        placed = self.herd.arrive(sorted(sources), weight, state)
        kept = float(np.round(weight * 2**24) / 2**24)
        expected = self.plain.arrive(placed.query, tuple(sorted(sources)), kept, self.policy, self.draw())
        self.plain.arrived += 1
        assert placed.server == expected == self.herd.server_of(placed.query)

    @precondition(lambda self: self.plain.queries)
    @rule(which=st.integers(0, 10**6))
    def leave(self, which: int) -> None:
        query = sorted(self.plain.queries)[which % len(self.plain.queries)]
        self.herd.leave(query)
        del self.plain.queries[query]

    @rule(capacity=st.sampled_from([1.0, 2.0]))
    def add_server(self, capacity: float) -> None:
        if len(self.plain.capacity) < 70:
            j = self.herd.add_server(capacity)
            self.plain.capacity[j : j + 1] = [capacity]

    @precondition(lambda self: len(self.herd.servers) > 1)
    @rule(which=st.integers(0, 10**6))
    def remove_server(self, which: int) -> None:
        server = self.herd.servers[which % len(self.herd.servers)]
        orphaned = sorted(q for q, query in self.plain.queries.items() if query.server == server)
        left = {q: self.plain.queries.pop(q) for q in orphaned}
        self.plain.capacity[server] = 0.0
        expected = []
        for q, query in left.items():
            found = self.plain.arrive(q, query.sources, query.weight, self.policy, self.draw())
            expected.append(QueryMove(q, server, found))
        assert list(self.herd.remove_server(server)) == expected

    @rule(budget=st.sampled_from([0.0, 10.0, np.inf]), queries=st.sampled_from([0, 1, 5]))
    def refine(self, budget: float, queries: int) -> None:
        before = self.herd.traffic.sum()
        moves = self.herd.refine(budget, queries=queries)
        assert len(moves) <= queries
        states = dict(zip(self.herd.snapshot().query.tolist(), self.herd.snapshot().state.tolist(), strict=True))
        assert sum(max(states[move.query], 1.0) for move in moves) <= budget
        assert self.herd.traffic.sum() < before or not moves
        for move in moves:
            assert self.plain.queries[move.query].server == move.source
            self.plain.queries[move.query].server = move.target

    @rule(budget=st.sampled_from([0.0, 10.0, np.inf]), queries=st.sampled_from([0, 1, 5]))
    def relieve(self, budget: float, queries: int) -> None:
        moves = self.herd.relieve(budget, queries=queries)
        assert len(moves) <= queries
        states = dict(zip(self.herd.snapshot().query.tolist(), self.herd.snapshot().state.tolist(), strict=True))
        assert sum(max(states[move.query], 1.0) for move in moves) <= budget
        for move in moves:
            assert self.plain.queries[move.query].server == move.source
            self.plain.queries[move.query].server = move.target

    @rule(which=st.integers(0, 10**6), capacity=st.sampled_from([0.5, 1.0, 3.0]))
    def resize_server(self, which: int, capacity: float) -> None:
        server = self.herd.servers[which % len(self.herd.servers)]
        self.herd.resize_server(server, capacity)
        self.plain.capacity[server] = capacity

    @precondition(lambda self: self.plain.queries)
    @rule(which=st.integers(0, 10**6), state=st.sampled_from([0.0, 7.0, 30.0]))
    def set_state(self, which: int, state: float) -> None:
        query = sorted(self.plain.queries)[which % len(self.plain.queries)]
        self.herd.set_state([query], [state])
        saved = self.herd.snapshot()
        assert saved.state[saved.query == query].tolist() == [state]

    @precondition(lambda self: self.plain.queries)
    @rule(which=st.integers(0, 10**6), where=st.integers(0, 10**6))
    def relocate(self, which: int, where: int) -> None:
        query = sorted(self.plain.queries)[which % len(self.plain.queries)]
        server = self.herd.servers[where % len(self.herd.servers)]
        assert self.herd.relocate(query, server) == QueryMove(query, self.plain.queries[query].server, server)
        self.plain.queries[query].server = server

    @rule()
    def save_and_restore(self) -> None:
        saved = self.herd.snapshot()
        self.herd = Herd.restored(saved, self.herd._rng)
        assert same_snapshot(saved, self.herd.snapshot())

    @rule(rate=st.sampled_from([0.0, 2.5]))
    def change_rates(self, rate: float) -> None:
        rates = self.plain.rate.copy()
        rates[0] = rate
        self.herd.set_rates(rates)
        self.plain.rate = rates

    @invariant()
    def equals_what_follows_from_queries_and_servers(self) -> None:
        if hasattr(self, "herd"):
            assert same(self.herd._state, self.herd.recomputed())
            for j in self.herd.servers:
                assert self.herd.loads[j] == self.plain.load(j)
                assert self.herd.traffic[j] == self.plain.traffic(j)
            assert self.herd.live == len(self.plain.queries)


HerdMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestHerd = HerdMachine.TestCase


def test_adding_many_at_once_equals_adding_one_by_one() -> None:
    rng = default_rng(0)
    sets = [np.sort(rng.choice(20, 2, replace=False)) for _ in range(300)]
    one, many = (Herd(np.ones(20), np.ones(4), default_rng(0)) for _ in range(2))
    expected = [one.arrive(sources.tolist()).server for sources in sets]
    numbers = many.arrive_many(np.arange(0, 601, 2), np.concatenate(sets))
    assert [many.server_of(q) for q in numbers.tolist()] == expected
    many.leave_many(numbers[:200])
    for q in numbers[:200].tolist():
        one.leave(q)
    assert one.snapshot().query.tolist() == many.snapshot().query.tolist()
    assert same(one._state, many._state)
    assert same(many._state, many.recomputed())


def test_a_herd_of_thousands_stays_consistent() -> None:
    """Lists and tables grow, numbers are reused, and old sources are dropped."""
    rng = default_rng(1)
    herd = Herd(np.ones(500), np.ones(90), default_rng(0), "least-types")
    here: list[int] = []
    for _ in range(12):
        sets = np.sort(np.stack([rng.choice(500, 3, replace=False) for _ in range(400)]), axis=1)
        here += herd.arrive_many(np.arange(0, 1201, 3), sets.ravel()).tolist()
        gone = rng.permutation(len(here))[:300]
        herd.leave_many(np.array(here)[gone])
        here = np.delete(np.array(here), gone).tolist()
    assert same(herd._state, herd.recomputed())
    assert herd.live == 12 * 100 == len(here)


def test_a_new_source_can_be_subscribed_to() -> None:
    herd = Herd([1.0], [1.0, 1.0], default_rng(0))
    herd.arrive([0])
    assert herd.add_source(5.0) == 1
    herd.arrive([0, 1])
    assert herd.traffic.sum() == 6.0
    assert same(herd._state, herd.recomputed())


@pytest.mark.parametrize(
    ("action", "message"),
    [
        pytest.param(lambda herd: herd.arrive([]), "query 0 has no source", id="no source"),
        pytest.param(lambda herd: herd.arrive([7]), "source is 7, but the sources are 0 to 1", id="unknown source"),
        pytest.param(lambda herd: herd.arrive([-1]), "source is -1", id="negative source"),
        pytest.param(lambda herd: herd.arrive([0], weight=0.0), r"weight\[0\] is 0, but must be above 0", id="weight"),
        pytest.param(lambda herd: herd.arrive([0], state=np.nan), r"state\[0\] is nan", id="state"),
        pytest.param(
            lambda herd: herd.leave(5), "query is 5, but there is no live query", id="an unknown query leaves"
        ),
        pytest.param(lambda herd: herd.leave_many([0, 0]), "each can leave only once", id="leaving twice"),
        pytest.param(
            lambda herd: herd.remove_server(3), r"server is 3, but the servers are \[0\]", id="unknown server"
        ),
        pytest.param(lambda herd: herd.remove_server(0), "it is the last one", id="the last server"),
        pytest.param(lambda herd: herd.add_server(-1), "capacity is -1, but must be above 0", id="capacity"),
        pytest.param(lambda herd: herd.refine(-1), "budget is -1", id="budget"),
        pytest.param(lambda herd: herd.relieve(queries=np.nan), "queries is nan", id="budget of queries"),
        pytest.param(lambda herd: herd.resize_server(2, 1.0), r"the servers are \[0\]", id="size of an unknown server"),
        pytest.param(lambda herd: herd.resize_server(0, 0.0), "Remove the server instead", id="size 0"),
        pytest.param(lambda herd: herd.set_state([0], [-1.0]), "must be 1 numbers of at least 0", id="negative state"),
        pytest.param(lambda herd: herd.set_state([4], [1.0]), "there is no live query", id="state of no query"),
        pytest.param(lambda herd: herd.set_rates([1.0]), "must be 2 numbers", id="rates"),
        pytest.param(lambda herd: herd.add_source(np.inf), "must be at least 0 and finite", id="rate of a new source"),
    ],
)
def test_refusals_name_the_rule_and_change_nothing(action: Callable[[Herd], object], message: str) -> None:
    herd = Herd([1.0, 2.0], [1.0], default_rng(0))
    herd.arrive([0, 1])
    before = herd.snapshot()
    with pytest.raises(ProblemError, match=message):
        action(herd)
    assert same_snapshot(before, herd.snapshot())


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"Did you mean gather\?"):
        Herd([1.0], [1.0], default_rng(0), "gathers")
