"""Compiled: which servers are open, and which one is chosen among those with equal cost.

Rule 1: small pure functions of one server, inlined into loops over servers.
"""

from __future__ import annotations

from drover.herding.online.state import ARRIVED, CAPACITY, HELD, LEAST_COST, LIVE, RARE_FIRST, Rules
from drover.herding.set_kernels import part
from drover.load.arrays import Floats

ROUNDING = 1e-12
STAYING = 0.75  # fraction of all arrivals that are still live; below it, GATHER counts on departures
PENALTY = 0.3  # of a server filled to its limit, relative to a source of mean rate with all its queries there
WEALTH = 0.5  # of a server with twice its share of all held sources, relative to one filled to its limit


@part
def limit_of(rules: Rules, fair: float) -> float:
    """Return the load limit of a server with this fair share, eq. (4) [Zong15]."""
    return max(fair + rules.allowance, (1 + rules.slack) * fair) * (1 + ROUNDING)


@part
def is_open(rules: Rules, load: Floats, capacity: Floats, weight: float, density: float, j: int) -> bool:
    """Return whether server j may take a query of this weight."""
    return bool(capacity[j] > 0 and load[j] + weight <= limit_of(rules, density * capacity[j]))


@part
def lighter(load: Floats, capacity: Floats, j: int, best: int) -> bool:
    """Return whether server j goes before `best`, which may be -1: by less relative load, then by lower number."""
    if best < 0:
        return True
    one = load[j] / capacity[j]
    other = load[best] / capacity[best]
    return one < other or (one == other and j < best)


@part
def is_staying(totals: Floats) -> bool:
    """Return whether most of the queries that arrived are still live."""
    return bool(totals[LIVE] >= STAYING * totals[ARRIVED])


@part
def preference(
    rules: Rules, staying: bool, load: float, fair: float, rare: float, gathered: float, held: bool, rate: float
) -> float:
    """Return the preference for a server among those with equal cost.

    RARE_FIRST: a source with few queries should not be copied, so its server is preferred; a popular source will be on
    all servers anyway. GATHER: a copy with few queries should disappear, so the server with the larger part of a
    source's queries is preferred, unless it is full. If every source is on every server, only load matters. While
    queries stay, no copy disappears: then rare sources decide, and load decides if no source has to be copied.
    """
    if rules.policy == LEAST_COST or (rules.policy != RARE_FIRST and staying and held):
        return 0.0
    if rules.policy == RARE_FIRST or staying:
        return rare
    # A server at its limit loses the whole penalty; without slack and allowance there is no room to measure.
    room = limit_of(rules, fair) - fair
    return gathered - PENALTY * rate * (load - fair) / room if room > 0 else gathered


@part
def future_value(rules: Rules, totals: Floats, load: float, capacity: float, held: int, density: float) -> float:
    """Return the expected future benefit of a server that has to receive a new copy of a source.

    A server that holds many sources has those of many future queries, but must not be full by then.
    """
    fair = density * capacity
    share = totals[HELD] * capacity / totals[CAPACITY]
    room = limit_of(rules, fair) - fair
    wealth = WEALTH * held / share if share > 0 else 0.0
    return wealth - (load - fair) / room if room > 0 else wealth
