"""The compiled local search for small variance and good balance.

Rule 1: the objective is F = sum_i s_i' K s_i / C_i, with s_i the units of node i and K, (m, m), the products of the
units' features; a move or a swap changes it by a few entries of K and of the products of units and nodes.
Rule 2: no chance inside. Rule 3: what changes is `State`, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from drover.load.arrays import Floats, Ints
from drover.placement.problem import Flags

compiled = numba.njit(cache=True, error_model="numpy")
part = numba.njit(cache=True, error_model="numpy", forceinline=True)


class Field(NamedTuple):
    """What does not change during a search."""

    gram: Floats  # (m, m) K
    inverse: Floats  # (n,) 1 / C_i
    movable: Flags  # (m,)
    allowed: Flags  # (m, n)
    start: Ints  # (m + 1,) conflicts of unit j: near[start[j] : start[j + 1]]
    near: Ints
    gain: float  # a smaller gain is rounding


class State(NamedTuple):
    """A plan during a search."""

    places: Ints  # (m,)
    products: Floats  # (n, m) sum of K[q, j] over the units q of node i


@compiled
def settle(field: Field, state: State) -> None:
    """Fill in the products from the places."""
    state.products[:] = 0.0
    for q in range(len(state.places)):
        state.products[state.places[q]] += field.gram[q]


@compiled
def value(field: Field, state: State) -> float:
    """Return F."""
    total = 0.0
    for j in range(len(state.places)):
        total += state.products[state.places[j], j] * field.inverse[state.places[j]]
    return total


@part
def move_gain(field: Field, state: State, j: int, b: int) -> float:
    """Return by how much F falls if unit j goes to node b."""
    a, own = state.places[j], field.gram[j, j]
    return float(
        (2 * state.products[a, j] - own) * field.inverse[a] - (2 * state.products[b, j] + own) * field.inverse[b]
    )


@part
def swap_gain(field: Field, state: State, j: int, q: int) -> float:
    """Return by how much F falls if units j and q change places."""
    a, b = state.places[j], state.places[q]
    both = field.gram[j, j] + field.gram[q, q] - 2 * field.gram[j, q]  # the square of the difference of their features
    left = 2 * (state.products[a, q] - state.products[a, j])
    right = 2 * (state.products[b, j] - state.products[b, q])
    return float(-(left + both) * field.inverse[a] - (right + both) * field.inverse[b])


@part
def fits(field: Field, places: Ints, j: int, i: int, besides: int) -> bool:
    """Return whether unit j may go to node i, from which unit `besides` goes away."""
    found = field.allowed[j, i]
    c = field.start[j]
    while c < field.start[j + 1]:
        found = found and (field.near[c] == besides or places[field.near[c]] != i)
        c += 1
    return bool(found)


@compiled
def carry_out(field: Field, state: State, j: int, b: int) -> None:
    """Move unit j to node b."""
    a = state.places[j]
    state.products[a] -= field.gram[j]
    state.products[b] += field.gram[j]
    state.places[j] = b


@compiled
def descend(field: Field, state: State, order: Ints, most: int) -> int:
    """Lower F by moves and swaps until none does, or all units were gone through `most` times; return the moves."""
    n, made = len(field.inverse), 0
    for _ in range(most):
        before = made
        for j in order:
            if not field.movable[j]:
                continue
            for b in range(n):
                if b == state.places[j] or move_gain(field, state, j, b) <= field.gain:
                    continue
                if fits(field, state.places, j, b, -1):
                    carry_out(field, state, j, b)
                    made += 1
            for q in range(j + 1, len(state.places)):
                a, b = state.places[j], state.places[q]
                if a == b or swap_gain(field, state, j, q) <= field.gain or not field.movable[q]:
                    continue
                if fits(field, state.places, j, b, q) and fits(field, state.places, q, a, j):
                    carry_out(field, state, j, b)
                    carry_out(field, state, q, a)
                    made += 2
        if made == before:
            break
    return made


@part
def _price(places: Ints, origin: Ints, cost: Floats, j: int, b: int) -> float:
    """Return what it costs, besides what is spent already, that unit j is on node b."""
    return float(cost[j] * (int(b != origin[j]) - int(places[j] != origin[j])))


@part
def _worth(field: Field, gain: float, price: float, left: float, least: float) -> float:
    """Return the gain for its price, 0 if there is none or too little is left; what costs nothing is priced `least`."""
    return gain / max(price, least) if gain > field.gain and price <= left else 0.0


@compiled
def spend(field: Field, state: State, origin: Ints, cost: Floats, budget: float, swaps: bool) -> float:
    """Make the moves and swaps that lower F most for their cost, up to a budget; return what was spent.

    A unit costs once it is away from its origin, (m,), wherever it is; going back gives the cost back.
    """
    m, n, spent, places = len(state.places), len(field.inverse), 0.0, state.places
    least = 1e-9 * max(cost.max(), 1e-300)
    while True:
        best, one, other, to = 0.0, -1, -1, -1
        for j in range(m):
            if not field.movable[j]:
                continue
            for b in range(n):
                price = _price(places, origin, cost, j, b)
                worth = _worth(field, move_gain(field, state, j, b), price, budget - spent, least)
                if worth > best and b != places[j] and fits(field, places, j, b, -1):
                    best, one, other, to = worth, j, -1, b
            for q in range(j + 1 if swaps else m, m):
                a, b = places[j], places[q]
                if a == b or not field.movable[q]:
                    continue
                price = _price(places, origin, cost, j, b) + _price(places, origin, cost, q, a)
                worth = _worth(field, swap_gain(field, state, j, q), price, budget - spent, least)
                if worth > best and fits(field, places, j, b, q) and fits(field, places, q, a, j):
                    best, one, other, to = worth, j, q, b
        if one < 0:
            return spent
        back = places[one]
        spent += _price(places, origin, cost, one, to)
        carry_out(field, state, one, to)
        if other >= 0:
            spent += _price(places, origin, cost, other, back)
            carry_out(field, state, other, back)


@compiled
def haggle(field: Field, state: State, origin: Ints, cost: Floats, rate: float, order: Ints, most: int) -> int:
    """Lower F + rate * cost of what is away from its origin, as `descend` lowers F; return the moves."""
    n, made, places = len(field.inverse), 0, state.places
    for _ in range(most):
        before = made
        for j in order:
            if not field.movable[j]:
                continue
            for b in range(n):
                gain = move_gain(field, state, j, b) - rate * _price(places, origin, cost, j, b)
                if b != places[j] and gain > field.gain and fits(field, places, j, b, -1):
                    carry_out(field, state, j, b)
                    made += 1
            for q in range(j + 1, len(places)):
                a, b = places[j], places[q]
                if a == b or not field.movable[q]:
                    continue
                price = _price(places, origin, cost, j, b) + _price(places, origin, cost, q, a)
                if swap_gain(field, state, j, q) - rate * price <= field.gain:
                    continue
                if fits(field, places, j, b, q) and fits(field, places, q, a, j):
                    carry_out(field, state, j, b)
                    carry_out(field, state, q, a)
                    made += 2
        if made == before:
            break
    return made
