"""The compiled local search for small variance and good balance.

Rule 1: the objective is F = sum_i s_i' K s_i / C_i, with s_i the units of node i and K, (m, m), the products of the
units' features. A move or a swap changes F by a few entries of K and of the products of units and nodes.
Rule 2: no random numbers inside. Rule 3: only `VarianceState` changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


class VarianceProblem(NamedTuple):
    """The fixed data of a search."""

    gram: Floats  # (m, m) K
    inverse: Floats  # (n,) 1 / C_i
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints
    gain: float  # a smaller gain is rounding


class VarianceState(NamedTuple):
    """A plan during a search."""

    places: Ints  # (m,)
    products: Floats  # (n, m) sum of K[q, j] over the units q of node i


@compiled
def recompute(problem: VarianceProblem, state: VarianceState) -> None:
    """Compute the products from the places."""
    state.products[:] = 0.0
    for q in range(len(state.places)):
        state.products[state.places[q]] += problem.gram[q]


@compiled
def value(problem: VarianceProblem, state: VarianceState) -> float:
    """Return F."""
    total = 0.0
    for j in range(len(state.places)):
        total += state.products[state.places[j], j] * problem.inverse[state.places[j]]
    return total


@part
def move_gain(problem: VarianceProblem, state: VarianceState, j: int, b: int) -> float:
    """Return the decrease of F if unit j moves to node b."""
    a = state.places[j]
    own = problem.gram[j, j]
    return float(
        (2 * state.products[a, j] - own) * problem.inverse[a] - (2 * state.products[b, j] + own) * problem.inverse[b]
    )


@part
def swap_gain(problem: VarianceProblem, state: VarianceState, j: int, q: int) -> float:
    """Return the decrease of F if units j and q swap their nodes."""
    a = state.places[j]
    b = state.places[q]
    both = problem.gram[j, j] + problem.gram[q, q] - 2 * problem.gram[j, q]  # the squared difference of their features
    left = 2 * (state.products[a, q] - state.products[a, j])
    right = 2 * (state.products[b, j] - state.products[b, q])
    return float(-(left + both) * problem.inverse[a] - (right + both) * problem.inverse[b])


@part
def fits(problem: VarianceProblem, places: Ints, j: int, i: int, besides: int) -> bool:
    """Return whether unit j may go to node i, which unit `besides` leaves."""
    found = problem.allowed[j, i]
    c = problem.start[j]
    while c < problem.start[j + 1]:
        found = found and (problem.near[c] == besides or places[problem.near[c]] != i)
        c += 1
    return bool(found)


@compiled
def carry_out(problem: VarianceProblem, state: VarianceState, j: int, b: int) -> None:
    """Move unit j to node b."""
    a = state.places[j]
    state.products[a] -= problem.gram[j]
    state.products[b] += problem.gram[j]
    state.places[j] = b


@compiled
def descend(problem: VarianceProblem, state: VarianceState, order: Ints, most: int) -> int:
    """Lower F by moves and swaps until none helps, or for `most` sweeps over all units; return the number of moves."""
    n = len(problem.inverse)
    made = 0
    for _ in range(most):
        before = made
        for j in order:
            if not problem.movable[j]:
                continue
            for b in range(n):
                if b == state.places[j] or move_gain(problem, state, j, b) <= problem.gain:
                    continue
                if fits(problem, state.places, j, b, -1):
                    carry_out(problem, state, j, b)
                    made += 1
            for q in range(j + 1, len(state.places)):
                a = state.places[j]
                b = state.places[q]
                if a == b or swap_gain(problem, state, j, q) <= problem.gain or not problem.movable[q]:
                    continue
                if fits(problem, state.places, j, b, q) and fits(problem, state.places, q, a, j):
                    carry_out(problem, state, j, b)
                    carry_out(problem, state, q, a)
                    made += 2
        # A sweep without a move is a local optimum.
        if made == before:
            break
    return made


@part
def _price(places: Ints, origin: Ints, cost: Floats, j: int, b: int) -> float:
    """Return the additional cost of putting unit j on node b."""
    return float(cost[j] * (int(b != origin[j]) - int(places[j] != origin[j])))


@part
def _worth(problem: VarianceProblem, gain: float, price: float, left: float, least: float) -> float:
    """Return the gain per cost, 0 without a gain or if the cost exceeds `left`; a free move costs `least`."""
    return gain / max(price, least) if gain > problem.gain and price <= left else 0.0


@compiled
def spend(
    problem: VarianceProblem, state: VarianceState, origin: Ints, cost: Floats, budget: float, swaps: bool
) -> float:
    """Make the moves and swaps that lower F most for their cost, up to a budget; return the cost spent.

    A unit costs once while it is away from its origin, (m,), on whatever node. Moving it back refunds the cost.
    """
    m = len(state.places)
    n = len(problem.inverse)
    spent = 0.0
    places = state.places
    least = 1e-9 * max(cost.max(), 1e-300)
    while True:
        best = 0.0
        one = -1
        other = -1
        to = -1
        for j in range(m):
            if not problem.movable[j]:
                continue
            for b in range(n):
                price = _price(places, origin, cost, j, b)
                worth = _worth(problem, move_gain(problem, state, j, b), price, budget - spent, least)
                if worth > best and b != places[j] and fits(problem, places, j, b, -1):
                    best = worth
                    one = j
                    other = -1
                    to = b
            for q in range(j + 1 if swaps else m, m):
                a = places[j]
                b = places[q]
                if a == b or not problem.movable[q]:
                    continue
                price = _price(places, origin, cost, j, b) + _price(places, origin, cost, q, a)
                worth = _worth(problem, swap_gain(problem, state, j, q), price, budget - spent, least)
                if worth > best and fits(problem, places, j, b, q) and fits(problem, places, q, a, j):
                    best = worth
                    one = j
                    other = q
                    to = b
        if one < 0:
            return spent
        # The target of the second unit, which the move of the first one overwrites.
        back = places[one]
        spent += _price(places, origin, cost, one, to)
        carry_out(problem, state, one, to)
        if other >= 0:
            spent += _price(places, origin, cost, other, back)
            carry_out(problem, state, other, back)


@compiled
def descend_with_charge(
    problem: VarianceProblem, state: VarianceState, origin: Ints, cost: Floats, rate: float, order: Ints, most: int
) -> int:
    """Lower F + rate * cost of the units away from their origins, as `descend` lowers F; return the number of moves."""
    n = len(problem.inverse)
    made = 0
    places = state.places
    for _ in range(most):
        before = made
        for j in order:
            if not problem.movable[j]:
                continue
            for b in range(n):
                gain = move_gain(problem, state, j, b) - rate * _price(places, origin, cost, j, b)
                if b != places[j] and gain > problem.gain and fits(problem, places, j, b, -1):
                    carry_out(problem, state, j, b)
                    made += 1
            for q in range(j + 1, len(places)):
                a = places[j]
                b = places[q]
                if a == b or not problem.movable[q]:
                    continue
                price = _price(places, origin, cost, j, b) + _price(places, origin, cost, q, a)
                if swap_gain(problem, state, j, q) - rate * price <= problem.gain:
                    continue
                if fits(problem, places, j, b, q) and fits(problem, places, q, a, j):
                    carry_out(problem, state, j, b)
                    carry_out(problem, state, q, a)
                    made += 2
        if made == before:
            break
    return made
