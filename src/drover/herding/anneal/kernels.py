"""Compiled annealing: pieces of types move to servers of others that share a source, or swap if there is no room.

Rule 1: chance is a number that comes in, the state of a generator. Rule 2: the limits hold after every step, and the
traffic that is counted is the traffic that is there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drover.herding.sets.kernels import SmallInts, compiled, part
from drover.load.arrays import Floats, Ints


class Pieces(NamedTuple):
    """Queries of one type that stay together."""

    start: Ints  # (P + 1,) the sources of piece p are source[start[p] : start[p + 1]]
    source: Ints
    weight: Floats  # (P,)
    member_start: Ints  # (m + 1,) the pieces with source s are member[member_start[s] : member_start[s + 1]]
    member: Ints
    rate: Floats  # (m,)
    limits: Floats  # (k,)


class Layout(NamedTuple):
    """Where pieces are."""

    server: Ints  # (P,)
    load: Floats  # (k,)
    pairs: SmallInts  # (m, k) pieces with source s on server j
    crowd: Ints  # (P,) pieces, those of one server side by side
    spot: Ints  # (P,) where in `crowd` piece p stands
    first: Ints  # (k + 1,) the pieces of server j are crowd[first[j] : first[j] + size[j]]
    size: Ints  # (k,)


@part
def draw(state: Ints) -> int:
    """Return the next 63 bits of a generator (xorshift), whose state, (1,), is not 0."""
    word = np.uint64(state[0])
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    state[0] = np.int64(word)
    return int(np.int64(word >> np.uint64(1)))


@part
def below(state: Ints, bound: int) -> int:
    """Return a number from 0 to bound - 1: the upper bits, scaled, which takes no division."""
    return ((draw(state) >> 31) * bound) >> 32


@part
def change(start: Ints, source: Ints, rate: Floats, count: SmallInts, p: int, a: int, b: int) -> float:
    """Return what the traffic gains if piece p goes from server a to b."""
    found = 0.0
    for c in range(start[p], start[p + 1]):
        s = source[c]
        found += rate[s] if count[s, b] == 0 else 0.0
        found -= rate[s] if count[s, a] == 1 else 0.0
    return found


@part
def shift(start: Ints, source: Ints, count: SmallInts, p: int, a: int, b: int) -> None:
    """Count piece p on server b instead of a."""
    for c in range(start[p], start[p + 1]):
        count[source[c], a] -= 1
        count[source[c], b] += 1


@part
def accept(state: Ints, cost: float, heat: float) -> bool:
    """Return whether a step that costs so much is made at that temperature."""
    if cost <= 0:
        return True
    if cost > 20 * heat:
        return False
    return bool((draw(state) >> 11) * 2.0**-52 < np.exp(-cost / heat))


@compiled
def anneal(pieces: Pieces, layout: Layout, state: Ints, steps: int, hot: float, cold: float) -> float:
    """Make so many steps while the temperature falls, and return by how much the traffic has grown."""
    start, source, weight, member_start, member, rate, limits = pieces
    server, load, count, crowd, spot, first, size = layout
    total, heat, stage = 0.0, hot, max(steps // 256, 1)
    cooling = (cold / hot) ** (stage / steps)
    for step in range(steps):
        if step % stage == 0 and step:
            heat *= cooling
        p = below(state, len(server))
        s = source[start[p] + below(state, start[p + 1] - start[p])]
        other = member[member_start[s] + below(state, member_start[s + 1] - member_start[s])]
        a, b = server[p], server[other]
        if a == b:
            continue
        cost = change(start, source, rate, count, p, a, b)
        if load[b] + weight[p] <= limits[b]:
            if accept(state, cost, heat):
                shift(start, source, count, p, a, b)
                relocate(server, load, weight, crowd, spot, first, size, p, b)
                total += cost
            continue
        r = crowd[first[b] + below(state, size[b])]
        over = load[b] + weight[p] - weight[r] > limits[b] or load[a] - weight[p] + weight[r] > limits[a]
        if over or cost > 20 * heat + 2 * rate[s] * len(limits):
            continue
        shift(start, source, count, p, a, b)
        back = change(start, source, rate, count, r, b, a)
        if accept(state, cost + back, heat):
            shift(start, source, count, r, b, a)
            trade(server, load, weight, crowd, spot, p, r)
            total += cost + back
        else:
            shift(start, source, count, p, b, a)
    return total


@part
def trade(server: Ints, load: Floats, weight: Floats, crowd: Ints, spot: Ints, p: int, r: int) -> None:
    """Let two pieces change places."""
    a, b = server[p], server[r]
    load[a] += weight[r] - weight[p]
    load[b] += weight[p] - weight[r]
    server[p], server[r] = b, a
    spot[p], spot[r] = spot[r], spot[p]
    crowd[spot[p]], crowd[spot[r]] = p, r


@part
def relocate(
    server: Ints, load: Floats, weight: Floats, crowd: Ints, spot: Ints, first: Ints, size: Ints, p: int, b: int
) -> None:
    """Put piece p on server b."""
    a = server[p]
    load[a] -= weight[p]
    load[b] += weight[p]
    last = crowd[first[a] + size[a] - 1]
    crowd[spot[p]], spot[last] = last, spot[p]
    size[a] -= 1
    crowd[first[b] + size[b]] = p
    spot[p] = first[b] + size[b]
    size[b] += 1
    server[p] = b
