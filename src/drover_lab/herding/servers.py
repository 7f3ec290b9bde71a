"""Servers that join and leave while queries arrive and depart.

Rule 1: the queries of a leaving server are assigned again at once, as new arrivals, in order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from drover.herding.online.play import HerdSnapshot, draws_for, observe, play
from drover.herding.online.state import empty_state, with_server
from drover.herding.problem import HerdingProblem
from drover_lab.herding.generate import QueryEvents
from drover_lab.herding.sequences import rules_of, store_of


def watch_servers(
    problem: HerdingProblem, name: str, events: QueryEvents, rng: Generator, period: float
) -> Iterator[HerdSnapshot]:
    """Apply events and yield a snapshot before each change of servers, which happens every `period` steps.

    With probability 1/2 a server as large as the first one joins; otherwise a random one leaves [Zong15].
    """
    rules = rules_of(problem, name)
    size = float(problem.capacity[0])
    store = store_of(problem, rules)
    state = empty_state(problem.rate, problem.capacity)
    times = np.arange(period, float(events.at[-1]) if len(events.at) else 0.0, period)
    ends = [*np.searchsorted(events.at, times).tolist(), len(events.at)]
    begin = 0
    for end in ends:
        now = slice(begin, end)
        draws = draws_for(rules, end - begin, rng)
        state = play(state, rules, store, events.query[now], events.arrives[now], draws)
        begin = end
        yield observe(state, float(events.at[end - 1]) if end else 0.0)
        there = np.flatnonzero(state.capacity > 0)
        if rng.random() < 0.5 or len(there) == 1:
            gone = np.flatnonzero(state.capacity <= 0)
            state = with_server(state, int(gone[0]) if len(gone) else len(state.capacity), size)
            continue
        j = int(rng.choice(there))
        orphaned = np.flatnonzero(store.server == j)
        # Queries of a server that leaves are played as departures, then as arrivals, so that they are assigned like new
        # ones.
        stays = np.zeros(len(orphaned), dtype=np.bool_)
        comes = np.ones(len(orphaned), dtype=np.bool_)
        state = play(state, rules, store, orphaned, stays, np.zeros(len(orphaned)))
        state = with_server(state, j, 0.0)
        state = play(state, rules, store, orphaned, comes, draws_for(rules, len(orphaned), rng), moved=True)
