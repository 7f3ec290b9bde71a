"""Compiled: which servers are open, and which of those that cost as little is taken.

Rule 1: small pure functions of one server, inlined where servers are looked at one after the other.
"""

from __future__ import annotations

from drover.herding.online.state import ARRIVED, CAPACITY, HELD, LEAST_COST, LIVE, RARE_FIRST, Rules
from drover.herding.sets.kernels import part
from drover.load.arrays import Floats

ROUNDING = 1e-12
STAYING = 0.75  # of all that arrived are still here: below that, gathering counts on departures
PENALTY = 0.3  # of a server filled to its limit, against a source of mean rate all of whose queries are there
WEALTH = 0.5  # of a server with twice its share of all sources that servers hold, against one filled to its limit


@part
def limit_of(rules: Rules, fair: float) -> float:
    """Return the load that a server may have whose fair share is that, eq. (4) [Zong15]."""
    return max(fair + rules.allowance, (1 + rules.slack) * fair) * (1 + ROUNDING)


@part
def is_open(rules: Rules, load: Floats, capacity: Floats, weight: float, density: float, j: int) -> bool:
    """Return whether server j may take a query of that weight."""
    return bool(capacity[j] > 0 and load[j] + weight <= limit_of(rules, density * capacity[j]))


@part
def lighter(load: Floats, capacity: Floats, j: int, best: int) -> bool:
    """Return whether server j is before `best`, which may be -1: less relative load, or the lower number."""
    if best < 0:
        return True
    one, other = load[j] / capacity[j], load[best] / capacity[best]
    return one < other or (one == other and j < best)


@part
def is_staying(totals: Floats) -> bool:
    """Return whether most of the queries that came are still here."""
    return bool(totals[LIVE] >= STAYING * totals[ARRIVED])


@part
def nearness(
    rules: Rules, staying: bool, load: float, fair: float, rare: float, gathered: float, held: bool, rate: float
) -> float:
    """Return by how much a server is preferred among those that cost as little.

    Rare first: a source with few queries should not be copied, so its server is taken; the popular one will be
    everywhere anyway. Gathering: a copy with few queries should die out, so the server that has the larger part of a
    source's queries is taken, unless it is full: where every source is on every server, load is all that matters. While
    queries stay, no copy dies out: then the rare go first, and for whom nothing has to be copied load decides.
    """
    if rules.policy == LEAST_COST or (rules.policy != RARE_FIRST and staying and held):
        return 0.0
    if rules.policy == RARE_FIRST or staying:
        return rare
    room = limit_of(rules, fair) - fair
    return gathered - PENALTY * rate * (load - fair) / room if room > 0 else gathered


@part
def promise(rules: Rules, totals: Floats, load: float, capacity: float, held: int, density: float) -> float:
    """Return what a server that has to copy a source promises for later.

    One that holds many sources has those of many queries to come; but it must not be full by then.
    """
    fair, share = density * capacity, totals[HELD] * capacity / totals[CAPACITY]
    room = limit_of(rules, fair) - fair
    wealth = WEALTH * held / share if share > 0 else 0.0
    return wealth - (load - fair) / room if room > 0 else wealth
