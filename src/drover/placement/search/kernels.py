"""The compiled local search for a large feasible set.

Rule 1: no random numbers inside: orders and kicks are arrays that the caller passes in. Rule 2: a candidate is
evaluated from the two nodes that it changes and the three largest loads at each point, never from all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

GAIN = 1e-9  # a relative gain below this is rounding; without it, the search could cycle
LEAST = 1e-6  # margin of a node that the lower bounds overload: worse than any other, but still comparable

compiled = numba.njit(cache=True, error_model="numpy")
summing = numba.njit(cache=True, error_model="numpy", fastmath=True)  # sums in any order: they are only compared
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


class SearchProblem(NamedTuple):
    """The fixed data of a search."""

    rays: Floats  # (m + 1, P) load of unit j in direction p, as a fraction of all load; the last row, for no unit, is 0
    floor: Floats  # (m + 1,) load of unit j at the lower bounds of the rates, as a fraction of all capacity
    inverse: Floats  # (n,) C_T / C_i
    cap: Floats  # (P,) 1 / distance in direction p at which the rates reach their upper bounds, 0 if never
    d: int
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints


class SearchState(NamedTuple):
    """A plan during a search."""

    places: Ints  # (m,)
    loads: Floats  # (n, P) relative load of node i in direction p
    floors: Floats  # (n,) relative load of node i at the lower bounds
    top: Floats  # (3, P) the largest relative loads, divided by the margin above the lower bounds
    who: Ints  # (3, P) the nodes with these loads, -1 if there are fewer


@part
def _margin(floor: float) -> float:
    return 1 / max(1 - floor, LEAST)


@compiled
def recompute(problem: SearchProblem, state: SearchState) -> None:
    """Compute loads, floors and largest loads from the places."""
    state.loads[:] = 0.0
    state.floors[:] = 0.0
    for j in range(len(state.places)):
        i = state.places[j]
        state.floors[i] += problem.floor[j] * problem.inverse[i]
        for p in range(state.loads.shape[1]):
            state.loads[i, p] += problem.rays[j, p] * problem.inverse[i]
    rank(state)


@compiled
def rank(state: SearchState) -> None:
    """Find the three largest loads at each point."""
    n = state.loads.shape[0]
    scale = np.empty(n)
    for i in range(n):
        scale[i] = _margin(state.floors[i])
    for p in range(state.loads.shape[1]):
        first = 0.0
        second = 0.0
        third = 0.0
        one = -1
        other = -1
        last = -1
        for i in range(n):
            load = state.loads[i, p] * scale[i]
            if load > third:
                third = load
                last = i
                if third > second:
                    second, third, other, last = third, second, last, other
                    if second > first:
                        first, second, one, other = second, first, other, one
        state.top[0, p] = first
        state.top[1, p] = second
        state.top[2, p] = third
        state.who[0, p] = one
        state.who[1, p] = other
        state.who[2, p] = last


@summing
def power_sum(work: Floats, cap: Floats, d: int) -> float:
    """Return the mean of max(largest, cap)^-d over the points; `work`, (2, P), has the largest in its first row.

    Exponentiation by squaring, in passes over all points, because such loops compile to vector instructions.
    """
    factor = work[0]
    result = work[1]
    count = len(factor)
    for p in range(count):
        factor[p] = 1 / max(factor[p], cap[p])
        result[p] = factor[p] if d & 1 else 1.0
    d >>= 1
    while d:
        for p in range(count):
            factor[p] *= factor[p]
        if d & 1:
            for p in range(count):
                result[p] *= factor[p]
        d >>= 1
    total = 0.0
    for p in range(count):
        total += result[p]
    return total / count


@compiled
def value(problem: SearchProblem, state: SearchState) -> float:
    """Return the size of the feasible set relative to the ideal set, before scaling by what lower bounds leave."""
    work = np.empty((2, len(problem.cap)))
    work[0] = state.top[0]
    return float(power_sum(work, problem.cap, problem.d))


@summing
def evaluate(problem: SearchProblem, state: SearchState, j: int, q: int, a: int, b: int, work: Floats) -> float:
    """Return the value after unit j moves from node a to b and unit q (m for none) from b to a."""
    change = problem.floor[j] - problem.floor[q]
    left = problem.inverse[a]
    right = problem.inverse[b]
    here = _margin(state.floors[a] - change * left)
    there = _margin(state.floors[b] + change * right)
    one = problem.rays[j]
    other = problem.rays[q]
    low = state.loads[a]
    high = state.loads[b]
    top = state.top[0]
    next_top = state.top[1]
    third = state.top[2]
    who = state.who[0]
    next_who = state.who[1]
    largest = work[0]
    for p in range(len(largest)):
        moved = one[p] - other[p]
        largest[p] = max((low[p] - moved * left) * here, (high[p] + moved * right) * there)
    # A second pass, because a loop over more arrays does not compile to vector instructions. If the largest load is
    # that of one of the two nodes, the next largest load of another node counts; three loads suffice to find it.
    for p in range(len(largest)):
        behind = third[p] if (next_who[p] == a) | (next_who[p] == b) else next_top[p]
        rest = behind if (who[p] == a) | (who[p] == b) else top[p]
        largest[p] = max(largest[p], rest)
    return float(power_sum(work, problem.cap, problem.d))


@compiled
def fits(problem: SearchProblem, places: Ints, j: int, i: int, besides: int) -> bool:
    """Return whether unit j may go to node i, which unit `besides` leaves."""
    if not problem.allowed[j, i]:
        return False
    c = problem.start[j]
    while c < problem.start[j + 1]:
        if problem.near[c] != besides and places[problem.near[c]] == i:
            return False
        c += 1
    return True


@compiled
def carry_out(problem: SearchProblem, state: SearchState, j: int, q: int, b: int) -> None:
    """Move unit j to node b, and unit q (m for none) to the former node of j."""
    a = state.places[j]
    change = problem.floor[j] - problem.floor[q]
    state.floors[a] -= change * problem.inverse[a]
    state.floors[b] += change * problem.inverse[b]
    for p in range(state.loads.shape[1]):
        moved = problem.rays[j, p] - problem.rays[q, p]
        state.loads[a, p] -= moved * problem.inverse[a]
        state.loads[b, p] += moved * problem.inverse[b]
    state.places[j] = b
    if q < len(state.places):
        state.places[q] = a
    rank(state)


@part
def wake(state: SearchState, awake: Flags, a: int, b: int) -> None:
    """Wake the units of two nodes: they may gain now what they could not gain before."""
    for j in range(len(awake)):
        awake[j] = awake[j] or state.places[j] == a or state.places[j] == b


@compiled
def try_unit(
    problem: SearchProblem, state: SearchState, j: int, best: float, order: Ints, awake: Flags, work: Floats
) -> tuple[float, int]:
    """Make every move and swap of unit j that raises the value; return the value and the number of candidates."""
    m = len(state.places)
    n = len(problem.inverse)
    looked = 0
    for e in range(n + m):  # node e, or a swap with a unit on its node
        q = m if e < n else order[e - n]
        a = state.places[j]
        b = e if e < n else state.places[q]
        if a == b or not fits(problem, state.places, j, b, q):
            continue
        if q < m and not (problem.movable[q] and fits(problem, state.places, q, a, j)):
            continue
        # The rules are checked first, because an evaluation costs much more.
        found = evaluate(problem, state, j, q, a, b, work)
        looked += 1
        if found > best * (1 + GAIN):
            carry_out(problem, state, j, q, b)
            wake(state, awake, a, b)
            best = found
    return best, looked


@compiled
def climb(problem: SearchProblem, state: SearchState, order: Ints, awake: Flags, budget: int) -> int:
    """Raise the value by moves and swaps of units that are awake; return the number of candidates.

    A unit without a gain falls asleep until its node changes. Without this, most of the time would go into candidates
    that were rejected before.
    """
    work = np.empty((2, state.loads.shape[1]))
    best = value(problem, state)
    looked = 0
    idle = 0
    e = 0
    while idle < len(order) and looked < budget:
        j = order[e]
        e = (e + 1) % len(order)
        idle += 1
        if awake[j] and problem.movable[j]:
            awake[j] = False
            best, more = try_unit(problem, state, j, best, order, awake, work)
            looked += more
            idle = 0
    return looked


@compiled
def kick(problem: SearchProblem, state: SearchState, awake: Flags, draws: Floats) -> None:
    """Move one unit per row of `draws`, (kicks, 2), to a random node, if it may go there."""
    m = len(state.places)
    n = len(problem.inverse)
    for e in range(len(draws)):
        j = int(draws[e, 0] * m)
        b = int(draws[e, 1] * n)
        a = state.places[j]
        if problem.movable[j] and b != a and fits(problem, state.places, j, b, -1):
            state.places[j] = b
            wake(state, awake, a, b)
    recompute(problem, state)


@compiled
def search_with_kicks(problem: SearchProblem, state: SearchState, orders: Ints, draws: Floats, budget: int) -> int:
    """Climb, kick and climb again, and go back whenever the result is lower; return the number of candidates.

    `orders` is (kicks + 1, m); `draws` is (kicks, strength, 2).
    """
    awake = np.ones(len(state.places), dtype=np.bool_)
    looked = climb(problem, state, orders[0], awake, budget)
    best = value(problem, state)
    kept = state.places.copy()
    for e in range(len(draws)):
        if looked >= budget:
            break
        # Only the units near the kick wake up. The others have been tried on this plan already.
        awake[:] = False
        kick(problem, state, awake, draws[e])
        looked += climb(problem, state, orders[e + 1], awake, budget - looked)
        found = value(problem, state)
        if found > best * (1 + GAIN):
            best = found
            kept = state.places.copy()
        elif found < best:
            state.places[:] = kept
            recompute(problem, state)
    state.places[:] = kept
    recompute(problem, state)
    return looked


@compiled
def price_of(places: Ints, origin: Ints, cost: Floats, j: int, b: int) -> float:
    """Return the additional cost of putting unit j (m for none) on node b."""
    if j >= len(places):
        return 0.0
    return float(cost[j] * (int(b != origin[j]) - int(places[j] != origin[j])))


@compiled
def spend(problem: SearchProblem, state: SearchState, origin: Ints, cost: Floats, budget: float, swaps: bool) -> float:
    """Make the moves and swaps that raise the value most for their cost, up to a budget; return the cost spent.

    A unit costs once while it is away from its origin, (m,), on whatever node. Moving it back refunds the cost.
    """
    m = len(state.places)
    n = len(problem.inverse)
    spent = 0.0
    places = state.places
    work = np.empty((2, state.loads.shape[1]))
    # A move that costs nothing counts as one of tiny cost, so that gains per cost stay comparable.
    least = 1e-9 * max(cost.max(), 1e-300)
    while True:
        now = value(problem, state)
        best = 0.0
        one = -1
        other = -1
        to = -1
        for j in range(m):
            for e in range(n + m if swaps else n):  # node e, or a swap with unit e - n on its node
                q, b = (m, e) if e < n else (e - n, places[e - n])
                a = places[j]
                if a == b or not problem.movable[j] or (q < m and (q <= j or not problem.movable[q])):
                    continue
                price = price_of(places, origin, cost, j, b) + price_of(places, origin, cost, q, a)
                if spent + price > budget or not fits(problem, places, j, b, q):
                    continue
                if q < m and not fits(problem, places, q, a, j):
                    continue
                gain = evaluate(problem, state, j, q, a, b, work) / now - 1
                if gain > GAIN and gain / max(price, least) > best:
                    best = gain / max(price, least)
                    one = j
                    other = q
                    to = b
        if one < 0:
            return spent
        spent += price_of(places, origin, cost, one, to) + price_of(places, origin, cost, other, places[one])
        carry_out(problem, state, one, other, to)
