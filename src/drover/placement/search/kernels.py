"""The compiled local search for a large feasible set.

Rule 1: no chance inside: orders and kicks come in as arrays. Rule 2: a candidate is evaluated from the two nodes that
it changes and the three largest loads at each point, never from all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

GAIN = 1e-9  # a relative gain below this is rounding: without it the search would walk in circles
LEAST = 1e-6  # margin taken for a node that the lower bound overloads: worse than any other, but not equally bad

compiled = numba.njit(cache=True, error_model="numpy")
summing = numba.njit(cache=True, error_model="numpy", fastmath=True)  # order of sums is free: results are compared
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


class Field(NamedTuple):
    """What does not change during a search."""

    rays: Floats  # (m + 1, P) load of unit j in direction p, as a share of all; the last row, nobody's, is 0
    floor: Floats  # (m + 1,) load of unit j at the lower bound of the rates, as a share of all capacity
    inverse: Floats  # (n,) C_T / C_i
    cap: Floats  # (P,) 1 / distance in direction p at which the rates reach their upper bounds, 0 if never
    d: int
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints


class State(NamedTuple):
    """A plan during a search."""

    places: Ints  # (m,)
    loads: Floats  # (n, P) relative load of node i in direction p
    floors: Floats  # (n,) relative load of node i at the lower bound
    top: Floats  # (3, P) the largest relative loads, over the margin that the lower bound leaves
    who: Ints  # (3, P) and their nodes, -1 if there are fewer


@part
def _margin(floor: float) -> float:
    return 1 / max(1 - floor, LEAST)


@compiled
def settle(field: Field, state: State) -> None:
    """Fill in loads, floors and largest loads from the places."""
    state.loads[:], state.floors[:] = 0.0, 0.0
    for j in range(len(state.places)):
        i = state.places[j]
        state.floors[i] += field.floor[j] * field.inverse[i]
        for p in range(state.loads.shape[1]):
            state.loads[i, p] += field.rays[j, p] * field.inverse[i]
    rank(state)


@compiled
def rank(state: State) -> None:
    """Find the three largest loads at each point."""
    n = state.loads.shape[0]
    scale = np.empty(n)
    for i in range(n):
        scale[i] = _margin(state.floors[i])
    for p in range(state.loads.shape[1]):
        first, second, third = 0.0, 0.0, 0.0
        one, other, last = -1, -1, -1
        for i in range(n):
            load = state.loads[i, p] * scale[i]
            if load > third:
                third, last = load, i
                if third > second:
                    second, third, other, last = third, second, last, other
                    if second > first:
                        first, second, one, other = second, first, other, one
        state.top[0, p], state.top[1, p], state.top[2, p] = first, second, third
        state.who[0, p], state.who[1, p], state.who[2, p] = one, other, last


@summing
def power_sum(work: Floats, cap: Floats, d: int) -> float:
    """Return the mean of max(largest, cap)^-d over the points; `work`, (2, P), has the largest in its first row.

    Pass by pass over all points, by squaring: such loops are compiled to vector instructions.
    """
    factor, result = work[0], work[1]
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
def value(field: Field, state: State) -> float:
    """Return the size of the feasible set over that of the ideal one, before scaling by what lower bounds leave."""
    work = np.empty((2, len(field.cap)))
    work[0] = state.top[0]
    return float(power_sum(work, field.cap, field.d))


@summing
def evaluate(field: Field, state: State, j: int, q: int, a: int, b: int, work: Floats) -> float:
    """Return the value after unit j went from node a to b and unit q (m for nobody) from b to a."""
    change = field.floor[j] - field.floor[q]
    left, right = field.inverse[a], field.inverse[b]
    here, there = _margin(state.floors[a] - change * left), _margin(state.floors[b] + change * right)
    one, other, low, high = field.rays[j], field.rays[q], state.loads[a], state.loads[b]
    top, next_top, third, who, next_who = state.top[0], state.top[1], state.top[2], state.who[0], state.who[1]
    largest = work[0]
    for p in range(len(largest)):
        moved = one[p] - other[p]
        largest[p] = max((low[p] - moved * left) * here, (high[p] + moved * right) * there)
    # A second pass, because a loop over more arrays is not compiled to vector instructions. If the largest load is that
    # of one of the two nodes, the rest begins with the first that is neither's.
    for p in range(len(largest)):
        behind = third[p] if (next_who[p] == a) | (next_who[p] == b) else next_top[p]
        rest = behind if (who[p] == a) | (who[p] == b) else top[p]
        largest[p] = max(largest[p], rest)
    return float(power_sum(work, field.cap, field.d))


@compiled
def fits(field: Field, places: Ints, j: int, i: int, besides: int) -> bool:
    """Return whether unit j may go to node i, from which unit `besides` goes away."""
    if not field.allowed[j, i]:
        return False
    c = field.start[j]
    while c < field.start[j + 1]:
        if field.near[c] != besides and places[field.near[c]] == i:
            return False
        c += 1
    return True


@compiled
def carry_out(field: Field, state: State, j: int, q: int, b: int) -> None:
    """Move unit j to node b, and unit q (m for nobody) to where it was."""
    a = state.places[j]
    change = field.floor[j] - field.floor[q]
    state.floors[a] -= change * field.inverse[a]
    state.floors[b] += change * field.inverse[b]
    for p in range(state.loads.shape[1]):
        moved = field.rays[j, p] - field.rays[q, p]
        state.loads[a, p] -= moved * field.inverse[a]
        state.loads[b, p] += moved * field.inverse[b]
    state.places[j] = b
    if q < len(state.places):
        state.places[q] = a
    rank(state)


@part
def wake(state: State, awake: Flags, a: int, b: int) -> None:
    """Wake the units of two nodes: what they could not gain before, they may gain now."""
    for j in range(len(awake)):
        awake[j] = awake[j] or state.places[j] == a or state.places[j] == b


@compiled
def try_unit(
    field: Field, state: State, j: int, best: float, order: Ints, awake: Flags, work: Floats
) -> tuple[float, int]:
    """Make every move and swap of unit j that raises the value; return the value and how many were looked at."""
    m, n, looked = len(state.places), len(field.inverse), 0
    for e in range(n + m):  # node e, or the node of a unit in exchange for it
        q = m if e < n else order[e - n]
        a, b = state.places[j], e if e < n else state.places[q]
        if a == b or not fits(field, state.places, j, b, q):
            continue
        if q < m and not (field.movable[q] and fits(field, state.places, q, a, j)):
            continue
        found = evaluate(field, state, j, q, a, b, work)
        looked += 1
        if found > best * (1 + GAIN):
            carry_out(field, state, j, q, b)
            wake(state, awake, a, b)
            best = found
    return best, looked


@compiled
def climb(field: Field, state: State, order: Ints, awake: Flags, budget: int) -> int:
    """Raise the value by moves and swaps of units that are awake; return how many candidates were looked at.

    A unit that gains nothing falls asleep until its node changes: without this, most of the time would go into looking
    again at what was refused before.
    """
    work = np.empty((2, state.loads.shape[1]))
    best, looked, idle, e = value(field, state), 0, 0, 0
    while idle < len(order) and looked < budget:
        j = order[e]
        e = (e + 1) % len(order)
        idle += 1
        if awake[j] and field.movable[j]:
            awake[j] = False
            best, more = try_unit(field, state, j, best, order, awake, work)
            looked += more
            idle = 0
    return looked


@compiled
def kick(field: Field, state: State, awake: Flags, draws: Floats) -> None:
    """Move as many units as there are rows in `draws`, (kicks, 2), each to a drawn node, if it may go there."""
    m, n = len(state.places), len(field.inverse)
    for e in range(len(draws)):
        j, b = int(draws[e, 0] * m), int(draws[e, 1] * n)
        a = state.places[j]
        if field.movable[j] and b != a and fits(field, state.places, j, b, -1):
            state.places[j] = b
            wake(state, awake, a, b)
    settle(field, state)


@compiled
def wander(field: Field, state: State, orders: Ints, draws: Floats, budget: int) -> int:
    """Climb, kick and climb again, going back wherever that is lower; return how many candidates were looked at.

    `orders` is (kicks + 1, m); `draws` is (kicks, strength, 2).
    """
    awake = np.ones(len(state.places), dtype=np.bool_)
    looked = climb(field, state, orders[0], awake, budget)
    best, kept = value(field, state), state.places.copy()
    for e in range(len(draws)):
        if looked >= budget:
            break
        awake[:] = False
        kick(field, state, awake, draws[e])
        looked += climb(field, state, orders[e + 1], awake, budget - looked)
        found = value(field, state)
        if found > best * (1 + GAIN):
            best, kept = found, state.places.copy()
        elif found < best:
            state.places[:] = kept
            settle(field, state)
    state.places[:] = kept
    settle(field, state)
    return looked


@compiled
def price_of(places: Ints, origin: Ints, cost: Floats, j: int, b: int) -> float:
    """Return what it costs, besides what is spent already, that unit j (m for nobody) is on node b."""
    if j >= len(places):
        return 0.0
    return float(cost[j] * (int(b != origin[j]) - int(places[j] != origin[j])))


@compiled
def spend(field: Field, state: State, origin: Ints, cost: Floats, budget: float, swaps: bool) -> float:
    """Make the moves and swaps that raise the value most for their cost, up to a budget; return what was spent.

    A unit costs once it is away from its origin, (m,), wherever it is; going back gives the cost back.
    """
    m, n, spent, places = len(state.places), len(field.inverse), 0.0, state.places
    work, least = np.empty((2, state.loads.shape[1])), 1e-9 * max(cost.max(), 1e-300)
    while True:
        now, best, one, other, to = value(field, state), 0.0, -1, -1, -1
        for j in range(m):
            for e in range(n + m if swaps else n):  # node e, or the node of unit e - n in exchange for it
                q, b = (m, e) if e < n else (e - n, places[e - n])
                a = places[j]
                if a == b or not field.movable[j] or (q < m and (q <= j or not field.movable[q])):
                    continue
                price = price_of(places, origin, cost, j, b) + price_of(places, origin, cost, q, a)
                if spent + price > budget or not fits(field, places, j, b, q):
                    continue
                if q < m and not fits(field, places, q, a, j):
                    continue
                gain = evaluate(field, state, j, q, a, b, work) / now - 1
                if gain > GAIN and gain / max(price, least) > best:
                    best, one, other, to = gain / max(price, least), j, q, b
        if one < 0:
            return spent
        spent += price_of(places, origin, cost, one, to) + price_of(places, origin, cost, other, places[one])
        carry_out(field, state, one, other, to)
