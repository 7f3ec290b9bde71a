"""Servers that come and go while queries do.

Rule 1: a server that goes gives its queries to others at once, as if they came anew, in order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from drover.herding.generate import Events
from drover.herding.online.play import Moment, draws_for, observe, play, rules_of, store_of
from drover.herding.online.state import empty_state, with_server
from drover.herding.problem import Problem


def watch_servers(problem: Problem, name: str, events: Events, rng: Generator, period: float) -> Iterator[Moment]:
    """Play events and yield how things stand before each change of servers; there is one after every `period` steps.

    With probability 1/2 a server as large as the first joins, else a drawn one leaves [Zong15].
    """
    rules, size = rules_of(problem, name), float(problem.capacity[0])
    store, state = store_of(problem, rules), empty_state(problem.rate, problem.capacity)
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
        homeless = np.flatnonzero(store.server == j)
        stays, comes = np.zeros(len(homeless), dtype=np.bool_), np.ones(len(homeless), dtype=np.bool_)
        state = play(state, rules, store, homeless, stays, np.zeros(len(homeless)))
        state = with_server(state, j, 0.0)
        state = play(state, rules, store, homeless, comes, draws_for(rules, len(homeless), rng), moved=True)
